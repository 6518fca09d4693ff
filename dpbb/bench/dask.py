"""What Dask costs: the same tree raw in one process and through a LocalCluster.

The tree is fixed (a cutoff, no heuristics), so all ways explore the same nodes; the
exit code is 1 when the counts differ. Raw and clusters take turns, as machines are
seldom quiet for long. Processes, engines and kernels are warm: what is measured is the
run, from its opening to its result. The share of the seats' time in the engine says
what Dask takes also where other work on the machine blurs the times.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from distributed import Client

from dpbb.bench.common import check_counts, write_json
from dpbb.cluster.client.open import submit_run
from dpbb.coordination.messages import RunId, RunSpec
from dpbb.coordination.outcome import Outcome
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.engines.driver import explore_to_end
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.kernels.cores import physical_cores
from dpbb.options import RunOptions, TreeOptions
from dpbb.tree.work_unit import WorkUnit

RAW_SLICE_S = 0.2
WARM_UP = ("ta030", 2178)
"""A tree that is large enough for every worker to get some of it."""

WARM_UP_RUNS = 20


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes of a problem with LB < cutoff."""

    name: str
    problem: FlowShopProblem
    cutoff: int

    @classmethod
    def of(cls, name: str, cutoff: int) -> Tree:
        """Tree of one of Taillard's instances."""
        return cls(name, FlowShopProblem(taillard_instance(name)), cutoff)


@dataclass(frozen=True, slots=True)
class Done:
    """One exploration of a tree."""

    counts: tuple[int, int]
    units: int
    seats: int
    in_engine: float  # share of the seats' time


@dataclass(frozen=True, slots=True)
class Way:
    """One way to explore the tree, and what every repetition took."""

    name: str
    workers: int
    threads: int
    seconds: list[float] = field(default_factory=list)
    counts: set[tuple[int, int]] = field(default_factory=set)
    units: list[int] = field(default_factory=list)
    in_engine: list[float] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--instance", default="ta021", metavar="NAME")
    parser.add_argument("--cutoff", type=int, default=2297, help="prune LB >= this")
    parser.add_argument("--threads", type=int, default=physical_cores())
    parser.add_argument("--repeat", type=int, default=3, help="runs of each way")
    parser.add_argument("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 if all counts agree."""
    check_counts(args, "repeat", "threads")
    tree = Tree.of(args.instance, args.cutoff)
    ways = measure(tree, args.threads, args.repeat)
    raw = statistics.median(ways[0].seconds)
    print(f"{args.instance}, tree {{LB < {args.cutoff}}}, minmin, engine cpu")
    print(
        "way                  median s   least    most   M nodes/s   over raw   units"
    )
    for way in ways:
        median = statistics.median(way.seconds)
        nodes = max(way.counts)[0]
        print(
            f"{way.name:<15}{median:>9.2f}{min(way.seconds):>8.2f}"
            f"{max(way.seconds):>8.2f}{nodes / median / 1e6:>11.2f}"
            f"{median / raw - 1:>10.1%}{statistics.median(way.in_engine):>11.1%}"
            f"{statistics.median(way.units):>7.0f}"
        )
    counts = set.union(*(way.counts for way in ways))
    print(f"decomposed, leaves: {sorted(counts)}")
    write_json(args.json, _record(tree, args, ways))
    return int(len(counts) != 1)


def measure(tree: Tree, threads: int, repeat: int) -> list[Way]:
    """Explore the tree raw and through two clusters, in turns.

    Returns
    -------
    list of Way
        Raw first; then one worker with all threads, and one worker for each.
    """
    from distributed import Client, LocalCluster

    ways = [
        Way("raw", 0, threads),
        Way(f"1 worker x {threads}", 1, threads),
        Way(f"{threads} workers x 1", threads, 1),
    ]
    explorers: list[Callable[[Tree], Done]] = [partial(_explore_raw, threads)]
    warm_up = Tree.of(*WARM_UP)
    _explore_raw(threads, warm_up)
    with ExitStack() as stack:
        for way in ways[1:]:
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=way.workers,
                    threads_per_worker=way.threads,
                    dashboard_address="127.0.0.1:0",
                )
            )
            client = stack.enter_context(Client(cluster, set_as_default=False))
            client.wait_for_workers(way.workers)
            explorers.append(partial(_explore_dask, client))
            for _ in range(WARM_UP_RUNS):
                if _explore_dask(client, warm_up).seats == way.workers:
                    break
        for _ in range(repeat):
            for way, explore in zip(ways, explorers, strict=True):
                began = time.perf_counter()
                done = explore(tree)
                way.seconds.append(time.perf_counter() - began)
                way.counts.add(done.counts)
                way.units.append(done.units)
                way.in_engine.append(done.in_engine)
    return ways


def _explore_raw(threads: int, tree: Tree) -> Done:
    engine = CpuEngine()
    (device,) = engine.devices(threads)
    session = engine.open(tree.problem, TreeOptions(), device, ub=tree.cutoff)
    try:
        session.load(WorkUnit.whole(tree.problem.n_jobs))
        counters = explore_to_end(session, tree.cutoff, RAW_SLICE_S).counters
    finally:
        session.close()
    return Done((counters.decomposed, counters.leaves), 1, 1, 1.0)


def _explore_dask(client: Client, tree: Tree) -> Done:
    with submit_tree(client, tree.name, tree.cutoff) as opened:
        outcome = opened.result()
    counts = (outcome.counters.decomposed, outcome.counters.leaves)
    seats = len(outcome.seats)
    in_engine = outcome.explore_s / (seats * outcome.seconds)
    return Done(counts, outcome.units, seats, in_engine)


def _record(tree: Tree, args: argparse.Namespace, ways: list[Way]) -> dict[str, Any]:
    """Everything that a figure needs to be believed."""
    (device,) = CpuEngine().devices(args.threads)
    return {
        "instance": args.instance,
        "digest": tree.problem.digest,
        "cutoff": args.cutoff,
        "branching": "minmin",
        "engine": "cpu",
        "device": device.name,
        "threads": args.threads,
        "ways": [{**asdict(way), "counts": sorted(way.counts)} for way in ways],
    }


def submit_tree(client: Client, instance: str, ub: int) -> Any:
    """Submit the minmin tree {LB < ub} to the CPU engine; a Run of an ``Outcome``."""
    spec = RunSpec(
        run_id=RunId(uuid4().hex[:12]),
        problem=FlowShopProblem(taillard_instance(instance)),
        tree=TreeOptions(),
        instance=instance,
        engine="cpu",
        upper_bound=ub,
        options=RunOptions(heuristic_threads=0),
    )
    return submit_run(client, spec, make_result=outcome_itself)


def outcome_itself(outcome: Outcome) -> Any:  # not the user's result
    """Return the outcome in place of a user's result."""
    return outcome
