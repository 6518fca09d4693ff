"""Estimates of trees whose sizes are known: ratio to the truth, interval, time.

The exit code is 1 when fewer than 9 of 10 estimates are within a factor 3; with
``--held-out`` when fewer than 9 of 10 trees are inside their intervals, or half of
these span more than a factor 6.
"""

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from dpbb.bench.common import Machine, check_counts, load, write_json
from dpbb.errors import OptionError
from dpbb.estimation.estimating import SECONDS, estimate
from dpbb.flowshop.formats import read_instance
from dpbb.options import BranchingRule, EngineName
from dpbb.result import Status

FACTOR = 3.0
"""An estimate is good when truth and estimate differ by no more than this factor."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree at a fixed upper bound and its decomposed nodes and leaves.

    Counted to the end, by programs that share no code with the estimates.
    """

    instance: str
    ub: int
    branching: str
    nodes: int


TREES = (
    Tree("ta017", 1484, "minmin", 38_400_745),
    Tree("ta021", 2297, "minmin", 447_987_895),
    Tree("ta022", 2099, "minmin", 55_138_863),
    Tree("ta028", 2200, "minmin", 14_523_918),
    Tree("ta029", 2237, "minmin", 13_440_100),
    Tree("ta030", 2178, "minmin", 2_797_731),
    Tree("ta042", 2867, "minmin", 3_065_651),
    Tree("ta050", 3065, "minmin", 2_107_780),
    Tree("ta056", 3650, "minmin", 4_288_746),
    Tree("ta056", 3655, "minmin", 20_319_445),
    Tree("ta056", 3660, "minmin", 107_404_891),
    Tree("ta081", 6090, "minmin", 1_510_280),
    Tree("ta081", 6100, "minmin", 10_360_250),
    Tree("ta101", 11152, "minmin", 10_221_772),
    Tree("ta109", 11146, "minmin", 22_485_540),
    Tree("ta017", 1484, "minbranch", 34_511_287),
    Tree("ta021", 2297, "minbranch", 461_634_463),
    Tree("ta022", 2099, "minbranch", 45_955_964),
    Tree("ta028", 2200, "minbranch", 12_869_908),
    Tree("ta029", 2237, "minbranch", 12_233_430),
    Tree("ta030", 2178, "minbranch", 2_415_779),
    Tree("ta042", 2867, "minbranch", 3_526_005),
    Tree("ta050", 3065, "minbranch", 2_129_073),
    Tree("ta056", 3650, "minbranch", 3_709_889),
    Tree("ta056", 3655, "minbranch", 18_258_760),
    Tree("ta056", 3660, "minbranch", 97_139_666),
    Tree("ta081", 6090, "minbranch", 1_429_547),
    Tree("ta081", 6100, "minbranch", 9_994_130),
    Tree("ta101", 11152, "minbranch", 11_548_885),
    Tree("ta109", 11146, "minbranch", 20_976_768),
    # counted on GPUs alone
    Tree("ta056", 3679, "minmin", 207_683_508_756),
    Tree("ta081", 6115, "minmin", 280_567_542),
    Tree("ta101", 11156, "minmin", 379_378_874),
    Tree("VFR30_15_5", 2421, "minmin", 527_625_636_464),
    Tree("VFR30_15_9", 2259, "minmin", 3_401_433_597_652),
)


