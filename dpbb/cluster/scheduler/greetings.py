"""Giving the worker plugin to the workers that are there when a scheduler's starts.

Each in a task of its own: one that is frozen or dies must not keep the others waiting,
nor whoever opens the first run. A worker that joins later gets the plugin by Dask.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Scheduler

logger = logging.getLogger(__name__)

AGAIN_S = 1.0
"""A worker that could not be reached, and is still there, is tried again."""


class Greetings:
    """Sends a worker plugin to all workers of a scheduler.

    Parameters
    ----------
    scheduler
        Of this process. Workers that join from now on get the plugin when they do.
    name, plugin
        The plugin, pickled.
    """

    def __init__(self, scheduler: Scheduler, name: str, plugin: bytes) -> None:
        self._scheduler = scheduler
        self._message = {"plugin": plugin, "name": name}
        scheduler.worker_plugins[name] = plugin
        self._tasks = {
            asyncio.create_task(self._greet(address)) for address in scheduler.workers
        }

    async def all(self, most_s: float) -> None:
        """Wait until all workers have it, but not for ever; who lags gets it later."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=most_s)

    async def close(self) -> None:
        """Greet nobody any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _greet(self, address: str) -> None:
        """Send the plugin to one worker, again until it is there or the worker gone."""
        while address in self._scheduler.workers:
            add: Any = getattr(self._scheduler.rpc(address), "plugin-add")
            try:
                await add(**self._message)
            except OSError as error:
                logger.info("worker %s cannot be greeted yet: %s", address, error)
                await asyncio.sleep(AGAIN_S)
            else:
                return
