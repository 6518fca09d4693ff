"""Numbers and times as people read them."""

from __future__ import annotations

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def short(number: float) -> str:
    """Write three significant digits and an SI prefix: ``1.23 M``."""
    if abs(number) < 1000:
        return f"{number:.3g}" if isinstance(number, float) else str(number)
    power = 0
    value = float(number)
    while abs(value) >= 999.5 and power < len(_PREFIXES) - 1:
        value /= 1000
        power += 1
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f} {_PREFIXES[power]}"


def duration(seconds: float) -> str:
    """Write two units at most: ``12.3 s``, ``4 min 05 s``, ``2 d 04 h``."""
    seconds = max(0.0, seconds)
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


def size(n_bytes: int) -> str:
    """Write bytes with an SI prefix: ``1.23 MB``."""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    return f"{short(n_bytes)}B"


def percent(share: float) -> str:
    """Write a share; as many digits as tell it from 0 and 1."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if share < 1e-4:
        return f"{100 * share:.1e} %"
    digits = 2 if 0.001 <= share <= 0.999 else 4
    return f"{min(100 * share, 99.9999):.{digits}f} %"
