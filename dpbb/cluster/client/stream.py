"""Snapshots of a run: to iterate over, in any loop or none, or for one's functions."""

import asyncio
import inspect
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing
from typing import Any

from dpbb.cluster.client.scheduler_calls import POLL_S, SchedulerCalls
from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import ClusterError
from dpbb.options import SolveOptions
from dpbb.progress import Progress, make_progress, show
from dpbb.progress.notebook import snapshot_html
from dpbb.text import markup

Watch = Callable[[int, float], Awaitable[tuple[int, bool, Snapshot]]]
"""Waits for a change since a version, or so long; gives the version from then on,
whether it is the end, and the state."""


class SnapshotStream:
    """Snapshots of a run, to iterate over once; see ``Run.stream``.

    Parameters
    ----------
    watch, watch_here
        The run's ``watch``, blocking, and awaitable in any event loop.
    interval_s
        Seconds between snapshots when nothing changes.
    """

    def __init__(self, watch: Any, watch_here: Watch, interval_s: float) -> None:
        self._watch = watch
        self._watch_here = watch_here
        self._interval_s = interval_s

    def __iter__(self) -> Iterator[Snapshot]:
        version, finished = -1, False
        while not finished:
            version, finished, snapshot = self._watch(version, self._interval_s)
            yield snapshot

    async def __aiter__(self) -> AsyncIterator[Snapshot]:
        version, finished = -1, False
        while not finished:
            version, finished, snapshot = await self._watch_here(
                version, self._interval_s
            )
            yield snapshot


logger = logging.getLogger(__name__)

Callback = Callable[[Snapshot], object]


class Callbacks:
    """Functions that are called when a number of the run changes.

    ``in_thread``: call them in a thread, as they may block; else here, and await what
    is awaitable.
    """

    def __init__(self, watch: Watch, *, in_thread: bool) -> None:
        self._watch = watch
        self._in_thread = in_thread
        self._callbacks: dict[str, list[Callback]] = {"value": [], "lower_bound": []}
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False

    def add(self, field: str, callback: Callback) -> None:
        """Add a function for ``"value"`` or ``"lower_bound"``."""
        self._callbacks[field].append(callback)

    def start(self) -> None:
        """Follow the run from now on, unless that is done already; in the loop."""
        if self._task is None and not self._cancelled:
            self._task = asyncio.ensure_future(self._follow())

    async def told(self, timeout: float) -> None:
        """Wait, not longer, until they have been told what was found last."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=timeout)

    async def cancel(self) -> None:
        """Call nothing any more."""
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        """Call them, one after the other, until the run is over."""
        known: dict[str, int | None] = {"value": None, "lower_bound": None}
        version, finished = -1, False
        while not finished:
            try:
                version, finished, snapshot = await self._watch(version, POLL_S)
            except ClusterError as error:
                logger.debug("no more callbacks: %s", error)
                return
            for field, callbacks in self._callbacks.items():
                now = getattr(snapshot, field)
                if now is None or now == known[field]:
                    continue
                known[field] = now
                for callback in list(callbacks):
                    await self._call(callback, snapshot)

    async def _call(self, callback: Callback, snapshot: Snapshot) -> None:
        try:
            if self._in_thread:
                await asyncio.to_thread(callback, snapshot)
                return
            answer = callback(snapshot)
            if inspect.isawaitable(answer):
                await answer
        except Exception:
            logger.exception("callback %r of run %s failed", callback, snapshot.run_id)


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