HELD_OUT = (
    Tree("VFR20_15_1", 1936, "minmin", 54_540_155),
    Tree("VFR20_15_4", 1813, "minmin", 6_431_079),
    Tree("VFR20_15_6", 1944, "minmin", 10_377_888),
    Tree("VFR20_20_4", 2125, "minmin", 16_042_917),
    Tree("VFR30_10_1", 1943, "minmin", 11_216_620),
    Tree("VFR30_10_4", 1945, "minmin", 4_906_384),
    Tree("VFR30_10_6", 2039, "minmin", 11_365_295),
    Tree("VFR30_15_1", 2322, "minmin", 20_434_487),
    Tree("VFR30_20_4", 2620, "minmin", 28_327_470),
    Tree("VFR40_10_1", 2477, "minmin", 22_642_797),
    Tree("VFR40_15_1", 2960, "minmin", 7_423_298),
    Tree("VFR40_15_6", 2768, "minmin", 8_222_791),
    Tree("VFR50_15_6", 3309, "minmin", 12_164_334),
    Tree("VFR50_15_4", 3470, "minmin", 10_815_637),
    Tree("VFR100_20_4", 6119, "minmin", 10_179_164),
    Tree("ta025", 2267, "minmin", 8_745_951),
    Tree("ta026", 2190, "minmin", 9_595_633),
    Tree("ta052", 3655, "minmin", 16_679_915),
    Tree("ta086", 6301, "minmin", 24_999_554),
    Tree("ta102", 11140, "minmin", 13_281_774),
    # counted on a GPU alone
    Tree("VFR20_10_1", 1532, "minmin", 2_203_948_759),
    Tree("VFR20_20_1", 2270, "minmin", 2_676_941_567),
    Tree("VFR20_20_6", 2291, "minmin", 3_198_219_532),
    Tree("VFR30_15_6", 2306, "minmin", 28_046_194_035),
    Tree("VFR40_15_1", 3004, "minmin", 19_351_848_327),
    Tree("VFR40_15_6", 2804, "minmin", 17_413_758_260),
    Tree("VFR50_15_6", 3325, "minmin", 1_956_638_229),
    Tree("VFR60_20_1", 4094, "minmin", 50_743_691_386),
    Tree("VFR100_20_1", 6060, "minmin", 4_014_466_140),
    Tree("ta023", 2326, "minmin", 3_261_576_057),
    Tree("ta052", 3671, "minmin", 767_734_525),
    Tree("ta053", 3592, "minmin", 266_495_786),
    Tree("ta057", 3680, "minmin", 7_602_432_898),
    Tree("ta058", 3639, "minmin", 1_463_679_447),
    Tree("ta085", 6269, "minmin", 38_145_479_428),
    Tree("ta102", 11150, "minmin", 1_447_091_074),
)
"""Trees that no part of the estimates was tuned on, counted by ``--count``."""

