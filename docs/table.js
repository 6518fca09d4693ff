// A click on a heading sorts its table.
document.querySelectorAll("table th").forEach(head => head.onclick = () => {
  const body = head.closest("table").tBodies[0], column = head.cellIndex;
  const up = head.dataset.up = head.dataset.up === "1" ? "" : "1";
  const value = row => {
    const text = row.cells[column].textContent, number = parseFloat(text.replaceAll(",", ""));
    return /^[\d.]/.test(text) && !/[a-z]{2}/.test(text) ? number : text === "-" ? Infinity : text;
  };
  const compare = (a, b) => typeof a === typeof b && typeof a === "number" ? a - b
    : String(a).localeCompare(String(b), "en", {numeric: true});
  [...body.rows].sort((a, b) => compare(value(a), value(b)) * (up ? 1 : -1))
    .forEach(row => body.append(row));
});
