"""Trees of known size with the GPU engine: counts, nodes a second, idle time.

The exit code is 1 when a count is wrong.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from dpbb.bench.common import Measurement, check_counts, report
from dpbb.engines import nvml
from dpbb.engines.base import Device
from dpbb.engines.gpu.engine import GpuEngine
from dpbb.errors import EngineUnavailable
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import generate
from dpbb.options import LB1, Balance, BranchingRule, TreeOptions, Tuning
from dpbb.tree.work_unit import WorkUnit

TREES: dict[str, tuple[str, int, int | None]] = {
    "ta021": ("ta021", 2297, 447_987_895),
    "ta056": ("ta056", 3660, 107_404_891),
    "ta081": ("ta081", 6115, 280_567_542),
    "ta101": ("ta101", 11156, 379_378_874),
    "ta056-long": ("ta056", 3679, 207_683_508_756),
    "20x20": ("seed 13", 2320, 9_577_257_228),
    "ta021-huge": ("ta021", 2450, None),
    "vfr30": ("VFR30_20_5", 2672, None),
    "ta081-huge": ("ta081", 6150, None),
    "ta101-huge": ("ta101", 11200, None),
}
"""Instance, fixed upper bound, decomposed nodes and leaves of the minmin tree.

``seed 13`` is the 20 x 20 shop that Taillard's generator makes of that time seed, of
optimum 2320: no tree of the benchmarks' 20 x 20 shops takes an H100 a second. The CPU
engine counts the same. The huge ones are for a rate over seconds (``--limit-s``), and
no other program has counted them.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument(
        "--trees",
        nargs="+",
        choices=TREES,
        default=list(TREES)[:4],
        help="which trees; ta056-long takes most of a minute on an H100",
    )
    parser.add_argument(
        "--explorers",
        nargs="+",
        type=int,
        default=[None],
        help="numbers of explorers (K): lanes, or warps with an interval each",
    )
    parser.add_argument(
        "--balance",
        nargs="+",
        type=Balance,
        choices=list(Balance),
        default=list(Balance),
        help="how explorers share their work; both by default, explode is the engine's",
    )
    parser.add_argument(
        "--bound", default=LB1, help="lower bound; counts are known of lb1 alone"
    )
    parser.add_argument(
        "--data", type=Path, default=None, help="folder of benchmark files, of VFR"
    )
    parser.add_argument("--repeat", type=int, default=1, help="runs of each tree")
    parser.add_argument("--block-size", type=int, default=None, help="threads")
    parser.add_argument(
        "--slice",
        type=float,
        default=None,
        metavar="SECONDS",
        help="what is given of these is not tuned",
    )
    parser.add_argument("--limit-s", type=float, default=600.0, help="stop a run then")
    parser.add_argument("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless a count is wrong or there is no device."""
    engine = GpuEngine()
    try:
        device = engine.devices()[0]
    except EngineUnavailable as error:
        print(f"no GPU to measure: {error}")
        return 2
    check_counts(args, "repeat")
    return report(_measured(engine, device, args), args.json, on=device.name)


def _measured(
    engine: GpuEngine, device: Device, args: argparse.Namespace
) -> Iterator[Measurement]:
    for tree in args.trees:
        problem = FlowShopProblem(_instance(tree, args.data), args.bound)
        for balance, explorers in product(args.balance, args.explorers):
            tuning = Tuning(
                explorers=explorers,
                block_size=args.block_size,
                balance=balance,
                slice_s=args.slice,
            )
            yield measure(
                engine, device, tree, problem, tuning, args.repeat, args.limit_s
            )


def measure(
    engine: GpuEngine,
    device: Device,
    tree: str,
    problem: FlowShopProblem,
    tuning: Tuning,
    repeat: int,
    limit_s: float,
) -> Measurement:
    """Explore one tree through the engine's public interface, several times.

    Among the further figures are the number of explorers, the share of the warps' time
    that was spent waiting for work, and the joules of a run.
    """
    _, ub, known = TREES[tree]
    options = TreeOptions(BranchingRule.MINMIN, bound=problem.bound)
    counts, seconds, joules = set[int](), list[float](), None
    whole = True
    for _ in range(repeat):
        session = engine.open(problem, options, device, ub=ub, tuning=tuning)
        session.load(WorkUnit.whole(problem.n_jobs))
        before, began = nvml.energy_j(device.uuid), time.perf_counter()
        nodes, exhausted = 0, False
        while not exhausted and time.perf_counter() - began < limit_s:
            part = session.advance(ub, session.slice_s)
            nodes += part.decomposed + part.leaves
            exhausted = part.exhausted
        seconds.append(time.perf_counter() - began)
        after = nvml.energy_j(device.uuid)
        if before is not None and after is not None:
            joules = after - before
        now = dict(session.statistics)
        session.close()
        whole &= exhausted
        counts.add(nodes)
    is_known = whole and known is not None and problem.bound == LB1
    lanes = 1 if tuning.balance == Balance.STEAL else 32
    return Measurement(
        tree=tree,
        instance=problem.instance.name,
        digest=problem.digest,
        ub=ub,
        engine="gpu",
        device=device.name,
        nodes=nodes,
        exact=counts == {known} if is_known else None,
        seconds=tuple(seconds),
        more={
            "bound": problem.bound,
            "balance": str(tuning.balance),
            "explorers": int(now["n_warps"]) * lanes,
            "idle": now["idle_ns"] / max(now["busy_ns"] + now["idle_ns"], 1.0),
            "energy_j": joules,
        },
    )


def _instance(tree: str, data: Path | None) -> FlowShopInstance:
    name = TREES[tree][0]
    if name.startswith("seed "):
        return FlowShopInstance(name, generate(int(name.split()[1]), 20, 20))
    return read_instance(name, data_dir=data)
