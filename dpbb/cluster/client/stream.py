"""Snapshots of a run: to iterate over, in any loop or none, or for one's functions."""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import ClusterError

Poll = Callable[[int, float], Awaitable[tuple[int, bool, Snapshot]]]
"""Waits for a change since a version, or so long; gives the version from then on,
whether it is the end, and the state."""

Callback = Callable[[Snapshot], object]

POLL_S = 10.0
"""A waiting call is answered by the scheduler at least this often."""

logger = logging.getLogger(__name__)


class SnapshotStream:
    """Snapshots of a run, to iterate over once; see ``Run.stream``.

    Parameters
    ----------
    poll, poll_here
        The run's ``poll``, blocking, and awaitable in any event loop.
    interval_s
        Seconds between snapshots when nothing changes.
    """

    def __init__(self, poll: Any, poll_here: Poll, interval_s: float) -> None:
        self._poll = poll
        self._poll_here = poll_here
        self._interval_s = interval_s

    def __iter__(self) -> Iterator[Snapshot]:
        version, finished = -1, False
        while not finished:
            version, finished, snapshot = self._poll(version, self._interval_s)
            yield snapshot

    async def __aiter__(self) -> AsyncIterator[Snapshot]:
        version, finished = -1, False
        while not finished:
            version, finished, snapshot = await self._poll_here(
                version, self._interval_s
            )
            yield snapshot


class Callbacks:
    """Functions that are called when a number of the run changes.

    ``in_thread``: call them in a thread, as they may block; else here, and await what
    is awaitable.
    """

    def __init__(self, poll: Poll, *, in_thread: bool) -> None:
        self._snapshots = SnapshotStream(None, poll, POLL_S)
        self._in_thread = in_thread
        self._callbacks: dict[str, list[Callback]] = {"value": [], "lower_bound": []}
        self._failed: set[Callback] = set()
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
        try:
            async for snapshot in self._snapshots:
                for field, callbacks in self._callbacks.items():
                    now = getattr(snapshot, field)
                    if now is None or now == known[field]:
                        continue
                    known[field] = now
                    for callback in list(callbacks):
                        await self._call(callback, snapshot)
        except ClusterError as error:
            logger.debug("no more callbacks: %s", error)

    async def _call(self, callback: Callback, snapshot: Snapshot) -> None:
        try:
            if self._in_thread:
                await asyncio.to_thread(callback, snapshot)
                return
            answer = callback(snapshot)
            if inspect.isawaitable(answer):
                await answer
        except Exception as error:  # noqa: BLE001 - the others are called
            if callback not in self._failed:  # asyncio says it where nobody logs, too
                self._failed.add(callback)
                said = f"callback {callback!r} of run {snapshot.run_id} failed"
                told = {"message": said, "exception": error}
                asyncio.get_running_loop().call_exception_handler(told)
