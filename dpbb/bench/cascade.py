"""Whole trees at the optimum with LB1, LB2, and cascades of two-machine bounds.

A tree is explored by turns with each bound, in one process on one device: wall time
from the first slice to the proof, and the nodes. ``learned-1``, ``learned-2`` ... are
cascades of the few pairs of machines that prune most in a sample of the tree, more with
each. A tree that is not over in time has its nodes so far, with a ``>``. With
``--calls`` each run is a process, ``dpbb solve`` from its start to its end: there
``auto`` has its price, too.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbb.bench.common import Explored, Machine, explored, write_json
from dpbb.engines.base import Device, Engine
from dpbb.engines.registry import choose_engine
from dpbb.errors import OptionError
from dpbb.estimation.cascades import learned_pairs, pair_bounds_of, with_pairs
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.options import LB1, TreeOptions
from dpbb.problem import Problem, bound_of

VFR = ("VFR30_15_2@2317", "VFR30_20_8@2812", "VFR40_15_9@2705", "VFR40_15_10@2940")

TREES = (*(f"ta{number:03}" for number in range(21, 31)), *VFR)
"""Instances at their best-known makespan, or at the value after the @."""

WARM_UP_S = 15.0
"""Most that the first call of a bound takes, which compiles and is not counted."""


@dataclass(frozen=True, slots=True)
class Row:
    """All repetitions of one tree with one bound."""

    tree: str
    arm: str
    bound: str
    decomposed: int
    leaves: int
    over: bool
    seconds: tuple[float, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--engine", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--threads", type=int, default=None, help="CPU threads")
    parser.add_argument("--trees", nargs="+", default=list(TREES), metavar="NAME[@UB]")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each arm")
    parser.add_argument(
        "--arms",
        nargs="+",
        default=["lb1", "lb2"],
        help="bounds; learned; auto with --calls (default: lb1 lb2)",
    )
    parser.add_argument(
        "--calls", action="store_true", help="time whole calls of dpbb solve"
    )
    parser.add_argument(
        "--most", type=float, default=60.0, help="seconds of a run (default: 60)"
    )
    parser.add_argument("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless a bound's counts differ from run to run."""
    if args.repeat < 1 or args.most <= 0:
        raise OptionError("--repeat, --most: expected more than 0")
    rows: list[Row] = []
    exact = True
    for tree in args.trees:
        name, _, value = tree.partition("@")
        problem = FlowShopProblem(read_instance(name))
        known = problem.best_known
        if value:
            ub = int(value)
        elif known is None:
            raise OptionError(f"--trees: expected {name}@UB, as no value is known")
        else:
            ub = known.upper_bound
        if args.calls:
            found, same = _calls(args, tree, name, ub)
        else:
            engine, _ = choose_engine(args.engine, problem, TreeOptions())
            device = engine.devices(args.threads)[0]
            found, same = _tree(args, tree, problem, ub, engine, device)
        rows += found
        exact &= same
    write_json(args.json, {"machine": Machine.this(), "rows": rows})
    return 0 if exact else 1


def _tree(
    args: argparse.Namespace,
    tree: str,
    problem: FlowShopProblem,
    ub: int,
    engine: Engine,
    device: Device,
) -> tuple[list[Row], bool]:
    """Explore a tree with all arms by turns; also whether all counts agree."""
    explored(engine, device, problem, ub, 0.5)  # compiles
    arms: dict[str, Problem[Any]] = {}
    for arm in args.arms:
        if arm != "learned":
            arms[arm] = problem.with_bound(arm)
            continue
        bounds = pair_bounds_of(problem)
        sets = (
            [] if bounds is None else learned_pairs(problem, bounds, TreeOptions(), ub)
        )
        for number, pairs in enumerate(sets, 1):
            arms[f"{arm}-{number}"] = with_pairs(problem, pairs)
    for other in arms.values():
        if bound_of(other) != LB1:
            explored(engine, device, other, ub, 0.5)  # compiles
    runs: dict[str, list[Explored]] = {arm: [] for arm in arms}
    for _ in range(args.repeat):
        for arm, other in arms.items():
            runs[arm].append(explored(engine, device, other, ub, args.most))
    bounds_of = {arm: bound_of(other) for arm, other in arms.items()}
    return _rows(tree, engine.name, bounds_of, runs)


def _calls(
    args: argparse.Namespace, tree: str, name: str, ub: int
) -> tuple[list[Row], bool]:
    """Solve a tree with all arms by turns, a process each; the first ones compile."""
    command = [sys.executable, "-m", "dpbb", "solve", name, "--cutoff", str(ub)]
    command += ["--engine", args.engine, "--json", "--progress", "plain"]
    if args.threads is not None:
        command += ["--threads", str(args.threads)]
    runs: dict[str, list[Explored]] = {arm: [] for arm in args.arms}
    bounds_of = {arm: arm for arm in args.arms}
    for number in range(1 + args.repeat):
        limit = args.most if number else min(args.most, WARM_UP_S)
        for arm in args.arms:
            given = [*command, "--time-limit", str(limit), "--bound", arm]
            began = time.perf_counter()
            done = subprocess.run(  # noqa: S603 (this program)
                given, capture_output=True, text=True, check=False
            )
            seconds = time.perf_counter() - began
            if not done.stdout:
                raise OptionError(f"dpbb solve {name} --bound {arm}: {done.stderr}")
            result = json.loads(done.stdout)
            over = result["termination"] == "exhausted"
            counts = result["decomposed"], result["leaves"]
            if number:
                runs[arm].append(Explored(*counts, over, seconds))
            for line in done.stderr.splitlines():
                if line.startswith("bound "):
                    bounds_of[arm] = line.removeprefix("bound ")
    return _rows(tree, args.engine, bounds_of, runs)


def _rows(
    tree: str, engine: str, bounds: dict[str, str], runs: dict[str, list[Explored]]
) -> tuple[list[Row], bool]:
    """Print and return a row for each arm; also whether all counts agree."""
    first, rows, exact = 0.0, [], True
    for arm, done in runs.items():
        seconds = tuple(one.seconds for one in done)
        over = all(one.over for one in done)
        # what auto chooses may differ
        exact &= not over or arm == "auto" or len({one[:3] for one in done}) == 1
        middle = statistics.median(seconds)
        first = first or middle
        decomposed, leaves = done[0][:2]
        rows.append(Row(tree, arm, bounds[arm], decomposed, leaves, over, seconds))
        print(
            f"{tree:18} {engine} {arm:10} {'' if over else '>'}{decomposed:>15,} "
            f"nodes  {middle:8.3f} s  {min(seconds):8.3f} to {max(seconds):8.3f}  "
            f"{first / middle:5.2f} x  {bounds[arm][:80]}",
            flush=True,
        )
    return rows, exact
