"""Progress as aligned rows, as the logs of MIP solvers have them."""

import math
from collections.abc import Mapping
from typing import TextIO

from dpbb.coordination.snapshot import EventRecord, Snapshot
from dpbb.progress.base import NO_RUN, SnapshotProgress
from dpbb.progress.words import (
    about_text,
    format_count,
    format_seconds,
    left_text,
    range_text,
)
from dpbb.result import TREE, Improvement
from dpbb.text.names import clean

ROWS_AN_AGE = 20
"""Rows get rarer: the next one is due after this part of the time so far."""

ROWS_A_HEADER = 30

IDLE_S = 10.0
"""Least seconds between rows while nothing is explored."""

HEURISTIC_S = 1.0
"""Least seconds between rows of incumbents of heuristics."""

COLUMNS = {
    **{"Time": 7, "Nodes": 7, "OfAbout": 7, "Left": 7, "Between": 9},
    **{"BestBound": 9, "BestSol": 7, "Gap": 7},
    **{"Node/s": 8, "Workers": 7, "Parts": 5, "AtRisk": 6},
}
"""Columns and their widths."""

LESS = (
    *("AtRisk", "Parts", "Workers", "Node/s", "Between", "Left", "OfAbout", "Gap"),
    *("Nodes", "BestBound"),
)
"""Columns that are left out where it is tight, in this order."""

RULED = ("BestBound", "Node/s")
"""Columns with a line before them."""

TROUBLED, HEADING = "yellow", "bold"
"""Styles of lines that are no rows."""


def format_cells(
    cells: Mapping[str, str], width: int | None = None, *, mark: str = " "
) -> str:
    """Return one line of cells by title, right-aligned; a dash where there is none.

    ``width``: the most columns that a line may have.
    """
    parts = {
        title: (" | " if title in RULED else " " * (title != "Time"))
        + f"{cells.get(title, '-'):>{size}}"
        for title, size in COLUMNS.items()
    }
    for title in LESS:
        if width is None or len(mark) + sum(map(len, parts.values())) <= width:
            break
        del parts[title]
    return mark + "".join(parts.values())


def format_header(width: int | None = None) -> str:
    """Return the line above the rows."""
    return format_cells({title: title for title in COLUMNS}, width)


def format_row(snapshot: Snapshot, *, mark: str = " ", width: int | None = None) -> str:
    """Return a row under ``format_header(width)``.

    ``mark``: one character; for a new incumbent see ``mark_of``.
    """
    cells = {"Time": format_seconds(snapshot.seconds)}
    if snapshot.run_id != NO_RUN:
        cells |= {
            "Nodes": format_count(snapshot.nodes),
            "Node/s": format_count(snapshot.nodes_per_second) + "/s",
            "Parts": str(snapshot.waiting + snapshot.leased),
            "Workers": str(len(snapshot.seats)),
            "OfAbout": about_text(snapshot) or "-",
            "Left": left_text(snapshot, brief=True) or "-",
            "Between": range_text(snapshot, brief=True) or "-",
        }
    if snapshot.lower_bound is not None:
        cells["BestBound"] = str(snapshot.lower_bound)
    if snapshot.value is not None:
        cells["BestSol"] = str(snapshot.value)
    if snapshot.gap is not None:
        cells["Gap"] = f"{snapshot.gap:.2%}"
    if snapshot.checkpoint is not None:
        cells["AtRisk"] = format_seconds(snapshot.checkpoint.at_risk_s)
    return format_cells(cells, width, mark=mark)


def format_event(event: EventRecord, *, width: int = 7) -> str:
    """Return a line for something that happened, its time as in the rows."""
    text = clean(event.text)
    if event.count > 1:
        since = format_seconds(event.since_s)
        text = f"{text} ({event.count:,} times since {since})"
    return f" {format_seconds(event.seconds):>{width}} {text}"


def mark_of(step: Improvement | None = None) -> str:
    """Return the mark of a new incumbent's row: * by the tree, H by a heuristic."""
    return "H" if step is None or step.method != TREE else "*"


class ProgressPrinter(SnapshotProgress):
    """Writes rows to a stream: one for every new incumbent, and one now and then.

    Parameters
    ----------
    stream
        Where to write.
    interval_s
        Least seconds between rows that are not about a new incumbent; infinite: there
        are no such rows.
    width
        Columns that the terminal has; None: no limit.
    """

    def __init__(
        self, stream: TextIO, interval_s: float = 1.0, width: int | None = None
    ) -> None:
        super().__init__()
        self._stream, self._interval_s, self.width = stream, interval_s, width
        self._rows = 0
        self._row_s = -math.inf if interval_s < math.inf else math.inf
        self._shown: Snapshot | None = None
        self._heuristic_s = -math.inf
        self._late = False

    def note(self, text: str) -> None:
        """Write a line for people."""
        self._write(text)

    def _show(self, *, ended: bool) -> None:
        """Write what is new; at the end a row, if it is not written yet."""
        snapshot = self.last
        if ended:
            if snapshot != self._shown:
                self._row_of(snapshot, " ")
            return
        passed, new = self._news.of(snapshot)
        for step in passed:
            best = step.value == snapshot.value
            if not self._may_be_told(mark_of(step), step.seconds) and not best:
                continue
            at = format_seconds(max(0.0, step.seconds))
            cells = {"Time": at, "BestSol": str(step.value)}
            self._row(format_cells(cells, self.width, mark=mark_of(step)))
        for event in self._news.told(snapshot):
            self._write(format_event(event), TROUBLED)
        self._waits(snapshot)
        self._late |= new
        mark = mark_of(*snapshot.trajectory[-1:]) if self._late else " "
        told = self._late and self._may_be_told(mark, snapshot.seconds)
        if told or self._is_due(snapshot):
            self._row_of(snapshot, mark)
            self._late = False

    def _may_be_told(self, mark: str, at_s: float) -> bool:
        """Whether an incumbent may have a row, and not only the next one that is due.

        Heuristics find many in their first second.
        """
        if mark == "H":
            if at_s < self._heuristic_s + HEURISTIC_S:
                return False
            self._heuristic_s = at_s
        return True

    def _is_due(self, snapshot: Snapshot) -> bool:
        """Whether the run is open, and the last row about it is long enough ago."""
        idle = 0.0 if snapshot.nodes else IDLE_S
        pause = max(self._interval_s, snapshot.seconds / ROWS_AN_AGE, idle)
        return snapshot.run_id != NO_RUN and snapshot.seconds >= self._row_s + pause

    def _waits(self, snapshot: Snapshot) -> None:
        if self._news.waits(snapshot.waits_for):
            at = format_seconds(snapshot.seconds)
            self._write(f" {at:>7} waiting: {clean(snapshot.waits_for)}")

    def _row_of(self, snapshot: Snapshot, mark: str) -> None:
        if snapshot.run_id != NO_RUN:
            self._shown = snapshot
            self._row_s = snapshot.seconds
        self._row(format_row(snapshot, mark=mark, width=self.width))

    def _row(self, row: str) -> None:
        if self._rows % ROWS_A_HEADER == 0:
            self._write(format_header(self.width), HEADING)
        self._rows += 1
        self._write(row)

    def _write(self, line: str, style: str = "") -> None:
        """Write a line; ``style`` says what it is where there are colors."""
        self._stream.write(line + "\n")
        self._stream.flush()
