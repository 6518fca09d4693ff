"""The embedded cluster: a ``LocalCluster`` for one solve on this machine.

One worker process, whose engine uses all physical cores, or one for each GPU. Start-up
is what a short solve waits for: the workers' interpreters are started first, before
Dask is even imported here, and a run may be submitted before they have joined.
"""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from dpbb.cluster.local.process import end, ignore_dasks_warnings, launch
from dpbb.cluster.worker.gpus import plan_workers
from dpbb.errors import ClusterError, OptionError
from dpbb.kernels.cores import physical_cores
from dpbb.options import TreeOptions
from dpbb.problem import Problem

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

HOST = "127.0.0.1"
DASHBOARD = f"{HOST}:8787"
CLIENT_S = 120.0
"""A client of the new cluster is there by then, also on a busy machine."""


@contextmanager
def embedded_cluster(
    *,
    workers: int | None = None,
    threads: int | None = None,
    dashboard_address: str = DASHBOARD,
    engine: str = "auto",
    warm_up: tuple[Problem[Any], TreeOptions] | None = None,
    unwanted: Callable[[], bool] = lambda: False,
    launched: Callable[[], object] = lambda: None,
) -> Iterator[tuple[LocalCluster, Client]]:
    """Start a cluster on this machine, and close it at the end of the block.

    Parameters
    ----------
    workers
        Worker processes, which share the cores; each has a GPU of its own where the
        engine can use one. Default: one for each visible GPU, or one without any.
    threads
        Threads in all; default: the physical cores.
    dashboard_address
        Default: port 8787 of this host alone; a free one if that is taken.
    engine
        Engine that will be asked for; with ``warm_up``.
    warm_up
        Problem and tree of the run to come: the worker loads the engine's code for
        it while the cluster starts.
    unwanted
        Polled while it starts: True ends that with a ClusterError.
    launched
        Called when the workers' processes have begun to import what they need, before
        this one does: for what is to come first here.

    Yields
    ------
    LocalCluster, Client
        The client blocks and is not made Dask's default one.

    Raises
    ------
    OptionError
        A number is not at least 1.
    """
    cores = physical_cores() if threads is None else threads
    if cores < 1:
        raise OptionError(f"threads: expected at least 1, got {cores}")
    environs = plan_workers(workers, engine, *(warm_up or ()))
    with ExitStack() as stack:
        ignore_dasks_warnings()
        spares: dict[int, subprocess.Popen[bytes]] = {}
        stack.callback(lambda: _end_all(spares.values()))
        for number, environ in enumerate(environs):
            spares[number] = launch(environ)
        launched()

        # only now: the workers import at the same time
        import cloudpickle
        from distributed import LocalCluster

        from dpbb.cluster.local.nanny import EmbeddedWorker
        from dpbb.cluster.scheduler.page import attach_when_asked

        if unwanted():
            raise ClusterError(
                "expected a use of the cluster, got none while it started"
            )
        started: list[Any] = []
        # the problem's class may be one of the user's script or notebook: by value
        message = None if warm_up is None else cloudpickle.dumps((engine, *warm_up))
        stack.enter_context(quiet_dask())
        cluster = LocalCluster(
            n_workers=len(environs),
            threads_per_worker=max(1, cores // len(environs)),
            worker_class=EmbeddedWorker,
            protocol="tcp://",
            host=HOST,
            dashboard_address=dashboard_address,
            scheduler_kwargs={"dashboard": False},
            silence_logs=False,
            spares=spares,
            environs=environs,
            on_hopeless=lambda text: _fail_runs(started, text),
            warm_up=message,
        )
        started.append(stack.enter_context(cluster))
        attach_when_asked(cluster.scheduler)
        yield cluster, stack.enter_context(_client(cluster))


def _client(cluster: LocalCluster) -> Client:
    from dpbb.cluster.internals import client_in_time

    try:
        return client_in_time(cluster, CLIENT_S)
    except TimeoutError as error:
        raise ClusterError(
            f"expected the cluster on this machine to answer within {CLIENT_S:g} s, "
            "got no answer: it was closed, or its event loop is blocked"
        ) from error


def _end_all(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.kill()  # nobody has told it what to do
        end(process)


def _fail_runs(clusters: list[Any], text: str) -> None:
    """End the open runs: no worker will come. Called in the scheduler's loop."""
    for cluster in clusters:
        plugin = cluster.scheduler.extensions.get("dpbb")
        for run_id in [] if plugin is None else list(plugin.hub.runs):
            plugin.hub.fail(run_id, ClusterError(text))


_LOGGERS = ("distributed", "bokeh")
_lock = Lock()
_open = 0
_restore = ExitStack()


@contextmanager
def quiet_dask() -> Iterator[None]:
    """Let Dask log errors only, for the length of the block.

    Blocks of several threads may overlap and end in any order, unlike those of
    ``LocalCluster(silence_logs=...)``: the last one that ends restores the levels.
    """
    global _open
    from distributed.utils import silence_logging_cmgr

    with _lock:
        _open += 1
        if _open == 1:
            for name in _LOGGERS:
                _restore.enter_context(silence_logging_cmgr(logging.ERROR, name))
    try:
        yield
    finally:
        with _lock:
            _open -= 1
            if not _open:
                _restore.close()
