"""The live view of a terminal: the present state, below rows that scroll away.

Drawn by ``rich``, four times a second, by a thread of its own: the clock runs on while
heuristics compute. The cursor stays visible: a process that is killed leaves a terminal
as it should be. Signal handlers only note an alert: one that printed could wait for the
lock that the code it interrupted holds.
"""

import math
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.control import Control
from rich.live import Live
from rich.live_render import LiveRender
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from dpbb.coordination.snapshot import Snapshot
from dpbb.progress.base import NO_RUN, TOLD, SnapshotProgress
from dpbb.progress.rows import ProgressPrinter, format_event
from dpbb.progress.words import (
    TROUBLE,
    details,
    facts,
    format_seconds,
    goes_on,
    outlook,
    state_word,
)
from dpbb.text.names import clean

REFRESHES_PER_S = 4

WIDEST = 100
"""Columns; on wider terminals numbers would be far from their names."""

TWO_FACTS = 72
"""From so many columns on there are two facts a line."""

NAME_WIDTH = 11
N_EVENTS = 3

SILENT_S = 15.0
"""Without a snapshot for so long, the view says so."""


class SteadyConsole(Console):
    """A console that never hides the cursor; see the module."""

    def show_cursor(self, show: bool = True) -> bool:
        """Leave the cursor as it is."""
        return False


class Drawn(LiveRender):
    """What was drawn, to be erased also where a narrower terminal has wrapped it."""

    def __init__(self, renderable: RenderableType, console: Console) -> None:
        super().__init__(renderable)
        self._console, self._widths = console, [0]

    def position_cursor(self) -> Control:
        """Go to the begin of what was drawn, and erase it."""
        if self._shape is not None:
            width = self._console.width
            self._shape = width, sum(max(1, -(-n // width)) for n in self._widths)
        return super().position_cursor()

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        self._widths = [0]
        for part in super().__rich_console__(console, options):
            if isinstance(part, Segment):
                self._widths[-1] += part.cell_length
                self._widths += [0] * (part.text == "\n")
            yield part


class LiveProgress(ProgressPrinter):
    """Rows of new incumbents, and below them the state of the run when it is drawn.

    One thread sets the state, another one draws it.

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
        super().__init__(stream, math.inf, self._console.width)
        self._received = time.monotonic()
        self._alert = ""
        self._live: Live | None = None
        self._closed = False

    def note(self, text: str) -> None:
        """Keep the address of the dashboard for the view, write other lines."""
        SnapshotProgress.note(self, text)
        if not text.startswith("dashboard "):
            self._write(text, "dim")
        self._open()

    def _show(self, *, ended: bool) -> None:
        """Write a row for a new incumbent; at the end the last, without the view."""
        self.width = self._console.width
        self._received = time.monotonic()
        super()._show(ended=ended)
        if ended:
            self.close()
        else:
            self._open()

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
            self._write_alert()

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        width, plain = min(options.max_width, WIDEST), options.ascii_only
        last = self.last
        since = time.monotonic() - self._received if goes_on(last) else 0.0
        now = replace(last, seconds=last.seconds + since)
        elapsed = format_seconds(now.seconds)
        words = [clean(now.instance) or "dpbb", state_word(now), elapsed]
        yield _head(words, width, plain=plain)
        for name, text in outlook(now):
            yield _line(name, Text(text))
        yield _grid(facts(now), width)
        lines = [*details(now)]
        if self.dashboard:
            lines.insert(0, ("dashboard", self.dashboard))
        for name, text in lines:
            yield _line(name, Text(clean(text), "yellow" if name == TROUBLE else ""))
        yield from _events(now)
        if since > SILENT_S and now.run_id != NO_RUN:
            text = f"no news from the scheduler for {format_seconds(since)}"
            yield _line(TROUBLE, Text(text, "bold yellow"))
        if self._alert:
            yield _line("", Text(clean(self._alert), "bold yellow"))
        yield Text()  # the terminal writes ^C here, and nothing is wrapped by it

    def _open(self) -> None:
        if self._live is not None or self._closed:
            return
        self._live = Live(
            self,
            console=self._console,
            refresh_per_second=REFRESHES_PER_S,
            transient=True,
            redirect_stderr=True,
            # A stdout that goes elsewhere has to go on to do so.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._live._live_render = Drawn(self, self._console)
        self._live.start(refresh=True)

    def _waits(self, snapshot: Snapshot) -> None:
        """Write nothing: the view says what the run waits for."""

    def _write_alert(self) -> None:
        """Write the alert above the view, where it stays."""
        text, self._alert = self._alert, ""
        if text:
            self._console.print(Text(text))

    def _write(self, line: str, style: str = "") -> None:
        self._write_alert()  # what is written now came later
        text = Text(line, style=style)
        if line.startswith(("H", "*")):
            text.stylize("bold green", 0, 1)
        self._console.print(text)


def _head(words: Iterable[str], width: int, *, plain: bool) -> Text:
    """Write the first line: what runs, where it is in its life, and the time."""
    dash = "-" if plain else "─"
    head = Text(f"{dash}{dash} ", style="bright_black", no_wrap=True, overflow="crop")
    head.append(", ".join(words), style="bold")
    return head.append(" " + dash * max(0, width - len(head) - 1))


def _grid(facts: Iterable[tuple[str, str]], width: int) -> Table:
    """Two facts a line where there is room for them, else one."""
    pairs = 2 if width >= TWO_FACTS else 1
    table = Table.grid(padding=(0, 1), expand=False)
    room = (width - 1) // pairs - NAME_WIDTH - 3
    for _ in range(pairs):
        table.add_column(width=NAME_WIDTH + 1, no_wrap=True, style="cyan")
        table.add_column(width=room, no_wrap=True, overflow="ellipsis")
    cells = [Text(text) for name, value in facts for text in (f" {name}", value)]
    for begin in range(0, len(cells), 2 * pairs):
        table.add_row(*cells[begin : begin + 2 * pairs])
    return table


def _line(name: str, value: Text) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f" {name:<{NAME_WIDTH}} ", style="cyan")
    return line.append_text(value)


def _events(snapshot: Snapshot) -> Iterator[Text]:
    """Tell the latest events of those that are shown nowhere else."""
    elsewhere = ("incumbent", "checkpoint", "donation", *TOLD)
    latest = [event for event in snapshot.events if event.kind not in elsewhere]
    for event in latest[-N_EVENTS:]:
        text = format_event(event, width=NAME_WIDTH)
        yield Text(text, style="dim", no_wrap=True, overflow="ellipsis")
