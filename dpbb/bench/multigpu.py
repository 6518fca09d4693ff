"""One tree through ``dpbb.solve`` on 1, 2, 4, ... GPUs of this host.

For every number of GPUs a cluster of its own with a worker process for each; kernels
are compiled in a first short solve that does not count. The exit code is 1 when
a count is wrong, or not the same on every number of GPUs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbb.bench.common import check_counts, differ, write_json
from dpbb.engines.registry import engines_by_kind
from dpbb.errors import DpbbError
from dpbb.flowshop import FlowShopInstance
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.options import EngineName, TreeOptions
from dpbb.result import Result

if TYPE_CHECKING:
    from distributed import Client, LocalCluster, Worker

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

PUBLISHED = """\
published (J. Gmys, INFORMS Journal on Computing 34(5), 2022), one V100 (another tie
rule, by which trees have up to 1.6 times as many nodes, or as few):
  vfr30_15_2    122 G nodes,  0:54 h, 0.0376 G nodes/s
  vfr30_15_5    564 G nodes,  4:22 h, 0.0358 G nodes/s
  vfr30_15_9  3,660 G nodes, 27:23 h, 0.0371 G nodes/s
at least 90 % efficient up to 16, 32, 64 GPUs (in this order); 84, 89, 89 % on 32, 64,
128, from where on its coordinator is saturated; 384 GPUs 215 times one on the third"""
"""Its Table 2 and Figure 10."""

JOIN_S = 120.0


@dataclass(frozen=True, slots=True)
class Measurement:
    """One exploration of a whole tree at a fixed upper bound.

    Parameters
    ----------
    nodes, exact
        Decomposed nodes and leaves; whether that is the known number, None where it
        is not known or the time limit came first.
    wall_s
        The call of ``dpbb.solve`` with a client of the warm cluster.
    nodes_per_s, efficiency
        Over ``wall_s``; and a GPU's share of it over that of the first number of GPUs.
    in_engine
        Share of the seats' time that was spent in the engine.
    loop_s, process_s
        CPU time of the scheduler's event loop, and of the whole process that holds
        scheduler, coordinator, checks of reports, and client.
    energy_j
        Of the GPUs during their leases, by NVML; None if they do not say.
    """

    tree: str
    instance: str
    digest: str
    ub: int
    engine: str
    gpus: int
    seats: int
    repetition: int
    nodes: int
    complete: bool
    exact: bool | None
    wall_s: float
    nodes_per_s: float
    efficiency: float
    in_engine: float
    units: int
    donations: int
    loop_s: float
    process_s: float
    energy_j: float | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument(
        "--trees", nargs="+", choices=TREES, default=["ta056"], help="which trees"
    )
    parser.add_argument(
        "--gpus", nargs="+", type=int, default=[1, 2], help="numbers of GPUs, in turn"
    )
    parser.add_argument(
        "--engine",
        choices=("gpu", "cpu"),
        default="gpu",
        help="cpu: that many worker processes with a thread each, to try the suite",
    )
    parser.add_argument("--repeat", type=int, default=1, help="runs of each tree")
    parser.add_argument(
        "--limit-s", type=float, default=None, help="end a run then, unproved"
    )
    parser.add_argument(
        "--checkpoint-interval",
        type=float,
        default=30.0,
        help="seconds between full reports of a seat, as of `dpbb solve`",
    )
    parser.add_argument(
        "--data", metavar="FOLDER", help="benchmark files; default: $DPBB_DATA"
    )
    parser.add_argument("--rows", action="store_true", help="progress rows on stderr")
    parser.add_argument("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless a count is wrong."""
    return int(wrong(measured(args)))


def measured(args: argparse.Namespace) -> list[Measurement]:
    """Measure, print and write; trees that are published come with these figures."""
    check_counts(args, "gpus", "repeat")
    instances = {
        tree: read_instance(TREES[tree][0], data_dir=args.data) for tree in args.trees
    }
    results: list[Measurement] = []
    print(HEADER, flush=True)
    for gpus in args.gpus:
        results += _measure_cluster(gpus, instances, args, results)
        write_json(args.json, results)
    if any(tree.startswith("vfr") for tree in args.trees):
        print(f"\n{PUBLISHED}")
    return results


def wrong(results: Sequence[Measurement]) -> bool:
    """Whether a count is wrong, or not the same on every number of GPUs."""
    whole = [(one.tree, one.nodes) for one in results if one.complete]
    return differ(whole) or any(one.exact is False for one in results)


