"""Progress as aligned rows, as the logs of MIP solvers have them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TextIO

from dpbb.coordination.snapshot import EventRecord, Snapshot
from dpbb.progress.base import News, Progress
from dpbb.progress.text import format_count, format_seconds, format_share
from dpbb.progress.words import left_text
from dpbb.result import TREE, Improvement
from dpbb.text.names import clean

ROWS_AN_AGE = 20
"""Rows get rarer: the next one is due after this part of the time so far."""

ROWS_A_HEADER = 30


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the rows, right-aligned.

    Lines are drawn between groups. Where it is tight, the least rank goes first.
    """

    title: str
    width: int
    rank: int
    group: int


COLUMNS = (
    Column("Time", 7, 9, 0),
    Column("Explored", 8, 4, 0),
    Column("Nodes", 7, 3, 0),
    Column("Node/s", 9, 6, 0),
    Column("BestBound", 9, 7, 1),
    Column("BestSol", 7, 9, 1),
    Column("Gap", 7, 8, 1),
    Column("Units", 5, 1, 2),
    Column("Seats", 5, 2, 2),
    Column("AtRisk", 6, 0, 2),
    Column("Left", 9, 5, 2),
)


def fitting(width: int | None) -> tuple[Column, ...]:
    """Return the columns that a line has room for; all of them without a limit."""
    columns = list(COLUMNS)
    while (
        width is not None
        and len(columns) > 1
        and len(format_cells({}, columns)) > width
    ):
        columns.remove(min(columns, key=lambda column: column.rank))
    return tuple(columns)


def format_cells(
    cells: Mapping[str, str], columns: Sequence[Column] = COLUMNS, *, mark: str = " "
) -> str:
    """Return one line of cells by title; a dash where there is none."""
    groups = groupby(columns, key=lambda column: column.group)
    return mark + " | ".join(
        " ".join(f"{cells.get(column.title, '-'):>{column.width}}" for column in group)
        for _, group in groups
    )


def format_header(columns: Sequence[Column] = COLUMNS) -> str:
    """Return the line above the rows."""
    return format_cells({column.title: column.title for column in columns}, columns)


def format_row(
    snapshot: Snapshot,
    *,
    mark: str = " ",
    offset_s: float = 0.0,
    columns: Sequence[Column] = COLUMNS,
) -> str:
    """Return a row under ``format_header(columns)``.

    Parameters
    ----------
    mark
        One character; for a new incumbent see ``mark_of``.
    offset_s
        Seconds from the start of the solve to the opening of the run.
    """
    cells = {
        "Time": format_seconds(snapshot.seconds + offset_s),
        "Explored": format_share(snapshot.explored),
        "Nodes": format_count(snapshot.nodes),
        "Node/s": format_count(snapshot.nodes_per_second) + "/s",
        "Units": str(snapshot.waiting + snapshot.leased),
        "Seats": str(len(snapshot.seats)),
    }
    if snapshot.lower_bound is not None:
        cells["BestBound"] = str(snapshot.lower_bound)
    if snapshot.value is not None:
        cells["BestSol"] = str(snapshot.value)
    if snapshot.gap is not None:
        cells["Gap"] = f"{snapshot.gap:.2%}"
    if snapshot.checkpoint is not None:
        cells["AtRisk"] = format_seconds(snapshot.checkpoint.at_risk_s)
    if snapshot.left_s is not None:
        cells["Left"] = left_text(snapshot, brief=True) or "-"
    return format_cells(cells, columns, mark=mark)


def format_event(event: EventRecord, *, offset_s: float = 0.0, width: int = 7) -> str:
    """Return a line for something that happened, its time as in the rows."""
    text = clean(event.text)
    if event.count > 1:
        since = format_seconds(event.since_s + offset_s)
        text = f"{text} ({event.count:,} times since {since})"
    return f" {format_seconds(event.seconds + offset_s):>{width}} {text}"


def format_incumbent(
    seconds: float,
    value: int,
    bound: int | None = None,
    columns: Sequence[Column] = COLUMNS,
    *,
    mark: str = "H",
) -> str:
    """Return the row of an incumbent that no snapshot has shown."""
    cells = {"Time": format_seconds(seconds), "BestSol": str(value)}
    if bound is not None:
        cells["BestBound"] = str(bound)
        cells["Gap"] = f"{(value - bound) / max(value, 1):.2%}"
    return format_cells(cells, columns, mark=mark)


def mark_of(step: Improvement | None = None) -> str:
    """Return the mark of a new incumbent's row: * by the tree, H by a heuristic."""
    return "H" if step is None or step.method != TREE else "*"


TROUBLED, HEADING = "yellow", "bold"
"""Styles of lines that are no rows."""


class ProgressPrinter(Progress):
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
        self._stream, self._interval_s, self._width = stream, interval_s, width
        self._news = News()
        self._rows = 0
        self._due_s = 0.0 if interval_s < math.inf else math.inf
        self._shown: Snapshot | None = None

    def note(self, text: str) -> None:
        """Write a line for people."""
        self._write(text)

    def waiting(self, text: str) -> None:
        """Write what is waited for, once."""
        if self._news.waits(text):
            self._write(f"waiting: {clean(text)}")

    def incumbent(self, seconds: float, value: int, bound: int) -> None:
        """Write the row of an incumbent that a heuristic found before the run."""
        self._news.seen(value)
        self._row(format_incumbent(seconds, value, bound, self._columns()))

    def update(self, snapshot: Snapshot) -> None:
        """Write what is new."""
        passed, new = self._news.of(snapshot)
        for step in passed:
            seconds, columns = step.seconds + self.offset_s, self._columns()
            mark = mark_of(step)
            self._row(format_incumbent(seconds, step.value, columns=columns, mark=mark))
        for event in self._news.told(snapshot):
            self._write(format_event(event, offset_s=self.offset_s), TROUBLED)
        self._waits(snapshot)
        if new or snapshot.seconds >= self._due_s:
            self._show(snapshot, mark_of(*snapshot.trajectory[-1:]) if new else " ")

    def finish(self, snapshot: Snapshot) -> None:
        """Write the last row of a run, if it is not written yet."""
        if snapshot is not self._shown:
            self._show(snapshot, " ")

    def _waits(self, snapshot: Snapshot) -> None:
        if self._news.waits(snapshot.waits_for):
            at = format_seconds(snapshot.seconds + self.offset_s)
            self._write(f" {at:>7} waiting: {clean(snapshot.waits_for)}")

    def _show(self, snapshot: Snapshot, mark: str) -> None:
        self._shown = snapshot
        pause = max(self._interval_s, snapshot.seconds / ROWS_AN_AGE)
        self._due_s = snapshot.seconds + pause
        offset_s, columns = self.offset_s, self._columns()
        self._row(format_row(snapshot, mark=mark, offset_s=offset_s, columns=columns))

    def _row(self, row: str) -> None:
        if self._rows % ROWS_A_HEADER == 0:
            self._write(format_header(self._columns()), HEADING)
        self._rows += 1
        self._write(row)

    def _columns(self) -> tuple[Column, ...]:
        """Return what there is room for."""
        return fitting(self._width)

    def _write(self, line: str, style: str = "") -> None:
        """Write a line; ``style`` says what it is where there are colors."""
        self._stream.write(line + "\n")
        self._stream.flush()
