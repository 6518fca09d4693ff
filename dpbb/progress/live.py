"""The live view of a terminal: the present state, below rows that scroll away.

Drawn by ``rich``, four times a second, by a thread of its own: the clock runs on while
heuristics compute. The cursor stays visible: a process that is killed leaves a terminal
as it should be. Signal handlers only set ``_alert``: one that printed could wait for
the lock that the code it interrupted holds.
"""

import sys
import time
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from dpbb.coordination.snapshot import Snapshot
from dpbb.progress.base import News, Progress
from dpbb.progress.live_panel import LivePanel, View
from dpbb.progress.rows import (
    ROWS_A_HEADER,
    Column,
    fitting,
    format_event,
    format_header,
    format_incumbent,
    format_row,
    mark_of,
)

REFRESHES_PER_S = 4


class SteadyConsole(Console):
    """A console that never hides the cursor; see the module."""

    def show_cursor(self, show: bool = True) -> bool:
        """Leave the cursor as it is."""
        return False


class LiveProgress(Progress):
    """Rows of new incumbents, and below them the state of the run.

    Parameters
    ----------
    stream
        A terminal.
    console
        Draw there instead; for tests and pictures.
    """

    def __init__(self, stream: TextIO, *, console: Console | None = None) -> None:
        self._console = console or SteadyConsole(
            file=stream, force_terminal=True, highlight=False, markup=False, emoji=False
        )
        self._news = News()
        self._view = View(began=time.monotonic())
        self._live: Live | None = None
        self._closed = False
        self._alert: str | None = None
        self._rows = 0
        self._shown: Snapshot | None = None

    def note(self, text: str) -> None:
        """Keep the line for the view if it has a place there, else write it."""
        if not self._view.take(text):
            self._write(Text(text, style="dim"))
        self._open()

    def waiting(self, text: str) -> None:
        """Show what is waited for in the view."""
        self._view.waits_for = text
        self._open()

    def incumbent(self, seconds: float, value: int, bound: int) -> None:
        """Write the row of an incumbent that a heuristic found before the run."""
        self._news.seen(value)
        self._view.value, self._view.bound = value, bound
        self._row(format_incumbent(seconds, value, bound, self._columns()))
        self._open()

    def update(self, snapshot: Snapshot) -> None:
        """Show the snapshot, and write a row for a new incumbent."""
        passed, new = self._news.of(snapshot)
        for step in passed:
            seconds = step.seconds + self.offset_s
            columns, mark = self._columns(), mark_of(step)
            self._row(format_incumbent(seconds, step.value, columns=columns, mark=mark))
        for event in self._news.told(snapshot):
            self._write(Text(format_event(event, offset_s=self.offset_s), "yellow"))
        self._view.set(snapshot, self.offset_s)
        if new:
            self._snapshot_row(snapshot, mark_of(*snapshot.trajectory[-1:]))
        self._open()

    def finish(self, snapshot: Snapshot) -> None:
        """Write the last row of the run, and take the view away."""
        self._view.set(snapshot, self.offset_s)
        if snapshot is not self._shown:
            self._snapshot_row(snapshot, " ")
        self.close()

    def alert(self, text: str) -> None:
        """Show the line with the next refresh; takes no lock."""
        if self._live is None:
            super().alert(text)
        else:
            self._alert = text

    def close(self) -> None:
        """Take the view away; what was written above it stays."""
        self._closed = True
        if self._live is not None:
            self._live.stop()
            self._live = None  # now, so that no alert meanwhile is printed by it
            if self._alert is not None:
                self._write(Text(self._alert))

    def _open(self) -> None:
        if self._live is not None or self._closed:
            return
        self._live = Live(
            console=self._console,
            get_renderable=lambda: LivePanel(self._view, self._alert),
            refresh_per_second=REFRESHES_PER_S,
            transient=True,
            redirect_stderr=True,
            # A stdout that goes elsewhere has to go on to do so.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._live.start(refresh=True)

    def _columns(self) -> tuple[Column, ...]:
        return fitting(self._console.width)

    def _snapshot_row(self, snapshot: Snapshot, mark: str) -> None:
        self._shown = snapshot
        self._row(
            format_row(
                snapshot, mark=mark, offset_s=self.offset_s, columns=self._columns()
            )
        )

    def _row(self, row: str) -> None:
        if self._rows % ROWS_A_HEADER == 0:
            self._write(Text(format_header(self._columns()), style="bold"))
        self._rows += 1
        text = Text(row)
        if row.startswith(("H", "*")):
            text.stylize("bold green", 0, 1)
        self._write(text)

    def _write(self, text: Text) -> None:
        self._console.print(text)
