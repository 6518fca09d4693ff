"""The worker plugin as it travels: harmless on a worker that has no dpbb.

Dask hands a scheduler's worker plugins to every worker that joins, and a plugin that
cannot be unpickled keeps the worker from joining at all. So what travels is a small
plugin pickled by value, which loads the real one, or tells the scheduler why not.
"""

from typing import Any

import cloudpickle
from distributed.diagnostics.plugin import WorkerPlugin


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
