"""Functions of the user that are called when a run finds something."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from dpbb.cluster.client.scheduler_calls import POLL_S
from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import ClusterError

if TYPE_CHECKING:
    from dpbb.cluster.client.stream import Watch

logger = logging.getLogger(__name__)

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
