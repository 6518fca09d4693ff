"""Trees of known size with the CPU engine: counts checked, nodes a second, scaling.

Every repetition explores the whole tree once with each number of threads, in turns, as
machines are seldom quiet for long. The exit code is 1 when a count is wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from dpbb.bench.common import (
    Explored,
    Measurement,
    add_common,
    check_counts,
    explored,
    measurement,
    report,
)
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.kernels.cores import physical_cores

TREES = {
    "ta030": ("ta030", 2178, 2_797_731),
    "ta028": ("ta028", 2200, 14_523_918),
    "ta029": ("ta029", 2237, 13_440_100),
    "ta042": ("ta042", 2867, 3_065_651),
    "ta056": ("ta056", 3650, 4_288_746),
    "ta056-long": ("ta056", 3660, 107_404_891),
    "ta081": ("ta081", 6090, 1_510_280),
    "ta081-long": ("ta081", 6100, 10_360_250),
    "ta101": ("ta101", 11152, 10_221_772),
    "ta109-long": ("ta109", 11146, 22_485_540),
    "ta022-long": ("ta022", 2099, 55_138_863),
    "ta021-long": ("ta021", 2297, 447_987_895),
}
"""Instance, fixed upper bound, decomposed nodes and leaves of the minmin tree.

Counted by a program that shares no code with dpbb (LB1, MinMin, prune LB >= ub, root
order by index).
"""

DEFAULT_TREES = [name for name in TREES if not name.endswith("-long")]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    add_common(parser, TREES, DEFAULT_TREES, repeat=5)
    parser.add_argument(
        "--threads",
        nargs="+",
        type=int,
        default=sorted({1, physical_cores()}),
        help="numbers of threads; default: 1 and all physical cores",
    )


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless a count is wrong."""
    check_counts(args, "repeat", "threads")
    every = (
        one for name in args.trees for one in measure(name, args.threads, args.repeat)
    )
    return report(every, args.json)


def measure(name: str, threads: Sequence[int], repeat: int) -> Iterator[Measurement]:
    """Explore one tree ``repeat`` times with each number of threads, in turns."""
    instance, ub, known = TREES[name]
    problem = FlowShopProblem(taillard_instance(instance))
    engine = CpuEngine()
    devices = {count: engine.devices(count)[0] for count in threads}
    runs: dict[int, list[Explored]] = {count: [] for count in devices}
    for _ in range(repeat):
        for count, device in devices.items():
            runs[count].append(explored(engine, device, problem, ub))
    first = 0.0
    for count, found in runs.items():
        device = devices[count]
        one = measurement(name, problem, ub, device, found, known, threads=count)
        first = first or one.nodes_per_s
        one.more["times the first"] = one.nodes_per_s / first
        yield one
