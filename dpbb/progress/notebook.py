"""A run in a notebook: its state as HTML, one display, updated in place; no widgets.

JupyterLab and VS Code both follow ``update_display_data`` messages of Jupyter's
protocol, which IPython sends when a display has an id.
"""

import time
from collections.abc import Iterator
from typing import Any

from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.progress.base import Progress
from dpbb.progress.rows import format_row
from dpbb.progress.text import format_best, format_count, format_seconds, format_share
from dpbb.progress.words import (
    UPPER_BOUND,
    ends_text,
    goes_on,
    left_text,
    shares_text,
    state_kind,
    state_word,
)
from dpbb.result import Result
from dpbb.text import markup

PAUSE_S = 0.5
"""Between updates: each is a message to every browser, and stays with the kernel."""


class NotebookProgress(Progress):
    """Shows a run in the cell that is executed, and at the end its result.

    Where the result is the value of the cell, too, the notebook shows it anyway, and
    nothing remains of the display.
    """

    def __init__(self) -> None:
        self._handle: Any = None
        self._updated = float("-inf")
        self._value: int | None = None
        self._bound: int | None = None
        self._dashboard: str | None = None
        self._waits_for = ""
        self._last: Snapshot | None = None
        self._shown: Snapshot | None = None
        self._result: Result | None = None
        self._events = _events_of_the_shell()
        if self._events is not None:
            self._events.register("post_run_cell", self._cell_ended)

    def note(self, text: str) -> None:
        """Keep the address of the dashboard; the rest is of no use in a notebook."""
        place, _, address = text.partition(" ")
        if place == "dashboard":
            self._dashboard = address
        self._start()

    def waiting(self, text: str) -> None:
        """Show what is waited for."""
        self._waits_for, self._updated = text, float("-inf")
        self._start()

    def incumbent(self, seconds: float, value: int, bound: int) -> None:
        """Show an incumbent of the heuristics."""
        self._value, self._bound = value, bound
        self._start()

    def update(self, snapshot: Snapshot) -> None:
        """Show the state of the run, twice a second at most."""
        self._last = snapshot
        if time.monotonic() - self._updated >= PAUSE_S:
            self._show_last()

    def finish(self, snapshot: Snapshot) -> None:
        """Show the last state of the run."""
        self._last = snapshot
        self._show_last()

    def done(self, result: Result) -> None:
        """Show the result instead."""
        self._result = result
        self._show(result._repr_html_(), result.summary())

    def close(self) -> None:
        """Show the last state that was seen, if the result has not come."""
        if self._shown is not self._last:
            self._show_last()

    def _cell_ended(self, cell: Any) -> None:  # IPython's
        """Leave a result that is the value of the cell to the notebook.

        Only at the end of a cell one knows what its value is.
        """
        self._events.unregister("post_run_cell", self._cell_ended)
        value = getattr(cell, "result", None)
        if isinstance(value, Result) and value == self._result:
            self._show("", "")

    def _start(self) -> None:
        if time.monotonic() - self._updated >= PAUSE_S:
            page = start_html(
                self._value, self._bound, self._dashboard, self._waits_for
            )
            waits = f": waiting: {self._waits_for}" if self._waits_for else ""
            self._show(page, f"dpbb is starting{waits}")

    def _show_last(self) -> None:
        snapshot = self._shown = self._last
        if snapshot is not None:
            page = snapshot_html(
                snapshot, dashboard=self._dashboard, offset_s=self.offset_s
            )
            self._show(page, format_row(snapshot, offset_s=self.offset_s))

    def _show(self, page: str, text: str) -> None:
        import IPython.display as ipython  # untyped functions

        self._updated = time.monotonic()
        content = {"text/html": page, "text/plain": text}
        if self._handle is None:
            self._handle = ipython.display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def _events_of_the_shell() -> Any:  # IPython's
    """Return what says that a cell has ended; None outside of IPython."""
    import IPython

    return getattr(IPython.get_ipython(), "events", None)


def snapshot_html(
    snapshot: Snapshot, *, dashboard: str | None = None, offset_s: float = 0.0
) -> str:
    """Return the state of a run, as a box of facts and the map of its search space.

    Parameters
    ----------
    dashboard
        Address of the page that shows the run live.
    offset_s
        Seconds from the start of the solve to the opening of the run.
    """
    legend = markup.legend(
        [
            ("finished", f"{format_share(snapshot.explored)} of n! explored"),
            (
                "leased",
                f"{snapshot.leased:,} unit{'s' * (snapshot.leased != 1)} in work",
            ),
            ("waiting", f"{snapshot.waiting:,} waiting"),
        ]
    )
    facts = [*_facts(snapshot)]
    if dashboard:
        facts.append(("dashboard", markup.link(dashboard)))
    elapsed = format_seconds(snapshot.seconds + offset_s)
    return markup.card(
        snapshot.instance,
        f"run {snapshot.run_id}, {state_word(snapshot)}, {elapsed}",
        [markup.table(facts), markup.strip(snapshot.spans), legend],
        color=_color(snapshot),
    )


def _color(snapshot: Snapshot) -> str:
    if snapshot.error is not None or snapshot.state is RunState.FAILED:
        return markup.BAD
    return markup.GOOD if state_kind(snapshot) == "proved" else markup.GOING


def _facts(snapshot: Snapshot) -> Iterator[tuple[str, object]]:
    yield "best", format_best(snapshot)
    if snapshot.value is not None and snapshot.ub != snapshot.value:
        yield UPPER_BOUND, f"{snapshot.ub:,}"
    if snapshot.lower_bound is not None:
        gap = "" if snapshot.gap is None else f", gap {snapshot.gap:.2%}"
        yield "lower bound", f"{snapshot.lower_bound:,}{gap}"
    nodes = format_count(snapshot.decomposed + snapshot.leaves)
    yield "nodes", f"{nodes}, {format_count(snapshot.nodes_per_second)} a second"
    if goes_on(snapshot):
        ends = ends_text(snapshot)
        yield "left", left_text(snapshot) + (f", done {ends}" if ends else "")
    busy = sum(seat.busy for seat in snapshot.seats)
    yield "seats", f"{busy:,} of {len(snapshot.seats):,} busy"
    if shares_text(snapshot):
        yield "turns", shares_text(snapshot)
    if snapshot.waits_for:
        yield "waiting", snapshot.waits_for
    checkpoint = snapshot.checkpoint
    if checkpoint is not None and checkpoint.last_s is not None:
        age = format_seconds(max(0.0, snapshot.seconds - checkpoint.last_s))
        risk = format_seconds(checkpoint.at_risk_s)
        yield "checkpoint", f"{age} old, work of {risk} at risk, {checkpoint.url}"
    if snapshot.error is not None:
        yield "error", snapshot.error


def start_html(
    value: int | None,
    bound: int | None,
    dashboard: str | None = None,
    waits_for: str = "",
) -> str:
    """Return what is known before there is a run."""
    facts = {
        "best": None if value is None else f"{value:,}",
        "lower bound": None if bound is None else f"{bound:,}",
        "waiting": waits_for,
        "dashboard": markup.link(dashboard) if dashboard else None,
    }
    known = [(name, fact) for name, fact in facts.items() if fact]
    return markup.card("dpbb", "starting", [markup.table(known)])
