"""The snapshot of a run, made from the coordinator's parts; nothing here is decided."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from dpbb.coordination.snapshot import EventRecord, SeatSnapshot

if TYPE_CHECKING:
    from dpbb.coordination.units import SeatRecord

WINDOW_S = 5.0
"""Nodes a second are an average over about this long."""

_STEP_S = 0.25  # between two samples
_MAX_EVENTS = 64


class RateMeter:
    """Nodes a second over the last few seconds."""

    def __init__(self, now: float) -> None:
        self._samples: deque[tuple[float, int]] = deque([(now, 0)])

    def note(self, now: float, nodes: int) -> None:
        """Take a sample, if the last one is not too young."""
        if now - self._samples[-1][0] < _STEP_S:
            return
        self._samples.append((now, nodes))
        while len(self._samples) > 2 and now - self._samples[1][0] >= WINDOW_S:
            self._samples.popleft()

    def rate(self, now: float, nodes: int) -> float:
        """Nodes a second until now; 0 if nodes were lost with a lease."""
        then, before = self._samples[0]
        return max(0.0, (nodes - before) / (now - then)) if now > then else 0.0


class EventLog:
    """The latest events, oldest first."""

    def __init__(self) -> None:
        self._events: deque[EventRecord] = deque(maxlen=_MAX_EVENTS)

    def add(self, seconds: float, kind: str, text: str) -> None:
        """Note an event."""
        self._events.append(EventRecord(seconds, kind, text))

    def latest(self) -> tuple[EventRecord, ...]:
        """All that are kept."""
        return tuple(self._events)


def seat_snapshot(record: SeatRecord) -> SeatSnapshot:
    """One seat and what it does."""
    seat, unit = record.seat, record.unit
    lease = unit.lease if unit is not None else None
    return SeatSnapshot(
        seat=seat.id,
        worker=seat.worker,
        device=seat.device.name or seat.device.kind,
        engine=seat.engine,
        busy=unit is not None,
        unit=None if unit is None else unit.id,
        decomposed=0 if lease is None else lease.shown_decomposed,
        nodes_per_second=0.0 if lease is None else lease.rate,
        open_roots=0 if lease is None else lease.open_roots,
    )


def relative_gap(value: int | None, lower_bound: int | None) -> float | None:
    """(value - lower_bound) / value; None without both."""
    if value is None or lower_bound is None:
        return None
    return (value - lower_bound) / max(value, 1)  # all times may be zero
