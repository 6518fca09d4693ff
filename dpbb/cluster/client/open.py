"""Ways to a run on a cluster: to open one, to list them, to find one again."""

import getpass
import platform
import time
from typing import Any

from distributed import Client
from distributed.protocol import pickle

import dpbb
from dpbb.cluster.client.connect import check_open, needing
from dpbb.cluster.client.run import MakeResult, Run
from dpbb.cluster.rpc import raised, wrap
from dpbb.cluster.scheduler.plugin import DpbbSchedulerPlugin
from dpbb.cluster.versions import check_versions, scheduler_probe
from dpbb.coordination.messages import RunId, RunSpec
from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import ClusterError, OptionError


def submit_run(
    client: Client,
    spec: RunSpec,
    *,
    optima_file: str | None = None,
    saved: bytes | None = None,
) -> Any:
    """Open a run on the client's cluster.

    Parameters
    ----------
    client
        Of the cluster; blocking or asynchronous.
    spec
        The run. It starts as soon as there is a worker.
    optima_file
        With ``all_optima``: where to write the optimal permutations.
    saved
        The checkpoint that it goes on from, in one piece.

    Returns
    -------
    Run, or awaitable of Run
        Awaitable if the client is asynchronous.

    Raises
    ------
    ClusterError
        dpbb is missing or another one on the scheduler or all workers; names the host
        and what to do.
    """
    check_open(client)
    there: Any = client

    async def submit() -> Run:
        await ensure_plugin(client)
        message = {"blob": pickle.dumps(spec), "submitter": _submitter()}
        if saved is not None:
            message["saved"] = wrap(saved)
        with needing(client):
            opened = raised(await there.scheduler.dpbb_open(**message))
        run = Run(client, spec, page=opened["page"])
        if optima_file is not None:
            try:
                await run._write_optima(optima_file)
            except BaseException:
                await run._close(keep=False)
                raise
        return run

    return client.sync(submit)


def list_runs(client: Client) -> Any:
    """Snapshots of all runs that the client's cluster knows, finished ones first.

    Awaitable if the client is asynchronous.
    """
    check_open(client)
    return client.sync(_list_runs, client)


async def _list_runs(client: Any) -> list[Snapshot]:
    await ensure_plugin(client)
    with needing(client):
        answer = raised(await client.scheduler.dpbb_runs())
    return [pickle.loads(entry["snapshot"]) for entry in answer]


def describe_run(client: Client, run_id: RunId) -> Any:
    """Spec of a run, and when it was opened, by ``time.monotonic()``.

    None: the client's cluster has no run of this name. Awaitable if the client is
    asynchronous.
    """
    check_open(client)

    async def describe() -> tuple[RunSpec, float] | None:
        known = [snapshot.run_id for snapshot in await _list_runs(client)]
        return (await _described(client, run_id))[:2] if run_id in known else None

    return client.sync(describe)


async def _described(client: Any, run_id: RunId) -> tuple[RunSpec, float, bool]:
    """Spec of a run, when it was opened, and whether there is a page of it."""
    with needing(client):
        about = raised(await client.scheduler.dpbb_describe(run_id=run_id))
    spec = pickle.loads(about["blob"])
    return spec, time.monotonic() - about["seconds"], about["page"]


def attach_run(
    client: Client,
    run_id: str,
    make_result: MakeResult | None = None,
    optima_file: str | None = None,
) -> Any:
    """Find a run by its name, or by what its name begins with.

    Parameters
    ----------
    make_result
        See ``Run``.
    optima_file
        With ``all_optima``: where to write the optimal permutations, all that the run
        finds and has found.

    Raises
    ------
    ClusterError
        There is none, or there are several.
    OptionError
        The file cannot be written, or the run has no optimal permutations for it.
    """
    check_open(client)

    async def find() -> Run:
        known = [snapshot.run_id for snapshot in await _list_runs(client)]
        found = [name for name in known if name == run_id] or [
            name for name in known if name.startswith(run_id)
        ]
        if len(found) != 1:
            raise ClusterError(
                f"expected the name of one run, or what it begins with, got "
                f"{run_id!r}; there are {', '.join(found or known) or 'none'}"
            )
        name = RunId(found[0])
        spec, _, page = await _described(client, name)
        run = Run(client, spec, make_result, attached=True, page=page)
        if optima_file is not None:
            if not spec.options.all_optima:
                raise OptionError(
                    f"optima_file: expected a run with all_optima, got {name} without"
                )
            await run._write_optima(optima_file)
        return run

    return client.sync(find)


async def ensure_plugin(client: Client) -> None:
    """Check the scheduler's dpbb and register the plugin, if it is not there."""
    with needing(client):
        found = await client.run_on_scheduler(scheduler_probe())
        check_versions(found, f"the scheduler {found['address']}")
        if not found["registered"]:
            await client.register_plugin(DpbbSchedulerPlugin())


def _submitter() -> str:
    """Who asks for a run, for people: user, host, dpbb."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container without a name for its user
        user = "somebody"
    return f"{user} on {platform.node()}, dpbb {dpbb.__version__}"
