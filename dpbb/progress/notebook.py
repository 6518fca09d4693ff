"""The output of a notebook's cell: one display, updated in place; no widgets.

JupyterLab and VS Code both follow ``update_display_data`` messages of Jupyter's
protocol, which IPython sends when a display has an id.
"""

import time
from typing import Any

from dpbb.coordination.snapshot import Snapshot
from dpbb.progress.base import Progress
from dpbb.progress.page import snapshot_html, start_html
from dpbb.progress.rows import format_row
from dpbb.result import Result

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
