"""Numbers and times as people read them."""

import math

from dpbb.progress.text import format_count, power

_DAY_S = 86400
_YEAR_S = 365.25 * _DAY_S


def plural(count: int, name: str) -> str:
    """Write ``1 job``, ``2,000 jobs``."""
    return f"{count:,} {name}{'s' * (count != 1)}"


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
    return f"{number:,.0f}" if number < 999_999.5 else power(number)


def size(n_bytes: int) -> str:
    """Write bytes with an SI prefix: ``1.23 MB``."""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    return f"{format_count(n_bytes)}B"
