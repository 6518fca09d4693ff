"""A run in a notebook: its state as HTML, one display, updated in place; no widgets.

JupyterLab and VS Code both follow ``update_display_data`` messages of Jupyter's
protocol, which IPython sends when a display has an id.
"""

import time
from typing import Any

from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.progress.base import NO_RUN, SnapshotProgress
from dpbb.progress.words import (
    details,
    facts,
    format_seconds,
    outlook,
    state_kind,
    state_word,
)
from dpbb.result import Result
from dpbb.text import markup

PAUSE_S = 0.5
"""Between updates: each is a message to every browser, and stays with the kernel."""


class NotebookProgress(SnapshotProgress):
    """Shows a run in the cell that is executed, and at the end its result.

    Where the result is the value of the cell, too, the notebook shows it anyway, and
    nothing remains of the display.
    """

    def __init__(self) -> None:
        super().__init__()
        self._handle: Any = None
        self._updated = float("-inf")
        self._shown = self.last
        self._result: Result | None = None
        import IPython

        # what says that a cell has ended; None outside of IPython
        self._events: Any = getattr(IPython.get_ipython(), "events", None)
        if self._events is not None:
            self._events.register("post_run_cell", self._cell_ended)

    def note(self, text: str) -> None:
        """Keep the address of the dashboard; the rest is of no use in a notebook."""
        super().note(text)
        self._show(ended=False)

    def _show(self, *, ended: bool) -> None:
        """Show the run, twice a second at most, but at once what it waits for."""
        waits = self.last.waits_for != self._shown.waits_for
        if not (ended or waits or time.monotonic() - self._updated >= PAUSE_S):
            return
        self._shown = self.last
        page = snapshot_html(self.last, dashboard=self.dashboard)
        words = [_title(self.last)]
        words += [f"{name} {value}" for name, value in _rows(self.last)]
        self._display(page, ", ".join(words))

    def done(self, result: Result) -> None:
        """Show the result instead."""
        self._result = result
        self._display(result._repr_html_(), result.summary())

    def close(self) -> None:
        """Show the last state that was seen, if the result has not come."""
        if self._shown is not self.last and self._result is None:
            self._show(ended=True)

    def _cell_ended(self, cell: Any) -> None:  # IPython's
        """Leave a result that is the value of the cell to the notebook.

        Only at the end of a cell one knows what its value is.
        """
        self._events.unregister("post_run_cell", self._cell_ended)
        value = getattr(cell, "result", None)
        if isinstance(value, Result) and value == self._result:
            self._display("", "")

    def _display(self, page: str, text: str) -> None:
        import IPython.display as ipython  # untyped functions

        self._updated = time.monotonic()
        content = {"text/html": page, "text/plain": text}
        if self._handle is None:
            self._handle = ipython.display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def snapshot_html(snapshot: Snapshot, *, dashboard: str | None = None) -> str:
    """Return the state of a run, as a box of facts.

    ``dashboard``: address of the page that shows the run live.
    """
    rows: list[tuple[str, object]] = [*_rows(snapshot)]
    if dashboard:
        rows.append(("dashboard", markup.link(dashboard)))
    label = _title(snapshot)
    if snapshot.run_id != NO_RUN:
        label = f"run {snapshot.run_id}, {label}"
    color = markup.GOOD if state_kind(snapshot) == "proved" else markup.GOING
    if snapshot.error is not None or snapshot.state is RunState.FAILED:
        color = markup.BAD
    return markup.card(
        snapshot.instance or "dpbb", label, [markup.table(rows)], color=color
    )


def _title(snapshot: Snapshot) -> str:
    if snapshot.run_id == NO_RUN:
        return state_word(snapshot)
    return f"{state_word(snapshot)}, {format_seconds(snapshot.seconds)}"


def _rows(snapshot: Snapshot) -> list[tuple[str, str]]:
    return [*outlook(snapshot), *facts(snapshot), *details(snapshot)]
