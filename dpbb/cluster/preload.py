"""Preload: ``dask scheduler --preload dpbb.cluster.preload``, the same for workers.

A preloaded scheduler has the plugin before the first client comes, and gives it to
every worker. With ``dpbb.resume`` in Dask's configuration (or ``DASK_DPBB__RESUME`` in
its environment), a folder of checkpoints or of such folders, runs go on that were cut
off when a scheduler ended. A preloaded worker has the engines imported before its first
unit.
"""

import logging

import dask
from distributed import Nanny, Scheduler, Worker

from dpbb.cluster.scheduler.plugin import DpbbSchedulerPlugin
from dpbb.cluster.scheduler.restoring import CONFIG
from dpbb.engines.registry import available_engines


async def dask_setup(server: Scheduler | Worker | Nanny) -> None:
    """Set up a scheduler or worker that is starting."""
    show_warnings(logging.getLogger("dpbb"), logging.getLogger("distributed"))
    if isinstance(server, Scheduler):
        # not register_scheduler_plugin: the scheduler starts its plugins itself
        folder = dask.config.get(CONFIG, None)
        resume = None if folder is None else str(folder)
        server.add_plugin(DpbbSchedulerPlugin(resume), idempotent=True)
    else:
        available_engines()


def show_warnings(ours: logging.Logger, theirs: logging.Logger) -> None:
    """Show dpbb's warnings and errors where Dask shows its own messages.

    A library is silent unless asked, but whoever looks after a cluster has to learn
    that a run does not go on. Does nothing where the log is set up otherwise.
    """
    if all(isinstance(handler, logging.NullHandler) for handler in ours.handlers):
        for handler in theirs.handlers:
            ours.addHandler(handler)
        ours.propagate = theirs.propagate
        if ours.level == logging.NOTSET:
            ours.setLevel(logging.WARNING)
