"""What the scheduler sends to a worker: the plugin, and a task for each unit.

The plugin is harmless on a worker that has no dpbb.

Dask hands a scheduler's worker plugins to every worker that joins, and a plugin that
cannot be unpickled keeps the worker from joining at all. So what travels is a small
plugin pickled by value, which loads the real one, or tells the scheduler why not.

A task carries ids, not intervals, and leases its unit when it starts: one that is run
again by Dask, or comes late, leases nothing. It returns next to nothing, as a result
that is held lives on a worker and would be computed again when that worker dies.
"""

from typing import Any

import cloudpickle
from distributed import get_worker
from distributed.diagnostics.plugin import WorkerPlugin

from dpbb.coordination.messages import Assignment, RunId
from dpbb.errors import ClusterError


def worker_plugin_bytes() -> bytes:
    """Pickle the loader by value; needs only ``distributed`` to be loaded."""

    class DpbbLoader(WorkerPlugin):
        name = "dpbb"
        plugin: Any = None

        async def setup(self, worker: Any) -> None:
            import socket

            try:
                from dpbb.cluster.worker.plugin import DpbbWorkerPlugin
            except Exception as error:  # noqa: BLE001 - any failure is the answer
                found = {
                    "error": f"{type(error).__name__}: {error}",
                    "host": socket.gethostname(),
                }
                await worker.scheduler.dpbb_hello(
                    worker=worker.address,
                    nthreads=worker.state.nthreads,
                    versions=found,
                    seats=[],
                )
                return
            self.plugin = DpbbWorkerPlugin()
            await self.plugin.setup(worker)

        async def teardown(self, worker: Any) -> None:
            if self.plugin is not None:
                await self.plugin.teardown(worker)

    return cloudpickle.dumps(DpbbLoader())


def explore(run_id: RunId, given: Assignment) -> None:
    """Lease the unit and explore it on a seat of this worker."""
    worker = get_worker()
    plugin = worker.extensions.get("dpbb")
    if plugin is None or given.seat not in plugin.seats:
        raise ClusterError(
            f"expected seat {given.seat} on worker {worker.address}, which has "
            f"announced {sorted(plugin.seats) if plugin else 'none'}; restart the "
            "worker"
        )
    plugin.explore(run_id, given)
