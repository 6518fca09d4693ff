"""Numbers and times as people read them."""

from __future__ import annotations

import math

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")

_DAY_S = 86400
_YEAR_S = 365.25 * _DAY_S


def plural(count: int, name: str) -> str:
    """Write ``1 job``, ``2,000 jobs``."""
    return f"{count:,} {name}{'s' * (count != 1)}"


def short(number: float) -> str:
    """Write three significant digits and an SI prefix: ``1.23 M``; at most 9 wide."""
    if isinstance(number, float) and not math.isfinite(number):
        return "∞" if number > 0 else "–"  # noqa: RUF001
    if abs(number) >= 999.5e18:
        return _power(number)
    if abs(number) < 999.5:
        return f"{number:.3g}" if isinstance(number, float) else str(number)
    power = 0
    value = float(number)
    while abs(value) >= 999.5:
        value /= 1000
        power += 1
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f} {_PREFIXES[power]}"


def duration(seconds: float) -> str:
    """Write two units at most: ``12.3 s``, ``4 min 05 s``, ``2 d 04 h``, ``31 years``.

    What is below 0 counts as 0; of what is no number there is a dash.
    """
    if math.isnan(seconds):
        return "–"  # noqa: RUF001
    seconds = max(0.0, seconds)
    years = seconds / _YEAR_S
    if years >= 10:
        return "∞" if math.isinf(years) else f"{_count(years)} years"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = whole // 60
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    hours = minutes // 60
    return f"{hours // 24} d {hours % 24:02d} h"


def _count(number: float) -> str:
    return f"{number:,.0f}" if number < 999_999.5 else _power(number)


def _power(number: float) -> str:
    """Write ``1.2e+40``; a whole number may be too large for a float."""
    try:
        return f"{float(number):.1e}"
    except OverflowError:
        digits = str(abs(int(number)))
        sign = "-" if number < 0 else ""
        return f"{sign}{digits[0]}.{digits[1]}e+{len(digits) - 1}"


def size(n_bytes: int) -> str:
    """Write bytes with an SI prefix: ``1.23 MB``."""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    return f"{short(n_bytes)}B"
