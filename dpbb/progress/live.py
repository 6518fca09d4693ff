"""The live view of a terminal: the present state, below rows that scroll away.

Drawn by ``rich``, four times a second, by a thread of its own: the clock runs on while
heuristics compute. The cursor stays visible: a process that is killed leaves a terminal
as it should be. Signal handlers only set ``_alert``: one that printed could wait for
the lock that the code it interrupted holds.
"""

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dpbb.coordination.snapshot import CheckpointSnapshot, Snapshot
from dpbb.progress.base import TOLD
from dpbb.progress.rows import Column, Rows, fitting, format_event
from dpbb.progress.text import format_best, format_count, format_seconds, format_share
from dpbb.progress.words import ends_text, goes_on, left_text, shares_text, state_word
from dpbb.text.names import clean

REFRESHES_PER_S = 4


class SteadyConsole(Console):
    """A console that never hides the cursor; see the module."""

    def show_cursor(self, show: bool = True) -> bool:
        """Leave the cursor as it is."""
        return False


class LiveProgress(Rows):
    """Rows of new incumbents, and below them the state of the run.

    Parameters
    ----------
    stream
        A terminal.
    console
        Draw there instead; for tests and pictures.
    """

    def __init__(self, stream: TextIO, *, console: Console | None = None) -> None:
        super().__init__()
        self._console = console or SteadyConsole(
            file=stream, force_terminal=True, highlight=False, markup=False, emoji=False
        )
        self._view = View(began=time.monotonic())
        self._live: Live | None = None
        self._closed = False
        self._alert: str | None = None

    def note(self, text: str) -> None:
        """Keep the line for the view if it has a place there, else write it."""
        if not self._view.take(text):
            self._write(text, "dim")
        self._open()

    def waiting(self, text: str) -> None:
        """Show what is waited for in the view."""
        self._view.waits_for = text
        self._open()

    def incumbent(self, seconds: float, value: int, bound: int) -> None:
        """Write the row of an incumbent that a heuristic found before the run."""
        self._view.value, self._view.bound = value, bound
        super().incumbent(seconds, value, bound)
        self._open()

    def update(self, snapshot: Snapshot) -> None:
        """Show the snapshot, and write a row for a new incumbent."""
        self._view.set(snapshot, self.offset_s)
        super().update(snapshot)
        self._open()

    def finish(self, snapshot: Snapshot) -> None:
        """Write the last row of the run, and take the view away."""
        self._view.set(snapshot, self.offset_s)
        super().finish(snapshot)
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
                self._write(self._alert)

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

    def _write(self, line: str, style: str = "") -> None:
        text = Text(line, style=style)
        if line.startswith(("H", "*")):
            text.stylize("bold green", 0, 1)
        self._console.print(text)


WIDEST = 100
"""Columns; on wider terminals numbers would be far from their names."""

TWO_FACTS = 72
"""From so many columns on there are two facts a line."""

NAME_WIDTH = 10
N_EVENTS = 3

SILENT_S = 15.0
"""Without a snapshot for so long, the view says so."""

FINISHED, LEASED, WAITING = range(3)
CELLS = (("█", "#", "green"), ("▒", "+", "yellow"), ("░", ".", "bright_black"))
"""Of the search space: in Unicode, in ASCII, and the style."""


@dataclass(slots=True)
class View:
    """What is known of a run; one thread sets it, another one draws it.

    ``began``: when the solve began, as ``time.monotonic()`` has it.
    """

    began: float
    dashboard: str = ""
    checkpoints: str = ""
    value: int | None = None
    bound: int | None = None
    waits_for: str = ""
    snapshot: Snapshot | None = None
    offset_s: float = 0.0
    received: float = 0.0

    def take(self, note: str) -> bool:
        """Keep a note; False if it has no place here."""
        place, _, text = note.partition(" ")
        if place not in ("dashboard", "checkpoints"):
            return False
        setattr(self, place, clean(text))
        return True

    def set(self, snapshot: Snapshot, offset_s: float) -> None:
        """Take a newer state of the run."""
        self.offset_s, self.received = offset_s, time.monotonic()
        self.snapshot, self.waits_for = snapshot, snapshot.waits_for


class LivePanel:
    """Draws a view, as it is when it is drawn."""

    def __init__(self, view: View, alert: str | None = None) -> None:
        self._view = view
        self._alert = alert

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        view, width = self._view, min(options.max_width, WIDEST)
        plain = options.ascii_only
        snapshot, now = view.snapshot, time.monotonic()
        if snapshot is None:
            words = ["dpbb", "starting", format_seconds(now - view.began)]
            yield _head(words, width, plain=plain)
            yield _grid(_start_facts(view), width)
            yield from _links(view, None, 0.0)
        else:
            since = now - view.received if goes_on(snapshot) else 0.0
            seconds = snapshot.seconds + since
            elapsed = format_seconds(seconds + view.offset_s)
            words = [clean(snapshot.instance), state_word(snapshot), elapsed]
            yield _head(words, width, plain=plain)
            yield _grid(_facts(snapshot), width)
            if goes_on(snapshot):
                yield _line("left", Text(_left(snapshot)))
            yield _space(snapshot, width, plain=plain)
            yield from _links(view, snapshot.checkpoint, seconds)
            yield from _events(snapshot, view.offset_s)
            if shares_text(snapshot):
                yield _text(clean(shares_text(snapshot)), "yellow")
            if since > SILENT_S:
                text = f"no news from the scheduler for {format_seconds(since)}"
                yield _text(text, "bold yellow")
        if view.waits_for:
            yield _text(f"waiting: {clean(view.waits_for)}", "yellow")
        if self._alert is not None:
            yield _text(clean(self._alert), "bold yellow")


