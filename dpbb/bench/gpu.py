"""Trees of known size with the GPU engine: counts, nodes a second, idle time.

The exit code is 1 when a count is wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from typing import Any

from dpbb.bench.common import (
    Measurement,
    add_common,
    check_counts,
    explored,
    measurement,
    report,
)
from dpbb.engines.base import Device
from dpbb.engines.gpu.engine import GpuEngine
from dpbb.errors import EngineUnavailable
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.shop import FlowShop
from dpbb.flowshop.taillard import generate
from dpbb.options import LB1, Balance, Tuning
from dpbb.problem import Problem, bound_of

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
    "blocking-5": ("ta002", 1408, 360_882_199),
    "blocking-20": ("ta021", 2437, None),
}
"""Instance, fixed upper bound, decomposed nodes and leaves of the minmin tree.

``seed 13`` is the 20 x 20 shop that Taillard's generator makes of that time seed, of
optimum 2320: no tree of the benchmarks' 20 x 20 shops takes an H100 a second. The CPU
engine counts the same. The huge ones are for a rate over seconds (``--limit-s``), and
no other program has counted them. Those called blocking are shops without buffers.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    add_common(parser, TREES, list(TREES)[:4], repeat=1)
    add = parser.add_argument
    add(
        "--explorers",
        nargs="+",
        type=int,
        default=[None],
        help="numbers of explorers (K): lanes, or warps with an interval each",
    )
    add(
        "--balance",
        nargs="+",
        type=Balance,
        choices=list(Balance),
        default=list(Balance),
        help="how explorers share their work; both by default, explode is the engine's",
    )
    text = "lower bound; counts are known of lb1 alone"
    add("--bound", default=LB1, help=text)
    add("--data", metavar="FOLDER", help="benchmark files; default: $DPBB_DATA")
    add("--block-size", type=int, help="threads (default: tuned)")
    text = "length of a slice (default: tuned)"
    add("--slice", type=float, metavar="SECONDS", help=text)
    add("--limit-s", type=float, default=600.0, help="stop a run then")


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
    """Explore each tree in each way.

    Among the further figures are the number of explorers, the share of the warps' time
    that was spent waiting for work, and the joules of a run.
    """
    for tree in args.trees:
        _, ub, known = TREES[tree]
        problem = _problem(tree, args)
        bound = bound_of(problem)
        for balance, explorers in product(args.balance, args.explorers):
            tuning = Tuning(
                explorers=explorers,
                block_size=args.block_size,
                balance=balance,
                slice_s=args.slice,
            )
            how = engine, device, problem, ub, args.limit_s, tuning
            runs = [explored(*how) for _ in range(args.repeat)]
            last = runs[-1].statistics
            lanes = 1 if balance is Balance.STEAL else 32
            yield measurement(
                tree,
                problem,
                ub,
                device,
                runs,
                known if bound in (LB1, FlowShop.bound) else None,
                bound=bound,
                balance=str(balance),
                explorers=int(last["n_warps"]) * lanes,
                idle=last["idle_ns"] / max(last["busy_ns"] + last["idle_ns"], 1.0),
                energy_j=runs[-1].joules,
            )


def _problem(tree: str, args: argparse.Namespace) -> Problem[Any]:
    name = TREES[tree][0]
    if name.startswith("seed "):
        shop = FlowShopInstance(name, generate(int(name.split()[1]), 20, 20))
    else:
        shop = read_instance(name, data_dir=args.data)
    if tree.startswith("blocking"):
        return FlowShop(shop, blocking=True)
    return FlowShopProblem(shop, args.bound)
