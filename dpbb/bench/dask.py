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
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from distributed import Client, LocalCluster

from dpbb.bench.common import Measurement, check_counts, explored, report
from dpbb.cluster.client.open import submit_run
from dpbb.coordination.messages import RunId, RunSpec
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.kernels.cores import physical_cores
from dpbb.options import TreeOptions, Tuning

WARM_UP = ("ta030", 2178)
"""A tree that is large enough for every worker to get some of it."""

WARM_UP_RUNS = 20


class Done(NamedTuple):
    """One exploration of a tree; ``in_engine``: share of the seats' time."""

    nodes: int
    units: int
    seats: int
    in_engine: float


@dataclass(frozen=True, slots=True)
class Way:
    """One way to explore the tree, and what every repetition took."""

    name: str
    workers: int
    explore: Callable[[str, int], Done]
    seconds: list[float] = field(default_factory=list)
    done: list[Done] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    add = parser.add_argument
    add("--instance", default="ta021", metavar="NAME")
    add("--cutoff", type=int, default=2297, help="prune LB >= this")
    add("--threads", type=int, default=physical_cores())
    add("--repeat", type=int, default=3, help="runs of each way")
    add("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 if all counts agree."""
    check_counts(args, "repeat", "threads")
    measured = measure(args.instance, args.cutoff, args.threads, args.repeat)
    return report(measured, args.json)


def measure(
    instance: str, cutoff: int, threads: int, repeat: int
) -> Iterator[Measurement]:
    """Explore the tree raw and through two clusters, in turns.

    Yields raw first; then one worker with all threads, and one worker for each.
    """
    raw = Way("raw", 0, partial(_explore_raw, threads))
    ways = [raw]
    raw.explore(*WARM_UP)
    with ExitStack() as stack:
        for workers, each in ((1, threads), (threads, 1)):
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=each,
                    dashboard_address="127.0.0.1:0",
                )
            )
            client = stack.enter_context(Client(cluster, set_as_default=False))
            client.wait_for_workers(workers)
            way = Way(f"{workers} x {each}", workers, partial(_explore_dask, client))
            ways.append(way)
            for _ in range(WARM_UP_RUNS):
                if way.explore(*WARM_UP).seats == workers:
                    break
        for _ in range(repeat):
            for way in ways:
                began = time.perf_counter()
                way.done.append(way.explore(instance, cutoff))
                way.seconds.append(time.perf_counter() - began)
    nodes = {done.nodes for way in ways for done in way.done}
    base = statistics.median(raw.seconds)
    for way in ways:
        yield Measurement(
            tree=way.name,
            instance=instance,
            digest=_problem(instance).digest,
            ub=cutoff,
            engine="cpu",
            device=CpuEngine().devices(threads)[0].name,
            nodes=way.done[0].nodes,
            exact=len(nodes) == 1,
            seconds=tuple(way.seconds),
            more={
                "workers": way.workers,
                "over raw": statistics.median(way.seconds) / base - 1,
                "in engine": statistics.median(one.in_engine for one in way.done),
                "units": statistics.median(one.units for one in way.done),
            },
        )


def _problem(instance: str) -> FlowShopProblem:
    return FlowShopProblem(taillard_instance(instance))


def _explore_raw(threads: int, instance: str, ub: int) -> Done:
    engine = CpuEngine()
    found = explored(engine, engine.devices(threads)[0], _problem(instance), ub)
    return Done(found.nodes, 1, 1, 1.0)


def _explore_dask(client: Client, instance: str, ub: int) -> Done:
    """Explore the minmin tree {LB < ub} with the CPU engine."""
    spec = RunSpec(
        run_id=RunId(uuid4().hex[:12]),
        problem=_problem(instance),
        tree=TreeOptions(),
        instance=instance,
        engine="cpu",
        upper_bound=ub,
        tuning=Tuning(heuristic_threads=0),
    )
    with submit_run(client, spec) as opened:
        outcome = opened.result()
    seats, totals = len(outcome.seats), outcome.totals
    in_engine = totals.explore_seconds / (seats * totals.seconds)
    nodes = outcome.counters.decomposed + outcome.counters.leaves
    return Done(nodes, totals.units, seats, in_engine)