def _measure_cluster(
    gpus: int,
    instances: dict[str, FlowShopInstance],
    args: argparse.Namespace,
    before: Sequence[Measurement],
) -> list[Measurement]:
    """Explore all trees on a cluster of so many workers."""
    from dpbb.cluster.local import embedded_cluster

    threads = gpus if args.engine == "cpu" else None
    found: list[Measurement] = []
    with embedded_cluster(
        workers=gpus, threads=threads, engine=args.engine, dashboard_address=":0"
    ) as (cluster, client):
        client.wait_for_workers(gpus, JOIN_S)
        for tree, instance in instances.items():
            _warm_up(tree, instance, cluster, client, args, gpus)
            for repetition in range(args.repeat):
                one = _measure(tree, instance, cluster, client, args, repetition, gpus)
                one = _with_efficiency(one, [*before, *found])
                found.append(one)
                print(_row(one), flush=True)
    return found


def _warm_up(
    tree: str,
    instance: FlowShopInstance,
    cluster: LocalCluster,
    client: Client,
    args: argparse.Namespace,
    seats: int,
) -> None:
    """Wait for all seats, and have each compile and load its code for the tree."""
    problem = FlowShopProblem(instance)
    # a tree of one node, which has the plugins registered
    calm = argparse.Namespace(**{**vars(args), "limit_s": JOIN_S, "rows": False})
    _solve(instance, problem.root_bound, client, calm)
    scheduler: Any = cluster.scheduler
    table = scheduler.extensions["dpbb"].hub.table
    kinds = engines_by_kind(args.engine, problem, TreeOptions())
    deadline = time.monotonic() + JOIN_S
    while len(found := table.usable_by(kinds)) < seats:
        if time.monotonic() > deadline:
            raise DpbbError(
                f"expected {seats} seats within {JOIN_S:.0f} s, got {len(found)}: "
                f"{', '.join(seat.id for seat in found)}; see `dpbb engines`"
            )
        time.sleep(0.1)
    client.run(_open_sessions, problem, TREES[tree][1], args.engine)


async def _open_sessions(
    problem: FlowShopProblem, ub: int, engine: str, dask_worker: Worker
) -> None:
    """Open and close a session on every seat of a worker."""
    import asyncio

    from dpbb.engines.registry import get_engine

    kind = "cuda" if engine == "gpu" else "cpu"
    for sessions in dask_worker.extensions["dpbb"].seats.values():
        if sessions.device.kind == kind:
            session = await asyncio.to_thread(
                get_engine(engine).open, problem, TreeOptions(), sessions.device, ub=ub
            )
            session.close()


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
    cluster: LocalCluster,
    client: Client,
    args: argparse.Namespace,
    repetition: int,
    gpus: int,
) -> Measurement:
    _, ub, expected = TREES[tree]
    loop_s, process_s = _loop_time(cluster), time.process_time()
    began = time.perf_counter()
    result = _solve(instance, ub, client, args)
    wall_s = time.perf_counter() - began
    loop_s, process_s = _loop_time(cluster) - loop_s, time.process_time() - process_s
    complete = result.termination == "exhausted"
    exact = result.nodes == expected if complete and expected is not None else None
    seat_s = max(1e-9, len(result.seats) * result.tree_seconds)
    return Measurement(
        tree=tree,
        instance=instance.name,
        digest=result.digest,
        ub=ub,
        engine=args.engine,
        gpus=gpus,
        seats=len(result.seats),
        repetition=repetition,
        nodes=result.nodes,
        complete=complete,
        exact=exact,
        wall_s=wall_s,
        nodes_per_s=result.nodes / wall_s,
        efficiency=1.0,
        in_engine=result.explore_seconds / seat_s,
        units=result.units,
        donations=result.donations,
        loop_s=loop_s,
        process_s=process_s,
        energy_j=result.energy_j,
    )


def _with_efficiency(one: Measurement, before: Sequence[Measurement]) -> Measurement:
    """Compare with the first measurement of the tree, GPU by GPU."""
    first = next((other for other in before if other.tree == one.tree), one)
    each, base = one.nodes_per_s / one.gpus, first.nodes_per_s / first.gpus
    return replace(one, efficiency=each / base if base else 0.0)


def _loop_time(cluster: LocalCluster) -> float:
    """CPU seconds of the thread of the scheduler's event loop so far."""

    async def look() -> float:
        return time.thread_time()

    seconds: Any = cluster.sync(look)
    return float(seconds)


HEADER = (
    "tree        gpus seats           nodes exact  wall s G nodes/s   eff. engine"
    "  units donations loop s process s  energy J"
)


def _row(one: Measurement) -> str:
    exact = {True: "yes", False: "NO", None: "-" if one.complete else "part"}
    energy = "-" if one.energy_j is None else f"{one.energy_j:.0f}"
    return (
        f"{one.tree:<12}{one.gpus:>4}{one.seats:>6}{one.nodes:>16}{exact[one.exact]:>6}"
        f"{one.wall_s:>8.2f}{one.nodes_per_s / 1e9:>10.3f}{one.efficiency:>7.1%}"
        f"{one.in_engine:>7.1%}{one.units:>7}{one.donations:>10}{one.loop_s:>7.2f}"
        f"{one.process_s:>10.2f}{energy:>10}"
    )
