// Label of a tick of seconds, with the unit that fits.
const size = Math.abs(tick);
const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : 0;
const show = (value, unit) => {
    // so many digits that neighbors differ
    const small = step > 0 ? Math.ceil(-Math.log10(step * value / tick)) + 1 : 2;
    return String(Number(value.toFixed(Math.min(9, Math.max(2, small))))) + " " + unit;
};
if (size < 60) return tick === 0 ? "0" : show(tick, "s");
if (size < 3600) return show(tick / 60, "min");
if (size < 172800) return show(tick / 3600, "h");
return show(tick / 86400, "d");