def _head(words: Iterable[str], width: int, *, plain: bool) -> Text:
    """Write the first line: what runs, where it is in its life, and the time."""
    dash = "-" if plain else "─"
    head = Text(f"{dash}{dash} ", style="bright_black", no_wrap=True, overflow="crop")
    head.append(", ".join(words), style="bold")
    return head.append(" " + dash * max(0, width - len(head) - 1))


def _start_facts(view: View) -> Iterator[tuple[str, str]]:
    yield "best", "none yet" if view.value is None else f"{view.value:,}"
    yield "bound", "-" if view.bound is None else f"{view.bound:,}"


def _facts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    yield "best", format_best(snapshot)
    bound = "-" if snapshot.lower_bound is None else f"{snapshot.lower_bound:,}"
    yield "bound", bound + ("" if snapshot.gap is None else f"  gap {snapshot.gap:.2%}")
    yield "nodes", format_count(snapshot.decomposed + snapshot.leaves)
    yield "speed", f"{format_count(snapshot.nodes_per_second)} nodes/s"
    busy = sum(seat.busy for seat in snapshot.seats)
    lost = f"  {snapshot.seats_lost:,} lost" if snapshot.seats_lost else ""
    yield "seats", f"{busy:,} of {len(snapshot.seats):,} busy{lost}"
    yield "units", f"{snapshot.leased:,} in work  {snapshot.waiting:,} waiting"


def _left(snapshot: Snapshot) -> str:
    """Say how much is left, as a range, and when that is over."""
    ends = ends_text(snapshot)
    return left_text(snapshot) + (f"; done {ends}" if ends else "")


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


def _text(text: str, style: str = "") -> Text:
    return Text(f" {text}", style=style, no_wrap=True, overflow="ellipsis")


def _line(name: str, value: Text) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f" {name:<{NAME_WIDTH}} ", style="cyan")
    return line.append_text(value)


def _space(snapshot: Snapshot, width: int, *, plain: bool) -> Text:
    """Draw the permutations in the order of the tree: finished, explored, waiting."""
    share = f" {format_share(snapshot.explored)} of n!"  # not of the time
    strip = Text()
    for state in cells_of(snapshot, max(1, width - NAME_WIDTH - 3 - len(share))):
        unicode, ascii_, style = CELLS[state]
        strip.append(ascii_ if plain else unicode, style=style)
    return _line("explored", strip.append(share))


def cells_of(snapshot: Snapshot, n_cells: int) -> list[int]:
    """Return the state of equal parts of [0, n!): FINISHED, LEASED or WAITING.

    A part is finished when no span of open work touches it: also late in a run one
    sees where the last specks are. Leased wins over waiting.
    """
    cells = [FINISHED] * n_cells
    for begin, end, state in snapshot.spans:
        first = min(n_cells - 1, max(0, int(begin * n_cells + 1e-9)))
        last = min(n_cells - 1, max(first, int(end * n_cells - 1e-9)))
        for cell in range(first, last + 1):
            if state == "leased":
                cells[cell] = LEASED
            elif cells[cell] == FINISHED:
                cells[cell] = WAITING
    return cells


def _links(
    view: View, checkpoint: CheckpointSnapshot | None, seconds: float
) -> Iterator[Text]:
    """Say where the checkpoints and the dashboard are.

    ``seconds``: of the run, now.
    """
    if checkpoint is not None:
        style = "bold red" if _failed(checkpoint) else ""
        yield _line("checkpoint", Text(_age(checkpoint, seconds), style=style))
    elif view.checkpoints:
        yield _line("checkpoint", Text(view.checkpoints))
    if view.dashboard:
        yield _line("dashboard", Text(view.dashboard))


def _failed(checkpoint: CheckpointSnapshot) -> bool:
    """Whether the last attempt failed."""
    return checkpoint.error_s is not None and (
        checkpoint.last_s is None or checkpoint.error_s > checkpoint.last_s
    )


def _age(checkpoint: CheckpointSnapshot, seconds: float) -> str:
    url = clean(checkpoint.url)
    if _failed(checkpoint):
        return f"failed: {clean(checkpoint.error or '')}"
    if checkpoint.last_s is None:
        return f"none yet, {url}"
    age = format_seconds(max(0.0, seconds - checkpoint.last_s))
    return f"{age} old, at risk {format_seconds(checkpoint.at_risk_s)}, {url}"


def _events(snapshot: Snapshot, offset_s: float) -> Iterator[Text]:
    """Tell the latest events of those that are shown nowhere else."""
    elsewhere = ("incumbent", "checkpoint", "donation", *TOLD)
    latest = [event for event in snapshot.events if event.kind not in elsewhere]
    for event in latest[-N_EVENTS:]:
        text = format_event(event, offset_s=offset_s, width=NAME_WIDTH)
        yield Text(text, style="dim", no_wrap=True, overflow="ellipsis")
