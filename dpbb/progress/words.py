"""What people are told of a run, in every view: numbers, facts, what is wrong."""

import math
import time
from collections.abc import Iterator
from decimal import Decimal

from dpbb.coordination.snapshot import CheckpointSnapshot, RunState, Snapshot
from dpbb.progress.base import NO_RUN
from dpbb.result import Termination

COMPILING = "compiling"
"""What a run that waits for its own code says first: that is no trouble."""

TROUBLE = "trouble"
"""Name of what somebody should look at."""

UPPER_BOUND = "upper bound"
"""What prunes, wherever it is shown: nothing that is not below it is explored."""

RECENT_S = 600.0
"""A loss is trouble for so long; it stays in the events."""

LATE = 2.0
"""Checkpoint intervals after which the last checkpoint is too old."""

_LIMITS = {
    Termination.TIME_LIMIT: "time limit",
    Termination.NO_IMPROVEMENT: "no improvement",
    Termination.NODE_LIMIT: "node limit",
    Termination.GAP_LIMIT: "gap limit",
}

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def format_count(number: float) -> str:
    """Write three significant digits and an SI prefix: ``1.23 M``; at most 9 wide."""
    if isinstance(number, float) and not math.isfinite(number):
        return "∞" if number > 0 else "–"  # noqa: RUF001
    if abs(number) >= 999.5e18:
        return f"{Decimal(number):.1e}"  # a whole number may be too large for a float
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


def format_seconds(seconds: float) -> str:
    """Seconds with a decimal, then minutes and hours, such as ``2h05m``."""
    if seconds < 99.95:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes}m{rest:02}s"
    return f"{minutes // 60}h{minutes % 60:02}m"


def goes_on(snapshot: Snapshot) -> bool:
    """Whether the run is not over."""
    return snapshot.state in (RunState.RUNNING, RunState.STOPPING)


def state_kind(snapshot: Snapshot) -> str:
    """Return running, stopping, proved, limit, stopped or failed; colors go by it."""
    if goes_on(snapshot) or snapshot.state is RunState.FAILED:
        return snapshot.state.value
    value, bound = snapshot.value, snapshot.lower_bound
    if snapshot.exhausted or (value is not None and value == bound):
        return "proved"
    return "limit" if snapshot.termination in _LIMITS else "stopped"


def state_word(snapshot: Snapshot) -> str:
    """Return where the run is in its life, such as ``optimal, proved``."""
    if snapshot.run_id == NO_RUN:
        return "starting"
    kind = state_kind(snapshot)
    if kind == "limit":
        return _LIMITS[Termination(snapshot.termination or "")]
    if kind != "proved":
        return kind
    value, bound = snapshot.value, snapshot.lower_bound
    if value is not None and value == bound:
        return "optimal, proved"
    return f"nothing below {snapshot.ub:,}, proved"


