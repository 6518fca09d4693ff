"""What happened to a run, in few rows: no kind of event drives out others.

Somebody who looks in the morning has to find the incumbents, losses and failures of the
night, however many seats came and went and checkpoints were written since.
"""

from collections import deque
from dataclasses import replace
from operator import attrgetter

from dpbb.coordination.snapshot import EventRecord

ROWS_OF_A_KIND = 16
"""Of more events of a kind, the oldest rows become one, with their number."""

ROUTINE = ("checkpoint", "donation")
"""Kinds that have one row: their number, the first and the last time say it all."""

SEATS = {
    "seat": "joined",
    "seat-left": "serves this run no more",
    "seat-lost": "went away with its process",
}
"""Kinds of events about seats, and what happened to one."""


class EventLog:
    """Events, a bounded number of rows of each kind; equal ones after another are one.

    ``opened``: when the run was opened.
    """

    def __init__(self, opened: float) -> None:
        self._opened = opened
        self._rows: dict[str, deque[EventRecord]] = {}

    def add(self, now: float, kind: str, text: str) -> None:
        """Note an event; of a seat, a kind of ``SEATS``, ``text`` is its name."""
        if kind in SEATS:
            text = f"{text} {SEATS[kind]}"
        event = EventRecord(now - self._opened, kind, text)
        rows = self._rows.setdefault(kind, deque())
        if rows and (kind in ROUTINE or rows[-1].text == text):
            event = _merged(rows.pop(), event)
        elif len(rows) == ROWS_OF_A_KIND:
            rows.appendleft(_merged(rows.popleft(), rows.popleft()))
        rows.append(event)

    def latest(self) -> tuple[EventRecord, ...]:
        """All rows in the order of their latest events, oldest first."""
        rows = [row for of_kind in self._rows.values() for row in of_kind]
        return tuple(sorted(rows, key=attrgetter("seconds")))


def _merged(before: EventRecord, after: EventRecord) -> EventRecord:
    """Return one row for two; its text is that of the later one."""
    count = before.count + after.count
    return replace(after, count=count, first_s=before.since_s)
