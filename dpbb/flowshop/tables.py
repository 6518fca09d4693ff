"""Tables of processing times, of files, arrays and data frames, with their names.

By default a row is a job.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import InstanceError, refuse, shown
from dpbb.flowshop.headings import (
    Placed,
    check_headings,
    date_of,
    is_label,
    is_number,
    label_of,
)
from dpbb.flowshop.table_form import TableForm
from dpbb.flowshop.times import Orientation, as_times
from dpbb.text.clock import is_date
from dpbb.text.labels import NO_NAMES, Names, checked_names, unless_counted

_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|\d+(:\d\d){1,2}|nan|inf(inity)?", re.I
)

_DIGITS = re.compile(r"[\d.,:'\s]+")  # numbers in any writing

MOST_COUNTED_TIMES = 5
"""From so many rows on, 1, 2, 3, ... in the first column are taken for row numbers."""


class Table(NamedTuple):
    """A table of processing times as it came, and its name, if any.

    ``names`` are those of rows and columns; of jobs and machines, whatever the rows
    are, where the file ``says_whose`` they are. ``of_jobs``: rows are jobs for sure.
    ``dates``: columns that are no times, see ``FlowShopInstance``, as are ``skipped``
    and ``taken``.
    """

    times: Any
    name: str | None = None
    names: Names = NO_NAMES
    says_whose: bool = False
    of_jobs: bool = False
    dates: Mapping[str, Any] = MappingProxyType({})
    skipped: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()

    def arranged(
        self, where: str, orientation: Orientation | None
    ) -> tuple[NDArray[np.int64], Names, Mapping[str, Any]]:
        """Return times with a row for each job, names of jobs and machines, dates."""
        rows = orientation or "jobs_rows"
        times, names = as_times(self.times, where), self.names
        if rows == "machines_rows" and not self.of_jobs:
            times = times.T
            names = names if self.says_whose else names.turned
        n_jobs, n_machines = times.shape
        where = f"{where}, read as {rows}"
        names = checked_names(names, n_jobs, n_machines, where)
        return times, names, dict(self.dates)


class Sheet(NamedTuple):
    """Lines of cells, each with its number, where they stand, and what that is called.

    Numbers have a decimal point and no other mark. ``title``: of a workbook's sheet.
    ``why``: why the cell of a line and a column (from 0) is empty, if there is more to
    say.
    """

    cells: list[tuple[int, list[str]]]
    where: str
    title: str = ""
    why: Callable[[int, int], str] = lambda line, at: ""

    def place(self, line: int, at: int) -> str:
        """Return where a cell is, as those say who show such files."""
        if not self.title:
            return f"{self.where}, line {line}, cell {at + 1}"
        from openpyxl.utils import get_column_letter

        return f"{self.where}, {get_column_letter(at + 1)}{line}"

    @property
    def is_empty(self) -> bool:
        """Whether nothing but headings has a digit."""
        corner = "".join(cell for _, row in self.cells[:1] for cell in row[:1])
        cells = (cell for _, row in self.cells[1:] for cell in row[1:])
        return not (_is_number(corner) or any(re.search(r"\d", it) for it in cells))


def table_of(data: Any, orientation: Orientation | None) -> Table:
    """Return the table that an array is, or nested lists, or a data frame with names.

    A column with a heading such as ``job`` names the rows (``is_label``); without one
    the index does, where there is one.

    ``orientation``: what the rows are; None: jobs, unless a heading says machines.
    """
    if not (hasattr(data, "to_numpy") and hasattr(data, "columns")):
        return Table(data)
    columns, times = list(data.columns), data.to_numpy()
    label = next((at for at, one in enumerate(columns) if is_label(one)), None)
    if label is None:
        rows, of_rows = getattr(data, "index", range(len(times))), "index"
        corner = getattr(rows, "name", None) or ""
    else:
        rows, of_rows = times[:, label], f"column {columns[label]!r}"
        times = np.delete(times, label, axis=1)
        corner = columns.pop(label)
    places = _dates_in(columns, "data frame, columns", orientation)
    dates = {name: times[:, at] for name, at in places.items()}
    times = np.delete(times, list(places.values()), axis=1)
    columns = [one for at, one in enumerate(columns) if at not in places.values()]
    texts, placed = [], []
    for what, names in ((of_rows, rows), ("columns", columns)):
        where = f"data frame, {what}"
        if any(one is None or (isinstance(one, float) and one != one) for one in names):
            refuse(where, "a name for each", "a missing value")
        if (twice := first_repeated(names)) is not None:
            hint = "; reset_index(drop=True) counts anew" if what == "index" else ""
            refuse(where, "different names", f"{shown(twice)} more than once{hint}")
        texts.append(unless_counted(names))
        placed.append([Placed(where, name) for name in texts[-1]])
    of_all = Placed(f"data frame, {of_rows}", str(corner))
    check_headings(of_all, placed[0], placed[1], orientation)
    return Table(times, names=Names(texts[0], texts[1]), dates=dates)


def table_of_cells(
    sheet: Sheet, orientation: Orientation | None, form: TableForm
) -> Table:
    """Return the table that stands in cells, below lines of a title.

    ``orientation``: as of ``table_of``.
    """
    path, (lines, left, skipped) = sheet.where, trimmed(sheet)
    number, first = lines[0]
    width = len(first)

    def cell(line: int, at: int) -> str:
        return sheet.place(line, left + at)

    def has(what: Callable[[str], bool], at: int) -> int:
        return sum(what(row[at]) for _, row in body)

    top = f"{path}, line {number}"
    squared = _names_rows(first, lines[1:])
    header = squared or _is_header(first, top)
    body = lines[header:]
    if not body:
        refuse(path, "rows of processing times", "only a header")
    for n, row in body:
        if len(row) != width:
            expected = f"{width} cells as in line {number}"
            refuse(f"{path}, line {n}", expected, f"{len(row)}")
    heads = first if header else [""] * width
    chosen = form.chosen(heads, top)
    label = 0 if squared else _label(heads, header, body, form)
    labels = [row[label] for _, row in body if label is not None]
    if label is not None and "" in labels:
        refuse(cell(body[labels.index("")][0], label), "the name of a row", "none")
    for names, where, what in (
        (filter(None, heads), top, "column names"),
        (labels, path, "names in the first column"),
    ):
        if (twice := first_repeated(names)) is not None:
            refuse(where, f"different {what}", f"{twice!r} twice")
    if not header and label is None and width > 1:
        _refuse_row_numbers([row[0] for _, row in body], path)
    texts = [text if at in chosen else "" for at, text in enumerate(heads)]
    dates = _dates_in(texts, top, orientation)
    blank = [at for at in range(width) if not any(row[at] for _, row in body)]
    # what nobody has filled in, a spacer too, is none
    nothing = {at for at in blank if header and (not heads[at] or date_of(heads[at]))}
    nothing |= set() if label is None else {label}
    dates = {name: at for name, at in dates.items() if at not in nothing}
    chosen = [at for at in chosen if at not in nothing and not is_number(heads[at])]
    machines = [at for at in chosen if at not in dates.values()]
    if not machines:
        refuse(top, "columns of processing times", f"none besides {', '.join(heads)}")
    for at in machines:
        if header and not heads[at]:
            got = "none; --columns says which columns to read"
            refuse(cell(number, at), "a heading", got)
    check_headings(
        Placed(cell(number, label or 0), "" if label is None else heads[label]),
        [Placed(cell(n, label), row[label]) for n, row in body if label is not None],
        [Placed(cell(number, at), heads[at], has(is_date, at)) for at in machines]
        if header and form.columns is None
        else [],
        orientation,
    )
    numbers = {at: 2 * has(_is_number, at) >= len(body) for at in chosen}
    kinds = {at: name for name, at in dates.items()}

    def value(line: int, row: list[str], at: int) -> int:
        where, kind = cell(line, at), kinds.get(at, "time")
        if not row[at] and (why := sheet.why(line, left + at)):
            refuse(where, "a number", f"an empty cell, {why}")
        if not (form.blank == "zero" or any(row[one] for one in machines)):
            got = "none in this row; remove it, or --blank zero takes them as 0"
            refuse(where, "a job's times", got)
        return form.value(row[at], where, heads[at], kind, numbers[at])

    read = [{at: value(n, row, at) for at in chosen} for n, row in body]
    return Table(
        [[row[at] for at in machines] for row in read],
        names=Names(
            unless_counted(labels),
            unless_counted(heads[at] for at in machines) if header else (),
            form.clock,
        ),
        dates={name: [row[at] for row in read] for name, at in dates.items()},
        skipped=(
            *skipped,
            *(
                f"column {text}"
                for at, text in enumerate(heads)
                if text and at not in chosen and at not in nothing
            ),
        ),
        taken=tuple(f"column {heads[at]} as {name}" for name, at in dates.items()),
    )


def trimmed(sheet: Sheet) -> tuple[list[tuple[int, list[str]]], int, list[str]]:
    """Return the lines of a table, how many columns stand before it, and its titles.

    A sheet may begin in any column, and with lines that are not the table's.
    """
    lines = [(n, [cell.strip() for cell in row]) for n, row in sheet.cells]
    lines = [(n, row) for n, row in lines if any(row)]
    if not lines:
        refuse(sheet.where, "a table of processing times", "an empty file")
    titles = _n_titles(lines)
    skipped = [f"line {n} ({_start(row)})" for n, row in lines[:titles]]
    lines = lines[titles:]
    filled = [at for _, row in lines for at, cell in enumerate(row) if cell]
    left, right = min(filled), max(filled) + 1
    return [(n, row[left:right]) for n, row in lines], left, skipped


def _start(row: list[str]) -> str:
    """Return how a line begins."""
    text = " ".join(filter(None, row))
    return text if len(text) <= 40 else text[:37] + "..."


def _label(
    heads: list[str], header: bool, body: list[tuple[int, list[str]]], form: TableForm
) -> int | None:
    """Return the place of the column that names the rows, if there is one."""
    if len(heads) == 1:
        return None
    said = label_of(["" if form.skips(text) else text for text in heads])
    if said is not None or form.skips(heads[0]):
        return said
    digits = any(_DIGITS.fullmatch(row[0]) or _is_number(row[0]) for _, row in body)
    return 0 if (header and not heads[0]) or not digits else None


def _n_titles(rows: list[tuple[int, list[str]]]) -> int:
    """Return how many lines stand above the table.

    They have texts alone, one or two, and lines below more than twice as many cells.
    """
    counts = [sum(map(bool, row)) for _, row in rows]
    for at, (_, row) in enumerate(rows):
        below = max(counts[at + 1 :], default=0)
        words = counts[at] <= 2 and not any(_is_number(cell) for cell in row)
        if not words or below < (2 if counts[at] == 1 else 5):
            return at
    return 0


def _dates_in(
    headings: Sequence[object], where: str, orientation: Orientation | None
) -> dict[str, int]:
    """Return the places of columns that are no times; InstanceError if two are one."""
    found: dict[str, int] = {}
    for at, heading in enumerate(headings):
        name = date_of(heading)
        if name is not None and orientation != "machines_rows":
            if name in found:
                got = f"{headings[found[name]]!r} and {heading!r}"
                refuse(where, f"one column {name}", got)
            found[name] = at
    return found


def first_repeated(names: Iterable[Any]) -> Any:
    """Return the first name that comes twice; None if there is none."""
    seen = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _names_rows(head: list[str], body: list[tuple[int, list[str]]]) -> bool:
    """Whether a line names what the first column does, as of set-ups between jobs."""
    corner, *names = head
    labels = [row[0] for _, row in body]
    return not _is_number(corner) and len(names) > 1 and {*names} <= {*labels}


def _is_header(row: list[str], where: str) -> bool:
    """Whether the first row holds names; refused where that is not certain."""
    first, *others = row
    got = "a mixture"
    if not any(map(_is_number, row)):
        return True
    if all(map(_is_number, row)):
        if len(row) < 3 or row != _counted(0, len(row)):
            return False
        got = "0, 1, 2, ..., which may be either"
    elif all(map(_is_number, others)):
        if first and not is_label(first):
            return False  # the name of the row stands in its first cell
        if others in (_counted(0, len(others)), _counted(1, len(others))):
            return True
    expected = "a header of names or a row of processing times"
    raise InstanceError(f"{where}: expected {expected}, got {got}")


def _refuse_row_numbers(first: list[str], path: str) -> None:
    """Raise InstanceError where the first column only counts: it may be either."""
    if len(first) < MOST_COUNTED_TIMES:
        return
    for start in (0, 1):
        if first == _counted(start, len(first)):
            expected = "a header ('job,...') above row numbers, or processing times"
            got = f"a first column of {start}, {start + 1}, {start + 2}, ..."
            refuse(path, expected, f"{got}, which may be either")


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _counted(first: int, count: int) -> list[str]:
    return [str(number) for number in range(first, first + count)]
