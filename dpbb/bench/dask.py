"""What Dask costs: the same tree raw in one process and through a LocalCluster.

The tree is fixed (a cutoff, no heuristics), so all ways explore the same nodes; the
exit code is 1 when the counts differ. Raw and clusters take turns, as machines are
seldom quiet for long. Processes, engines and kernels are warm: what is measured is the
run, from its opening to its result. The share of the seats' time in the engine says
what Dask takes also where other work on the machine blurs the times; the hand-over is
how long a freed seat waits for its next unit, as the scheduler sees it.
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

import numpy as np
from distributed import Client, LocalCluster

from dpbb.bench.common import check_counts, explored, write_json
from dpbb.cluster.client.open import submit_run
from dpbb.coordination.ledger import Checked, CheckedGift
from dpbb.coordination.messages import (
    Lease,
    LeaseId,
    Order,
    Report,
    RunId,
    RunSpec,
    SeatId,
    UnitId,
)
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.kernels.cores import physical_cores
from dpbb.options import TreeOptions, Tuning

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
    gaps_s: list[float] = field(default_factory=list)


class Watch:
    """Notes how long the seats of a hub are free, in seconds, if they go on at all.

    A seat is freed by the last report of its unit and is at work again when it leases
    the next one of the same run, or gets it with the answer: all on the hub's clock.
    """

    def __init__(self, hub: Any, gaps_s: list[float]) -> None:
        self._hub, self._gaps_s = hub, gaps_s
        # by run, too: seats have the same names in the next one
        self._freed: dict[tuple[RunId, SeatId], float] = {}
        self._report, self._lease = hub.on_report, hub.lease
        hub.on_report, hub.lease = self._on_report, self._on_lease
        shell = hub._shell
        self._answer = shell.answer
        shell.answer = self._on_answer

    def _on_report(
        self, run_id: RunId, report: Report, checked: Checked | CheckedGift | None
    ) -> Order:
        run = self._hub.runs.get(run_id)
        seat = None if run is None else run.lease_seats.get(report.lease)
        if seat is not None and report.full is not None and report.full.last:
            self._freed[run_id, seat] = time.perf_counter()
        order: Order = self._report(run_id, report, checked)
        if seat is not None and order.next is not None:
            self._went_on(run_id, seat)
        return order

    def _on_answer(self, run_id: RunId, lease: LeaseId, order: Order) -> None:
        """Note an answer that was held back until there was a unit."""
        self._answer(run_id, lease, order)
        if order.next is not None:
            seats = self._hub.runs[run_id].lease_seats
            self._went_on(run_id, seats[order.next.id])

    def _on_lease(
        self, run_id: RunId, unit: UnitId, attempt: int, seat: SeatId
    ) -> Lease:
        lease: Lease = self._lease(run_id, unit, attempt, seat)
        self._went_on(run_id, seat)
        return lease

    def _went_on(self, run_id: RunId, seat: SeatId) -> None:
        freed = self._freed.pop((run_id, seat), None)
        if freed is not None:
            self._gaps_s.append(time.perf_counter() - freed)


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
        "way                  median s   least    most   M nodes/s   over raw  engine"
        "   units  hand-over (90 % below)"
    )
    for way in ways:
        median = statistics.median(way.seconds)
        nodes = max(way.counts)[0]
        print(
            f"{way.name:<15}{median:>9.2f}{min(way.seconds):>8.2f}"
            f"{max(way.seconds):>8.2f}{nodes / median / 1e6:>11.2f}"
            f"{median / raw - 1:>10.1%}{statistics.median(way.in_engine):>11.1%}"
            f"{statistics.median(way.units):>7.0f}  {gap_text(way.gaps_s)}"
        )
    counts = set.union(*(way.counts for way in ways))
    print(f"decomposed, leaves: {sorted(counts)}")
    write_json(args.json, _record(tree, args, ways))
    return int(len(counts) != 1)


def gap_text(gaps_s: list[float]) -> str:
    """Median of the hand-overs, and what 90 % of them are below, in milliseconds."""
    if not gaps_s:
        return "-"
    median, most = 1e3 * np.quantile(gaps_s, (0.5, 0.9))
    return f"{median:.1f} ({most:.1f}) ms"


def measure(tree: Tree, threads: int, repeat: int) -> list[Way]:
    """Explore the tree raw and through two clusters, in turns.

    Returns raw first; then one worker with all threads, and one worker for each.
    """
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
            Watch(cluster.scheduler.extensions["dpbb"].hub, way.gaps_s)
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
    run = explored(engine, engine.devices(threads)[0], tree.problem, tree.cutoff)
    return Done((run.decomposed, run.leaves), 1, 1, 1.0)


def _explore_dask(client: Client, tree: Tree) -> Done:
    with submit_tree(client, tree.name, tree.cutoff) as opened:
        outcome = opened.result()
    counts = (outcome.counters.decomposed, outcome.counters.leaves)
    seats = len(outcome.seats)
    in_engine = outcome.totals.explore_seconds / (seats * outcome.totals.seconds)
    return Done(counts, outcome.totals.units, seats, in_engine)


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
        tuning=Tuning(heuristic_threads=0),
    )
    return submit_run(client, spec)