def outlook(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield how far the run is, a line each: names and texts."""
    if snapshot.run_id == NO_RUN:
        return
    about = about_text(snapshot)
    yield "nodes", format_count(snapshot.nodes) + (f" of {about}" if about else "")
    said = left_text(snapshot), range_text(snapshot), ends_text(snapshot)
    if any(said):
        yield "left", ", ".join(text for text in said if text)


def facts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield what is known of a run: names, and values of a few words."""
    yield "best", _best(snapshot)
    if snapshot.value is not None and snapshot.ub != snapshot.value:
        yield UPPER_BOUND, f"{snapshot.ub:,}"
    gap = "" if snapshot.gap is None else f"  gap {snapshot.gap:.2%}"
    bound = "-" if snapshot.lower_bound is None else f"{snapshot.lower_bound:,}"
    yield "lower bound", bound + gap
    if snapshot.run_id == NO_RUN:
        return
    yield "speed", f"{format_count(snapshot.nodes_per_second)} nodes/s"
    busy = sum(seat.busy for seat in snapshot.seats)
    lost = f"  {snapshot.seats_lost:,} lost" if snapshot.seats_lost else ""
    yield "workers", f"{busy:,} of {len(snapshot.seats):,} busy{lost}"
    yield "parts", f"{snapshot.leased:,} in work  {snapshot.waiting:,} waiting"


def details(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield what needs a line of its own: names and texts, what is wrong at the end."""
    if snapshot.checkpoint is not None:
        yield "checkpoint", _checkpoint_text(snapshot, snapshot.checkpoint)
    if shares_text(snapshot):
        yield "turns", shares_text(snapshot)
    if compiling_text(snapshot):
        yield "waiting", compiling_text(snapshot)
    for text in troubles(snapshot):
        yield TROUBLE, text


def _best(snapshot: Snapshot) -> str:
    """Return the incumbent's value, or why there is none."""
    if snapshot.value is not None:
        return f"{snapshot.value:,}"
    below = f" below {snapshot.ub:,}" if snapshot.ub else ""
    if snapshot.exhausted:
        return f"there is none{below}"
    over = snapshot.termination is not None
    return f"none found{below}" if over else f"none yet{below}"


def _checkpoint_text(snapshot: Snapshot, saved: CheckpointSnapshot) -> str:
    """Say how old the last checkpoint is, and where."""
    if saved.last_s is None:
        resumed = any(event.kind == "resumed" for event in snapshot.events)
        return f"{'goes on from one' if resumed else 'none yet'}, {saved.url}"
    age = format_seconds(max(0.0, snapshot.seconds - saved.last_s))
    return f"{age} old, at risk {format_seconds(saved.at_risk_s)}, {saved.url}"


def shares_text(snapshot: Snapshot) -> str:
    """Say with whom the run takes turns on too few workers; empty if with nobody."""
    others = snapshot.shares_with if goes_on(snapshot) else ()
    if not others:
        return ""
    more = f" and {len(others) - 2:,} more" if len(others) > 2 else ""
    return f"time-shared with {', '.join(others[:2])}{more}"


def compiling_text(snapshot: Snapshot) -> str:
    """Say that the run waits for what is compiled; empty if it does not."""
    text = snapshot.waits_for
    return text if goes_on(snapshot) and text.startswith(COMPILING) else ""


def about_text(snapshot: Snapshot) -> str:
    """Write how many nodes the run has in all; empty where that is not known."""
    if snapshot.exhausted:
        return format_count(snapshot.nodes)
    left = snapshot.left
    return "" if left is None else f"~{format_count(snapshot.nodes + left.nodes[1])}"


def left_text(snapshot: Snapshot, *, brief: bool = False) -> str:
    """Say how much time is left, such as ``~25 s``; empty unless the run goes on.

    ``brief``: at most 7 characters, such as ``~25s``; empty where it is not known.
    """
    if snapshot.state is not RunState.RUNNING:
        return ""
    left = snapshot.left
    if left is None or left.seconds is None:
        return "" if brief else "no useful estimate yet"
    middle = left.seconds[1]
    text = span_text(middle, middle, brief=brief)
    return text if middle >= _ENDLESS_S else f"~{text}"


def range_text(snapshot: Snapshot, *, brief: bool = False) -> str:
    """Write between what times the end is: ``7 s to 2 min``, or ``7s-2m``."""
    left = snapshot.left
    if left is None or left.seconds is None or not goes_on(snapshot):
        return ""
    return span_text(left.seconds[0], left.seconds[2], brief=brief)


def span_text(low: float, high: float, *, brief: bool = False) -> str:
    """Write a range of seconds in one unit where that is possible: ``10 to 40 min``."""
    blank, dash = ("", "-") if brief else (" ", " to ")
    endless = not math.isfinite(high) or high >= _ENDLESS_S
    ends = [_number_and_unit(min(end, _ENDLESS_S)) for end in (low, high)]
    (first, unit), (last, last_unit) = (
        (number, unit[0] if brief else unit) for number, unit in ends
    )
    if endless:
        return f"{'>' if brief else 'more than '}{first}{blank}{unit}"
    if unit != last_unit:
        return f"{first}{blank}{unit}{dash}{last}{blank}{last_unit}"
    return f"{first if first == last else first + dash + last}{blank}{unit}"


_YEAR_S = 365.25 * 86400
_ENDLESS_S = 1000 * _YEAR_S
_UNITS = ((_YEAR_S, "years"), (86400.0, "days"), (3600.0, "h"), (60.0, "min"))


def time_unit(seconds: float) -> tuple[float, str]:
    """Return the largest unit of which there are two: its seconds, and its name."""
    return next((unit for unit in _UNITS if seconds >= 2 * unit[0]), (1.0, "s"))


def _number_and_unit(seconds: float) -> tuple[str, str]:
    """Two digits at most, and the unit: what is estimated has no more."""
    size, unit = time_unit(seconds)
    number = seconds / size
    return f"{number if number < 99.5 else round(number, -1):.0f}", unit


def ends_text(snapshot: Snapshot, offset_s: float | None = None) -> str:
    """Say when the run is probably over, by the clock: ``done 14:20 to 14:50``.

    ``offset_s``: seconds that the reader's clock is ahead of UTC; default: this
    machine's.
    """
    left = snapshot.left
    if left is None or left.seconds is None or not goes_on(snapshot):
        return ""
    now = time.time()
    low, high = now + left.seconds[0], now + left.seconds[2]
    if high > now + _YEAR_S:
        return ""
    far = high - now > 20 * 3600
    first, second = (clock_text(at, offset_s, day=far) for at in (low, high))
    return f"done {first if first == second else f'{first} to {second}'}"


def clock_text(
    at: float, offset_s: float | None = None, *, day: bool = False, exact: bool = False
) -> str:
    """Write a moment as ``14:20``, ``22 Nov 14:20`` or ``14:20:31``."""
    form = ("%d %b %H:%M" if day else "%H:%M") + (":%S" if exact else "")
    moment = time.localtime(at) if offset_s is None else time.gmtime(at + offset_s)
    return time.strftime(form, moment)


def troubles(snapshot: Snapshot) -> Iterator[str]:
    """Yield what somebody should look at now, worst first."""
    now = snapshot.seconds
    if snapshot.error:
        yield f"failed: {snapshot.error.strip().splitlines()[-1]}"
    if not goes_on(snapshot):
        return
    if snapshot.waits_for and not snapshot.waits_for.startswith(COMPILING):
        yield f"waiting: {snapshot.waits_for}"
    lost = [event for event in snapshot.events if event.kind == "seat-lost"]
    if lost and now - lost[-1].seconds < RECENT_S:
        ago = format_seconds(now - lost[-1].seconds)
        count = f"; {snapshot.seats_lost:,} so far" if snapshot.seats_lost > 1 else ""
        yield f"worker lost {ago} ago: {lost[-1].text}{count}"
    saved = snapshot.checkpoint
    if saved is None:
        return
    risk = f"work of {format_seconds(saved.at_risk_s)} at risk"
    failing = saved.error_s is not None and saved.error_s > (saved.last_s or -1.0)
    if failing:
        yield f"the last checkpoint failed: {saved.error}; {risk}"
    # without one: of what is explored; a resumed run has that of which it goes on
    age = saved.at_risk_s if saved.last_s is None else now - saved.last_s
    if age > LATE * max(saved.interval_s, saved.promised_s):
        what = "no checkpoint yet after" if saved.last_s is None else "checkpoint is"
        old = "" if saved.last_s is None else " old"
        every = format_seconds(saved.interval_s)
        yield f"{what} {format_seconds(age)}{old} (one every {every}); {risk}"
