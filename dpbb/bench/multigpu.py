"""One tree through ``dpbb.solve`` on 1, 2, 4, ... GPUs of this host.

For every number of GPUs a cluster of its own with a worker process for each; kernels
are compiled in a first short solve that does not count. The exit code is 1 when
a count is wrong, or not the same on every number of GPUs. With ``--engine cpu`` the
workers have a thread each, and take turns with one process of as many threads and
without Dask: ``over_raw`` is how much longer they take.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING

from dpbb.bench.common import Measurement, add_common, check_counts, explored, report
from dpbb.engines.registry import get_engine
from dpbb.errors import DpbbError
from dpbb.flowshop import FlowShopInstance
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.options import EngineName, TreeOptions
from dpbb.result import Result

if TYPE_CHECKING:
    from distributed import Client, Worker

TREES: dict[str, tuple[str, int, int | None]] = {
    "ta028": ("ta028", 2200, 14_523_918),
    "ta056-short": ("ta056", 3660, 107_404_891),
    "ta056": ("ta056", 3679, 207_683_508_756),
    "vfr30_15_2": ("VFR30_15_2", 2317, 127_665_520_583),
    "vfr30_15_5": ("VFR30_15_5", 2421, 527_625_636_464),
    "vfr30_15_9": ("VFR30_15_9", 2259, 3_401_433_597_652),
}
"""Instance, fixed upper bound, decomposed nodes and leaves (None: not known).

Those of VFR30_15 come from this suite, where 1, 2 and 4 GPUs have found the same (the
largest: 4 GPUs); the literature counts others, by another tie rule.
"""

JOIN_S = 120.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    add_common(parser, TREES, ["ta056"], repeat=1)
    add = parser.add_argument
    text = "numbers of GPUs, in turn"
    add("--gpus", nargs="+", type=int, default=[1, 2], help=text)
    text = "cpu: that many workers with a thread each, also beside one raw process"
    add("--engine", choices=("gpu", "cpu"), default="gpu", help=text)
    add("--limit-s", type=float, default=None, help="end a run then, unproved")
    text = "seconds between full reports of a seat, as of `dpbb solve`"
    add("--checkpoint-interval", type=float, default=30.0, help=text)
    add("--data", metavar="FOLDER", help="benchmark files; default: $DPBB_DATA")
    add("--rows", action="store_true", help="progress rows on stderr")


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless a count is wrong."""
    check_counts(args, "gpus", "repeat")
    return report(measured(args), args.json)


def measured(args: argparse.Namespace) -> Iterator[Measurement]:
    """Explore all trees on a cluster of so many workers each.

    Among the further figures is the efficiency: a GPU's share of the nodes a second
    over that of the first number of GPUs.
    """
    from dpbb.cluster.local import embedded_cluster

    instances = {
        tree: read_instance(TREES[tree][0], data_dir=args.data) for tree in args.trees
    }
    each: dict[str, float] = {}
    for gpus in args.gpus:
        threads = gpus if args.engine == "cpu" else None
        with embedded_cluster(
            workers=gpus, threads=threads, engine=args.engine, dashboard_address=":0"
        ) as (_, client):
            client.wait_for_workers(gpus, JOIN_S)
            for tree, instance in instances.items():
                _warm_up(TREES[tree][1], instance, client, args, gpus)
                one = _measure(tree, instance, client, args, gpus)
                share = one.nodes_per_s / gpus
                one.more["efficiency"] = share / each.setdefault(tree, share)
                yield one


def _warm_up(
    ub: int,
    instance: FlowShopInstance,
    client: Client,
    args: argparse.Namespace,
    seats: int,
) -> None:
    """Wait for all seats, and have each compile and load its code for the tree."""
    problem = FlowShopProblem(instance)
    # a tree of one node, which has the plugins registered
    calm = argparse.Namespace(**{**vars(args), "limit_s": JOIN_S, "rows": False})
    _solve(instance, problem.root_bound, client, calm)
    deadline = time.monotonic() + JOIN_S
    while True:
        opened = client.run(_open_sessions, problem, ub, args.engine)
        found = sum(opened.values())
        if found >= seats:
            return
        if time.monotonic() > deadline:
            raise DpbbError(
                f"expected {seats} seats within {JOIN_S:.0f} s, got {found}; see "
                "`dpbb engines`"
            )
        time.sleep(0.1)


async def _open_sessions(
    problem: FlowShopProblem, ub: int, engine: str, dask_worker: Worker
) -> int:
    """Open and close a session on every seat of a worker; returns how many."""
    import asyncio

    kind = "cuda" if engine == "gpu" else "cpu"
    seats = dask_worker.extensions["dpbb"].seats.values()
    devices = [one.device for one in seats if one.device.kind == kind]
    for device in devices:
        session = await asyncio.to_thread(
            get_engine(engine).open, problem, TreeOptions(), device, ub=ub
        )
        session.close()
    return len(devices)


def _solve(
    instance: FlowShopInstance, ub: int, client: Client, args: argparse.Namespace
) -> Result:
    from dpbb.api import solve

    return solve(
        instance,
        client=client,
        cutoff=ub,
        engine=EngineName(args.engine),
        time_limit_s=args.limit_s,
        checkpoint_interval_s=args.checkpoint_interval,
        verbosity="normal" if args.rows else "quiet",
    )


def _measure(
    tree: str,
    instance: FlowShopInstance,
    client: Client,
    args: argparse.Namespace,
    gpus: int,
) -> Measurement:
    """Explore a tree several times; seconds are those of the calls of ``solve``."""
    _, ub, expected = TREES[tree]
    results, seconds, raw = [], [], []
    for _ in range(args.repeat):
        if args.engine == "cpu":
            cpu, shop = get_engine("cpu"), FlowShopProblem(instance)
            most_s = args.limit_s or math.inf
            found = explored(cpu, cpu.devices(gpus)[0], shop, ub, most_s)
            raw.append(found.seconds)
        began = time.perf_counter()
        results.append(_solve(instance, ub, client, args))
        seconds.append(time.perf_counter() - began)
    last = results[-1]
    whole = all(one.termination == "exhausted" for one in results)
    right = expected is not None and {one.nodes for one in results} == {expected}
    seat_s = max(1e-9, len(last.seats) * last.tree_seconds)
    over = {"over_raw": median(seconds) / median(raw) - 1} if raw else {}
    return Measurement(
        tree=tree,
        instance=instance.name,
        digest=last.digest,
        ub=ub,
        engine=args.engine,
        device=", ".join(last.seats),
        nodes=last.nodes,
        exact=right if whole and expected is not None else None,
        seconds=tuple(seconds),
        more={
            "gpus": gpus,
            "seats": len(last.seats),
            "in_engine": last.explore_seconds / seat_s,
            "units": last.units,
            "donations": last.donations,
            "energy_j": last.energy_j,
            **over,
        },
    )
