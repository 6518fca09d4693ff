"""What happened to a run, in few rows: repeats are merged, no kind drives out others.

Somebody who looks in the morning has to find the incumbents, losses and failures of the
night, however many seats came and went and checkpoints were written since.
"""

from collections import deque
from dataclasses import replace
from operator import attrgetter

from dpbb.coordination.snapshot import EventRecord

ROWS_OF_A_KIND = 16
"""Of more events of a kind, the oldest rows become one, with their number."""

_ROUTINE = ("checkpoint", "donation")
"""Kinds of which the number, the first and the last time say it all."""

SEATS = {
    "seat": "joined",
    "seat-left": "serves this run no more",
    "seat-lost": "left with its worker",
}
"""Kinds of events about seats, and what happened to one."""

ROWS_OF_SEATS = 4
"""Rows of seats that join, and of those that leave with their workers still there:
what comes and goes drives out nothing else."""

NAMED = 3
"""Seats that a row names; of more it names the last."""

_TOPIC = {
    "checkpoint-failed": "checkpoint",
    "no-seat": "seat",
    "seat-left": "seat",
    "seat-lost": "seat",
}
"""What a kind is about, if not itself; another kind of it ends a series of repeats."""


class EventLog:
    """Events, a bounded number of rows of each kind.

    In a row an event of a routine kind, or one with the text of the one before, is
    counted into that one's row; so are seats that join, or leave, one after the other.
    When a kind has ``ROWS_OF_A_KIND`` rows, its two oldest become one. So no event goes
    without being counted, and the first and the last time of its row hold it.
    """

    def __init__(self, opened: float) -> None:
        self._opened = opened
        self._rows: dict[str, deque[EventRecord]] = {}
        self._last: dict[str, str] = {}  # kind of the last event of each topic
        self._seats: dict[str, dict[str, None]] = {}  # those of each kind's last row
        self._donated_roots = 0
        self._latest: tuple[EventRecord, ...] | None = ()

    def add(self, now: float, kind: str, text: str) -> None:
        """Note an event."""
        self._add(now, kind, text, kind in _ROUTINE)

    def add_seat(self, now: float, kind: str, seat: str) -> None:
        """Note what happened to a seat; of several in a row there is one row.

        Parameters
        ----------
        kind
            One of ``SEATS``.
        seat
            Its name for people.
        """
        if self._last.get("seat") != kind:
            self._seats[kind] = {}
        named = self._seats[kind]
        named[seat] = None
        text = f"{seat} {SEATS[kind]}"
        if len(named) > NAMED:
            text = f"{len(named):,} seats, the last {text}"
        elif len(named) > 1:
            did = SEATS[kind].replace("serves", "serve").replace("its", "their")
            text = f"{len(named)} seats {did}: {', '.join(named)}"
        self._add(now, kind, text, True)

    def _add(self, now: float, kind: str, text: str, routine: bool) -> None:
        event = EventRecord(now - self._opened, kind, text)
        rows = self._rows.setdefault(kind, deque())
        topic = _TOPIC.get(kind, kind)
        series = self._last.get(topic) == kind
        self._last[topic] = kind
        self._latest = None
        most = ROWS_OF_SEATS if kind in ("seat", "seat-left") else ROWS_OF_A_KIND
        if series and rows and (routine or rows[-1].text == text):
            event = _merged(rows.pop(), event)
        elif len(rows) == most:
            rows.appendleft(_merged(rows.popleft(), rows.popleft()))
        rows.append(event)

    def add_donation(self, now: float, seat: str, n_roots: int) -> None:
        """Note a donation: there may be hundreds a second."""
        first = not self._donated_roots
        self._donated_roots += n_roots
        roots = f"{self._donated_roots:,} root{'s' * (self._donated_roots != 1)}"
        text = (
            f"{seat} gave {roots}" if first else f"{roots} in all, the last by {seat}"
        )
        self.add(now, "donation", text)

    def latest(self) -> tuple[EventRecord, ...]:
        """All rows in the order of their latest events, oldest first."""
        if self._latest is None:
            rows = [row for of_kind in self._rows.values() for row in of_kind]
            self._latest = tuple(sorted(rows, key=attrgetter("seconds")))
        return self._latest


def _merged(before: EventRecord, after: EventRecord) -> EventRecord:
    """Return one row for two; its text is that of the later one."""
    count = before.count + after.count
    return replace(after, count=count, first_s=before.since_s)
