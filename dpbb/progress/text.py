"""Numbers and times as rows and views show them."""

import math

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def format_count(number: float) -> str:
    """Write three significant digits and an SI prefix: ``1.23 M``; at most 9 wide."""
    if isinstance(number, float) and not math.isfinite(number):
        return "∞" if number > 0 else "–"  # noqa: RUF001
    if abs(number) >= 999.5e18:
        return power(number)
    if abs(number) < 999.5:
        fraction = isinstance(number, float)
        return f"{round(number, 2):.3g}" if fraction else str(number)
    prefix = 0
    value = float(number)
    while abs(value) >= 999.5:
        value /= 1000
        prefix += 1
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f} {_PREFIXES[prefix]}"


def power(number: float) -> str:
    """Write ``1.2e+40``; a whole number may be too large for a float."""
    try:
        return f"{float(number):.1e}"
    except OverflowError:
        digits = str(abs(int(number)))
        sign = "-" if number < 0 else ""
        return f"{sign}{digits[0]}.{digits[1]}e+{len(digits) - 1}"


def format_seconds(seconds: float) -> str:
    """Seconds with a decimal, then minutes and hours, such as ``2h05m``."""
    if seconds < 99.95:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes}m{rest:02}s"
    return f"{minutes // 60}h{minutes % 60:02}m"


def format_share(share: float) -> str:
    """Format a share in percent, at most 8 wide: 0 and 1 are exact, nothing else is."""
    if share in (0.0, 1.0):
        return f"{share:.2%}"
    if share < 1e-10:
        return "<1e-8%"
    if share < 5e-5:
        return f"{100 * share:.1e}%"
    return f"{min(share, 0.9999):.2%}"