INSIDE, WIDTH = 0.9, 6.0
"""Of the intervals so many have the truth, and half of them are no wider."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One estimate; ``cpu_seconds`` is the processor time of all threads."""

    tree: Tree
    estimated: float
    low: float
    high: float
    samples: int
    warned: bool
    seconds: float
    cpu_seconds: float
    rounds: tuple[tuple[int, tuple[float, ...]], ...] = ()

    @property
    def ratio(self) -> float:
        """Estimate over truth."""
        return self.estimated / self.tree.nodes

    @property
    def good(self) -> bool:
        """Whether the estimate is within the factor."""
        return 1 / FACTOR <= self.ratio <= FACTOR

    @property
    def width(self) -> float:
        """Upper over lower end of the interval."""
        return self.high / max(self.low, 1.0)

    @property
    def inside(self) -> bool:
        """Whether the interval has the truth."""
        return self.low <= self.tree.nodes <= self.high


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument(
        "--instances", nargs="+", metavar="NAME", help="default: all that are known"
    )
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="trees that nothing was tuned on: exit code 1 if fewer than 9 of 10 are "
        "inside their intervals, or half of these are wider than a factor 6",
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each")
    parser.add_argument("--seeds", type=int, default=1, help="estimates of each tree")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument(
        "--data", metavar="FOLDER", help="VFR instances; default: $DPBB_DATA"
    )
    parser.add_argument("--json", type=Path, default=None, help="also write this file")
    parser.add_argument(
        "--count",
        nargs="+",
        metavar="NAME@UB",
        help="no estimates: explore these trees to the end, and print their sizes",
    )
    parser.add_argument(
        "--engine", default="auto", choices=[*EngineName], help="that counts"
    )
    parser.add_argument(
        "--count-limit", type=float, default=60.0, metavar="S", help="of each tree"
    )


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 if the estimates are as good as the module says."""
    if args.count is not None:
        return count(args.count, args.engine, args.count_limit, args.data)
    check_counts(args, "seeds")
    trees = _trees(args.instances, args.data, HELD_OUT if args.held_out else TREES)
    machine = Machine.this()
    print(f"{machine}; at most {args.seconds:g} s for each estimate")
    estimate("ta001", upper_bound=1278, samples=1, measure=False)  # compiles
    print(HEADER)
    done = []
    for tree in trees:
        for seed in range(args.seeds):
            done.append(measure(tree, seed, args.seconds, args.threads, args.data))
            print(_row(done[-1]), flush=True)
    good = sum(one.good for one in done)
    trusted = [one for one in done if not one.warned]
    inside, width = sum(one.inside for one in done), median(one.width for one in done)
    print(
        f"{good} of {len(done)} within a factor {FACTOR:g} "
        f"({sum(one.good for one in trusted)} of the {len(trusted)} without a warning);"
        f" {inside} intervals have the truth, half of them span at most a factor "
        f"{width:.1f}; the longest "
        f"took {max(one.seconds for one in done):.1f} s; load {load():.1f}"
    )
    write_json(args.json, {"machine": machine, "results": done})
    if args.held_out:
        return int(inside < INSIDE * len(done) or width > WIDTH)
    return int(good < 0.9 * len(done))


def measure(
    tree: Tree,
    seed: int,
    seconds: float,
    threads: int | None = None,
    data: str | Path | None = None,
) -> Measurement:
    """Estimate one tree."""
    instance = read_instance(tree.instance, data_dir=data)
    began, cpu_began = time.perf_counter(), time.process_time()
    result = estimate(
        instance,
        upper_bound=tree.ub,
        branching=BranchingRule(tree.branching),
        seconds=seconds,
        seed=seed,
        threads=threads,
        measure=False,
    )
    return Measurement(
        tree=tree,
        estimated=result.nodes,
        low=result.low,
        high=result.high,
        samples=result.samples,
        warned=not result.reliable,
        seconds=time.perf_counter() - began,
        cpu_seconds=time.process_time() - cpu_began,
        rounds=result.rounds,
    )


def count(
    wanted: Sequence[str], engine: str, seconds: float, data: str | Path | None
) -> int:
    """Explore trees to the end and print their sizes.

    ``wanted``: such as ``ta030@2178``; an upper bound above the optimum gives no size,
    as the tree shrinks when a schedule below it is found.

    Returns 1 if one of them was not counted, in time or at all.
    """
    from dpbb.api import solve

    missed = 0
    for one in wanted:
        name, _, ub = one.partition("@")
        if not ub.isdigit():
            raise OptionError(f"--count: expected NAME@UB, got {one}")
        result = solve(
            read_instance(name, data_dir=data),
            cutoff=int(ub),
            bound="lb1",
            engine=EngineName(engine),
            time_limit_s=seconds,
            estimates="off",
            progress="none",
            verbosity="quiet",
        )
        nodes, done = result.decomposed + result.leaves, Status.INFEASIBLE_CUTOFF
        missed += result.status is not done
        note = "" if result.status is done else f"  NOT COUNTED: {result.status}"
        print(f"{name} {ub} {nodes:,} {result.seconds:.1f} s{note}", flush=True)
    return int(missed > 0)


def _trees(
    names: list[str] | None, data: str | None, trees: Sequence[Tree] = TREES
) -> list[Tree]:
    """Trees of these instances; of all that can be read, without names."""
    if names is not None:
        known = {tree.instance for tree in trees}
        for name in names:
            if name not in known:
                raise OptionError(
                    f"--instances: expected some of {', '.join(sorted(known))}, got "
                    f"{name}"
                )
        return [tree for tree in trees if tree.instance in names]
    has_vfr = data is not None or "DPBB_DATA" in os.environ
    return [tree for tree in trees if has_vfr or not tree.instance.startswith("VFR")]


HEADER = (
    "instance        ub rule             truth   estimate  ratio   "
    "interval / truth     K  s (cpu s)"
)


def _row(one: Measurement) -> str:
    tree = one.tree
    low, high = one.low / tree.nodes, one.high / tree.nodes
    notes = ("" if one.good else "  OUT") + ("  warned" if one.warned else "")
    return (
        f"{tree.instance:<11}{tree.ub:>7} {tree.branching:<9}{tree.nodes:>13.4g}"
        f"{one.estimated:>11.3g}{one.ratio:>7.2f}   {low:>6.2f} to {high:<7.4g}"
        f"{one.samples:>6}{one.seconds:>6.1f} ({one.cpu_seconds:.1f}){notes}"
    )
