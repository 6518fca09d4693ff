"""Numbers and times as rows and views show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpbb.coordination.snapshot import Snapshot


def format_best(snapshot: Snapshot) -> str:
    """Return the incumbent's value, or why there is none."""
    if snapshot.value is not None:
        return f"{snapshot.value:,}"
    below = f"below {snapshot.ub:,}"
    if snapshot.exhausted:
        return f"there is none {below}"
    over = snapshot.termination is not None
    return f"none found {below}" if over else f"none yet {below}"


def format_count(count: float) -> str:
    """Three significant digits and a unit, such as ``41.2 M``."""
    if count >= 9999.5e12:
        return f"{count:.0e}"
    for unit in ("", " k", " M", " G", " T"):
        if count < 999.5 or unit == " T":
            break
        count /= 1000
    if not unit:
        return f"{count:.0f}"
    return f"{count:.{2 if count < 9.995 else 1 if count < 99.95 else 0}f}{unit}"


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
