"""Preload: ``dask scheduler --preload dpbb.cluster.preload``, the same for workers.

A preloaded scheduler has the plugin before the first client comes, and gives it to
every worker. With ``dpbb.resume`` in Dask's configuration (or ``DASK_DPBB__RESUME`` in
its environment), a folder of checkpoints or of such folders, runs go on that were cut
off when a scheduler ended. A preloaded worker has the engines imported before its first
unit.
"""

import dask
from distributed import Nanny, Scheduler, Worker

from dpbb.cluster.local.process import show_messages
from dpbb.cluster.scheduler.plugin import DpbbSchedulerPlugin
from dpbb.cluster.scheduler.restoring import CONFIG
from dpbb.engines.registry import available_engines


async def dask_setup(server: Scheduler | Worker | Nanny) -> None:
    """Set up a scheduler or worker that is starting."""
    show_messages()
    if isinstance(server, Scheduler):
        # not register_scheduler_plugin: the scheduler starts its plugins itself
        folder = dask.config.get(CONFIG, None)
        resume = None if folder is None else str(folder)
        server.add_plugin(DpbbSchedulerPlugin(resume), idempotent=True)
    else:
        available_engines()
