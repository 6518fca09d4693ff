// Label of a tick with k, M, G.
const size = Math.abs(tick);
const steps = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
for (const [unit, name] of steps) {
    if (size >= unit) return String(Math.round(1000 * tick / unit) / 1000) + " " + name;
}
return String(Math.round(1000 * tick) / 1000);
