"""Progress rows of a run, from snapshots alone."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from dpbb.coordination.snapshot import Snapshot

HEADER = (
    "   Time   Explored      Nodes     Node/s | BestBound  BestSol    Gap | Units Seats"
)
ROWS_AN_AGE = 20
"""Rows get rarer: the next one is due after this part of the time so far."""


def format_count(count: float) -> str:
    """Three significant digits and a unit, such as ``41.2 M``."""
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


def format_row(snapshot: Snapshot, *, mark: str = " ", offset_s: float = 0.0) -> str:
    """Return a row under ``HEADER``.

    Parameters
    ----------
    mark
        One character; H for a new incumbent.
    offset_s
        Seconds from the start of the solve to the opening of the run.
    """
    nodes = format_count(snapshot.decomposed + snapshot.leaves)
    rate = format_count(snapshot.nodes_per_second) + "/s"
    bound = "-" if snapshot.lower_bound is None else str(snapshot.lower_bound)
    value = "-" if snapshot.value is None else str(snapshot.value)
    gap = "-" if snapshot.gap is None else f"{snapshot.gap:.2%}"
    units = snapshot.waiting + snapshot.leased
    return (
        f"{mark}{format_seconds(snapshot.seconds + offset_s):>7} "
        f"{snapshot.explored:>9.2%} {nodes:>10} {rate:>10} | {bound:>9} {value:>8} "
        f"{gap:>6} | {units:>5} {len(snapshot.seats):>5}"
    )


def format_incumbent(seconds: float, value: int, bound: int) -> str:
    """Return the row of an incumbent that was found before there was a tree."""
    gap = f"{(value - bound) / max(value, 1):.2%}"
    return (
        f"H{format_seconds(seconds):>7} {'-':>9} {'-':>10} {'-':>10} | {bound:>9} "
        f"{value:>8} {gap:>6} | {'-':>5} {'-':>5}"
    )


@dataclass(slots=True)
class ProgressPrinter:
    """Writes rows to a stream: one for every new incumbent, and one now and then.

    Parameters
    ----------
    stream
        Where to write; None writes nothing.
    interval_s
        Least seconds between rows that are not about a new incumbent.
    json_lines
        Write every snapshot as one JSON object a line instead, without its map of
        spans and without notes.
    offset_s
        Seconds from the start of the solve to the opening of the run.
    """

    stream: TextIO | None
    interval_s: float = 1.0
    json_lines: bool = False
    offset_s: float = 0.0
    _value: int | None = None
    _due_s: float = 0.0
    _rows: int = 0
    _shown: Snapshot | None = None

    def note(self, text: str) -> None:
        """Write a line for people."""
        if not self.json_lines:
            self._write(text)

    def incumbent(self, seconds: float, value: int, bound: int) -> None:
        """Write the row of an incumbent that a heuristic found before the run."""
        self._value = value
        if not self.json_lines:
            self._row(format_incumbent(seconds, value, bound))

    def update(self, snapshot: Snapshot) -> None:
        """Write a row if there is a new incumbent or the last row is old enough."""
        new = snapshot.value is not None and (
            self._value is None or snapshot.value < self._value
        )
        if new or snapshot.seconds >= self._due_s:
            self._show(snapshot, "H" if new else " ")

    def finish(self, snapshot: Snapshot) -> None:
        """Write the last row of a run, if it is not written yet."""
        if snapshot is not self._shown:
            self._show(snapshot, " ")

    def _show(self, snapshot: Snapshot, mark: str) -> None:
        self._shown = snapshot
        self._value = snapshot.value if self._value is None else self._value
        if snapshot.value is not None and self._value is not None:
            self._value = min(self._value, snapshot.value)
        pause = self.interval_s
        if self.json_lines:
            self._write(snapshot_json(snapshot))
        else:
            pause = max(pause, snapshot.seconds / ROWS_AN_AGE)
            self._row(format_row(snapshot, mark=mark, offset_s=self.offset_s))
        self._due_s = snapshot.seconds + pause

    def _row(self, row: str) -> None:
        if self._rows % 30 == 0:
            self._write(HEADER)
        self._rows += 1
        self._write(row)

    def _write(self, line: str) -> None:
        if self.stream is not None:
            self.stream.write(line + "\n")
            self.stream.flush()


def snapshot_json(snapshot: Snapshot) -> str:
    """Return a snapshot as one line of JSON, without its map of spans."""
    values = {
        item.name: getattr(snapshot, item.name)
        for item in fields(snapshot)
        if item.name != "spans"
    }
    # Seats, improvements and events are dataclasses.
    return json.dumps(values, default=asdict)
