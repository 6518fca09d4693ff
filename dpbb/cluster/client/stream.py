"""Following a run from a client: callbacks, and snapshots to iterate over."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

logger = logging.getLogger(__name__)

POLL_S = 10.0
"""A waiting call is answered by the scheduler at least this often."""

Watch = Callable[[int, float], Awaitable[tuple[int, bool, Snapshot]]]
"""Waits for a change since a version, or so long; gives the version from then on,
whether it is the end, and the state."""

Callback = Callable[[Snapshot], object]


class Callbacks:
    """Functions that are called when a number of the run changes.

    Parameters
    ----------
    watch
        Of the run.
    in_thread
        Call them in a thread, as they may block; else here, and await what is
        awaitable.
    """

    def __init__(self, watch: Watch, *, in_thread: bool) -> None:
        self._watch = watch
        self._in_thread = in_thread
        self._callbacks: dict[str, list[Callback]] = {"value": [], "lower_bound": []}

    def add(self, field: str, callback: Callback) -> None:
        """Add a function for ``"value"`` or ``"lower_bound"``."""
        self._callbacks[field].append(callback)

    async def follow(self) -> None:
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
