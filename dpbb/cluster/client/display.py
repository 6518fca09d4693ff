"""How a run is shown to people: until its end, and as a value in a notebook."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from dpbb.errors import ClusterError
from dpbb.options import SolveOptions
from dpbb.progress import Progress, make_progress, show
from dpbb.progress.page import snapshot_html
from dpbb.text import markup

if TYPE_CHECKING:
    from dpbb.cluster.client.scheduler_calls import SchedulerCalls
    from dpbb.cluster.client.stream import SnapshotStream

logger = logging.getLogger(__name__)

STREAM_S = 0.5
"""Seconds between snapshots when nothing changes."""

REPR_TIMEOUT_S = 3.0
"""A notebook's cell does not wait longer for a scheduler that does not answer."""


class Display:
    """Shows one run until its end, then its result.

    Parameters
    ----------
    progress
        What shows it, or the option of this name.
    stream
        Of the run.
    result
        Gives the run's result, or an awaitable of it.
    dashboard
        Address of the page of the run, if there is one.
    """

    def __init__(
        self,
        progress: Progress | str,
        stream: SnapshotStream,
        result: Callable[[], Any],
        dashboard: str | None,
    ) -> None:
        if not isinstance(progress, Progress):
            chosen = SolveOptions.from_mapping({"progress": progress})
            progress = make_progress(chosen.progress)
        if dashboard is not None:
            progress.note(f"dashboard {dashboard}")
        self._shown = progress
        self._stream = stream
        self._result = result

    def show(self) -> None:
        """Show it here."""
        with closing(self._shown) as shown:
            show(self._stream, shown)
            shown.done(self._result())

    def show_in_thread(self) -> threading.Thread:
        """Show it in a thread, where nobody would catch what is raised."""
        thread = threading.Thread(
            target=self._show_quietly, name="dpbb-watch", daemon=True
        )
        thread.start()
        return thread

    def _show_quietly(self) -> None:
        try:
            self.show()
        except ClusterError as error:  # such as that the handle was closed meanwhile
            logger.debug("a run is watched no more: %s", error)

    def show_async(self, *, block: bool) -> Awaitable[None]:
        """Show it in this event loop; unless it is to ``block``, begin at once."""
        showing = self._show_here()
        return showing if block else asyncio.ensure_future(showing)

    async def _show_here(self) -> None:
        with closing(self._shown) as shown:
            snapshot = None
            async for snapshot in self._stream:
                shown.update(snapshot)
            if snapshot is not None:
                shown.finish(snapshot)
            shown.done(await self._result())


def state_html(
    client: Any, calls: SchedulerCalls, run_id: str, dashboard: str | None
) -> str:
    """Return the state of a run now, or the last that was seen of it, as HTML."""
    why = "nothing is known of it yet"
    if client.status != "running":
        why, dashboard = "its client is closed", None
    elif not client.asynchronous:  # a representation cannot be awaited
        try:
            client.sync(calls.snapshot, callback_timeout=REPR_TIMEOUT_S)
        except (ClusterError, TimeoutError) as error:
            why = str(error) or "the scheduler does not answer"
    if calls.last is not None:
        return snapshot_html(calls.last, dashboard=dashboard)
    return markup.card(run_id, why, [])
