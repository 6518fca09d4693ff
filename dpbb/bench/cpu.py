"""Trees of known size with the CPU engine: counts checked, nodes a second, scaling.

Every repetition explores the whole tree once with each number of threads, in turns, as
machines are seldom quiet for long. The exit code is 1 when a count is wrong.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from dpbb.bench.common import Machine, check_counts, write_json
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.engines.driver import explore_to_end
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.kernels.cores import physical_cores
from dpbb.options import BranchingRule, TreeOptions
from dpbb.tree.work_unit import WorkUnit

SLICE_S = 0.2


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree at a fixed upper bound, and the numbers of its nodes.

    Counted by a program that shares no code with dpbb (LB1, MinMin, prune LB >= ub,
    root order by index).
    """

    instance: str
    ub: int
    decomposed: int
    leaves: int


TREES = {
    "ta030": Tree("ta030", 2178, 2_797_688, 43),
    "ta028": Tree("ta028", 2200, 14_523_872, 46),
    "ta029": Tree("ta029", 2237, 13_440_016, 84),
    "ta042": Tree("ta042", 2867, 3_065_651, 0),
    "ta056": Tree("ta056", 3650, 4_288_746, 0),
    "ta056-long": Tree("ta056", 3660, 107_404_891, 0),
    "ta081": Tree("ta081", 6090, 1_510_280, 0),
    "ta081-long": Tree("ta081", 6100, 10_360_250, 0),
    "ta101": Tree("ta101", 11152, 10_221_772, 0),
    "ta109-long": Tree("ta109", 11146, 22_485_540, 0),
    "ta022-long": Tree("ta022", 2099, 55_138_829, 34),
    "ta021-long": Tree("ta021", 2297, 447_986_455, 1440),
}

DEFAULT_TREES = [name for name in TREES if not name.endswith("-long")]


@dataclass(frozen=True, slots=True)
class Measurement:
    """All repetitions of one tree with one number of threads.

    Parameters
    ----------
    open_s
        Opening of the first session, in seconds: tables, and in the first one of a
        process the compilation or its cache.
    seconds
        From the first slice to the last of each repetition.
    cpu_seconds
        Processor time of the whole process in the same spans.
    """

    tree: str
    instance: str
    digest: str
    ub: int
    branching: str
    threads: int
    decomposed: int
    leaves: int
    exact: bool
    open_s: float
    seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]

    @property
    def rates(self) -> list[float]:
        """Decomposed nodes a second of each repetition."""
        return [self.decomposed / seconds for seconds in self.seconds]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--trees", nargs="+", choices=TREES, default=DEFAULT_TREES)
    parser.add_argument(
        "--threads",
        nargs="+",
        type=int,
        default=sorted({1, physical_cores()}),
        help="numbers of threads; default: 1 and all physical cores",
    )
    parser.add_argument("--repeat", type=int, default=5, help="runs of each tree")
    parser.add_argument("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless a count is wrong."""
    check_counts(args, "repeat", "threads")
    machine = Machine.this()
    print(
        f"{machine}; Python {machine.python}, Numba {machine.numba}; "
        f"{args.repeat} repetitions"
    )
    print(HEADER)
    results = []
    for name in args.trees:
        measured = measure(name, args.threads, args.repeat)
        results += measured
        for result in measured:
            print(_row(result, measured[0]), flush=True)
    write_json(args.json, {"machine": machine, "results": results})
    return int(not all(result.exact for result in results))


def measure(name: str, threads: list[int], repeat: int) -> list[Measurement]:
    """Explore one tree ``repeat`` times with each number of threads, in turns."""
    tree = TREES[name]
    problem = FlowShopProblem(taillard_instance(tree.instance))
    options = TreeOptions(BranchingRule.MINMIN)
    engine = CpuEngine()
    open_s: dict[int, float] = {}
    wall: dict[int, list[float]] = {count: [] for count in threads}
    cpu: dict[int, list[float]] = {count: [] for count in threads}
    counts: dict[int, set[tuple[int, int]]] = {count: set() for count in threads}
    for _ in range(repeat):
        for count in wall:
            (device,) = engine.devices(count)
            began = time.perf_counter()
            session = engine.open(problem, options, device, ub=tree.ub)
            opened, cpu_opened = time.perf_counter(), time.process_time()
            open_s.setdefault(count, opened - began)
            session.load(WorkUnit.whole(problem.n_jobs))
            total = explore_to_end(session, tree.ub, SLICE_S).counters
            wall[count].append(time.perf_counter() - opened)
            cpu[count].append(time.process_time() - cpu_opened)
            session.close()
            counts[count].add((total.decomposed, total.leaves))
    expected = (tree.decomposed, tree.leaves)
    return [
        Measurement(
            tree=name,
            instance=tree.instance,
            digest=problem.digest,
            ub=tree.ub,
            branching=options.branching.value,
            threads=count,
            decomposed=max(counts[count])[0],
            leaves=max(counts[count])[1],
            exact=counts[count] == {expected},
            open_s=open_s[count],
            seconds=tuple(wall[count]),
            cpu_seconds=tuple(cpu[count]),
        )
        for count in wall
    ]


HEADER = (
    "tree            ub  threads   decomposed  leaves  exact   "
    "M nodes/s  least   most   ratio"
)


def _row(one: Measurement, first: Measurement) -> str:
    """One line; the ratio is to the first number of threads."""
    median = statistics.median(one.rates)
    return (
        f"{one.tree:<12}{one.ub:>6}{one.threads:>9}{one.decomposed:>13}"
        f"{one.leaves:>8}{'yes' if one.exact else 'NO':>7}{median / 1e6:>12.2f}"
        f"{min(one.rates) / 1e6:>7.2f}{max(one.rates) / 1e6:>7.2f}"
        f"{median / statistics.median(first.rates):>8.2f}"
    )
