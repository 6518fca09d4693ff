"""The embedded cluster: a ``LocalCluster`` for one solve on this machine.

One worker process, whose engine uses all physical cores. Start-up is what a short solve
waits for: the worker's interpreter is started first, before Dask is even imported here,
and a run may be submitted before it has joined.
"""

from __future__ import annotations

import logging
import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from dpbb.cluster.worker_process import end, launch
from dpbb.engines.cpu.engine import default_threads
from dpbb.errors import ClusterError, OptionError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from distributed import Client, LocalCluster

    from dpbb.options import TreeOptions
    from dpbb.problem import Problem

HOST = "127.0.0.1"
DASHBOARD_PORT = 8787
CONNECT_S = 10.0


@contextmanager
def embedded_cluster(
    *,
    workers: int = 1,
    threads: int | None = None,
    dashboard_address: str | None = None,
    engine: str = "auto",
    warm_up: tuple[Problem[Any], TreeOptions, int | None] | None = None,
) -> Iterator[tuple[LocalCluster, Client]]:
    """Start a cluster on this machine, and close it at the end of the block.

    Parameters
    ----------
    workers
        Worker processes, which share the cores.
    threads
        Threads in all; default: the physical cores.
    dashboard_address
        Default: port 8787 of this host alone, or a free one if that is taken.
    engine
        Engine that will be asked for; with ``warm_up``.
    warm_up
        Problem, tree and UB of the run to come: the worker loads the engine's code
        for it while the cluster starts.

    Yields
    ------
    LocalCluster, Client
        The client blocks and is not made Dask's default one.

    Raises
    ------
    OptionError
        A number is not at least 1.
    """
    cores = default_threads() if threads is None else threads
    for name, value in (("workers", workers), ("threads", cores)):
        if value < 1:
            raise OptionError(f"{name}: expected at least 1, got {value}")
    with ExitStack() as stack:
        spares = [launch() for _ in range(workers)]
        stack.callback(_end_all, spares)

        # only now: the workers import at the same time
        from distributed import Client, LocalCluster

        from dpbb.cluster.embedded_worker import EmbeddedWorker
        from dpbb.cluster.late_dashboard import attach_later
        from dpbb.cluster.local_worker import encode_warm_up

        started: list[Any] = []
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=max(1, cores // workers),
            worker_class=EmbeddedWorker,
            protocol="tcp://",
            host=HOST,
            dashboard_address=dashboard_address or free_dashboard_address(),
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.ERROR,
            spares=spares,
            on_hopeless=lambda text: _fail_runs(started, text),
            warm_up=None if warm_up is None else encode_warm_up(engine, *warm_up),
        )
        started.append(stack.enter_context(cluster))
        attach_later(cluster.scheduler)
        client = stack.enter_context(Client(cluster, set_as_default=False))
        yield cluster, client


@contextmanager
def connect(address: str) -> Iterator[Client]:
    """Connect to the cluster of a scheduler, for the length of the block.

    Parameters
    ----------
    address
        Such as ``tcp://host:8786``, or the path of a scheduler file (``.json``).

    Raises
    ------
    ClusterError
        Nobody answers there.
    """
    from distributed import Client

    where = {"scheduler_file" if address.endswith(".json") else "address": address}
    try:
        client = Client(**where, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"expected a Dask scheduler at {address}, got {error}; start one with "
            f"`dask scheduler`, or leave the option out for a cluster on this machine"
        ) from error
    with client:
        yield client


def free_dashboard_address() -> str:
    """Return this host's usual dashboard address, or another port if it is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, DASHBOARD_PORT))
        except OSError:
            return f"{HOST}:0"
    return f"{HOST}:{DASHBOARD_PORT}"


def _end_all(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        end(process)


def _fail_runs(clusters: list[Any], text: str) -> None:
    """End the open runs: no worker will come. Called in the scheduler's loop."""
    for cluster in clusters:
        plugin = cluster.scheduler.extensions.get("dpbb")
        for run_id in [] if plugin is None else list(plugin.hub.runs):
            plugin.hub.fail(run_id, ClusterError(text))
