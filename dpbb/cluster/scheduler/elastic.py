"""Scaling, retiring and idling of a cluster whose work Dask does not see.

Units wait in the coordinators, so adaptive scaling would find nothing to scale for,
and ``idle_timeout`` would close the scheduler under a run whose workers are all gone.
Workers that are retired do not wait for running tasks; ours give their work back first.
Dask may refuse to retire one, whose data has nowhere to go: it gets work again. When a
``SpecCluster`` (such as ``LocalCluster``) scales down or closes, it gives names where
Dask expects addresses: Dask then does nothing, and the cluster closes them itself.
"""

import asyncio
import math
import time
from typing import Any

from distributed import Scheduler
from distributed.core import Status

from dpbb.cluster.internals import keys_of, replace_handlers, stay_awake
from dpbb.cluster.scheduler.hub import Hub
from dpbb.cluster.scheduler.submitter import PREFIX
from dpbb.cluster.timeouts import timeout


class Elastic:
    """Wraps two of the scheduler's handlers and keeps it awake; see the module."""

    def __init__(self, scheduler: Scheduler, hub: Hub) -> None:
        self._scheduler = scheduler
        self._hub = hub
        self._leaving: dict[str, float] = {}  # retired workers: until when they may

    def install(self) -> None:
        """Wrap the handlers."""
        self._dasks = replace_handlers(
            self._scheduler,
            {
                "adaptive_target": self.adaptive_target,
                "retire_workers": self.retire_workers,
            },
        )

    def tick(self) -> None:
        """Keep the scheduler awake, use workers that stay; while a run is open."""
        stay_awake(self._scheduler)
        now, workers = time.monotonic(), self._scheduler.workers
        leaving = self._hub.table.leaving()
        self._leaving = {a: s for a, s in self._leaving.items() if a in leaving}
        self._hub.stay(
            address
            for address in leaving
            if self._leaving.get(address, now) <= now
            and address in workers
            and workers[address].status is Status.running
        )

    def adaptive_target(self, **options: Any) -> int:
        """Return Dask's answer, but never fewer workers than the runs can feed."""
        target: int = self._dasks["adaptive_target"](**options)
        return max(target, self._hub.target_workers())

    async def retire_workers(
        self,
        workers: list[str] | None = None,
        names: list[Any] | None = None,
        **options: Any,
    ) -> Any:
        """Have the workers' seats give back their units, then retire them."""
        wanted = {str(name) for name in [*(workers or []), *(names or [])]}
        addresses = [
            address
            for address, state in self._scheduler.workers.items()
            if address in wanted or str(state.name) in wanted
        ]
        if workers is not None:
            options["workers"] = workers
        if names is not None:
            options["names"] = names
        self._leaving |= dict.fromkeys(addresses, math.inf)
        try:
            self._hub.retire(addresses)
            await self._drained(addresses)
            return await self._dasks["retire_workers"](**options)
        finally:  # those that stay are told by their status, a moment later
            until = time.monotonic() + timeout("close")
            for address in set(addresses).intersection(self._scheduler.workers):
                name = str(self._scheduler.workers[address].name)
                known = address in (workers or ()) or name in map(str, names or ())
                # one that Dask does not know by this name is closed by its cluster
                self._leaving[address] = 0.0 if known else until

    async def _drained(self, addresses: list[str]) -> None:
        """Wait until workers explore nothing and hold nothing of ours, not for ever.

        Dask would not retire the last worker with the result of a future, although it
        is empty and about to be let go, and say so in a warning.
        """
        deadline = time.monotonic() + timeout("drain")
        while time.monotonic() < deadline and (
            not self._hub.busy_workers().isdisjoint(addresses)
            or any(
                key.startswith(PREFIX)  # a future of ours, under way or done
                for address in addresses
                for key in keys_of(self._scheduler, address)
            )
        ):
            await asyncio.sleep(0.005)
