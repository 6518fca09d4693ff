"""Cases that ought to be easy: equal jobs, and shops of two machines.

*Equal jobs*: 8 copies of 5 kinds on 10 machines, times uniform on 1 to 99. From the
same schedule the tree is explored twice: with the rule for equal jobs (version 2) and
without it (1). *Johnson*: whole ``dpbb.solve`` calls of 500 jobs on two machines, each
seed with two times a job and with one time for both machines; the root's bound has to
prove them. The exit code is 1 where two proofs differ, or one of Johnson's is missing.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpbb.api import solve
from dpbb.engines.registry import get_engine
from dpbb.errors import OptionError
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.options import SolveOptions
from dpbb.problem import StartSearch, proving_bound
from dpbb.result import Proof, Status
from dpbb.tree.branching import tree_of
from dpbb.tree.work_unit import WorkUnit

KINDS, COPIES, MACHINES = 5, 8, 10
TWO_MACHINES = 500, 2
CASES = ("equal-jobs", "johnson")
START = 0.1
"""Part of the time that heuristics have."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--seeds", type=int, default=10, help="equal jobs: instances")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="equal jobs: of each exploration"
    )
    parser.add_argument("--threads", type=int, default=2, help="equal jobs: of each")
    parser.add_argument(
        "--at-once", type=int, default=1, help="equal jobs: instances at a time"
    )
    parser.add_argument("--engine", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--johnson-seeds", type=int, default=5)


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless a proof is wrong or missing."""
    if min(args.seeds, args.threads, args.at_once) < 1 or args.seconds <= 0:
        raise OptionError("--seeds, --threads, --at-once, --seconds: expected above 0")
    right = True
    if "equal-jobs" in args.cases:
        right &= _equal_jobs(args)
    if "johnson" in args.cases:
        right &= _johnson(args.johnson_seeds)
    return int(not right)


@dataclass(frozen=True, slots=True)
class Arm:
    """One exploration: its best makespan, whether it was exhausted, and its nodes."""

    makespan: int
    closed: bool
    seconds: float
    decomposed: int

    def __str__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"{self.makespan:>8}{state:>8}{self.seconds:>8.1f}{self.decomposed:>15,}"


def _equal_jobs(args: argparse.Namespace) -> bool:
    """Print a line for each seed and how many are closed; whether proofs agree."""
    columns = f"{'makespan':>8}{'':>8}{'s':>8}{'decomposed':>15}"
    print(f"{'seed':<6}{'start':>7}{'bound':>7}  with the rule: {columns[15:]}", end="")
    print(f"  without: {columns[9:]}")
    made = partial(_explored, args=args)
    with ThreadPoolExecutor(args.at_once) as pool:
        rows = []
        for seed, (start, bound, ruled, plain) in enumerate(
            pool.map(made, range(args.seeds))
        ):
            print(f"{seed:<6}{start:>7}{bound:>7}  {ruled}  {plain}", flush=True)
            rows.append((ruled, plain))
    ruled, plain = (sum(arm.closed for arm in arms) for arms in zip(*rows, strict=True))
    print(
        f"closed in {args.seconds:g} s, engine {args.engine} with {args.threads} "
        f"threads: {ruled} of {len(rows)} with the rule, {plain} without"
    )
    return all(
        one.makespan == two.makespan for one, two in rows if one.closed and two.closed
    )


def _explored(seed: int, args: argparse.Namespace) -> tuple[int, int, Arm, Arm]:
    """Explore an instance with the rule and without; with its start and root bound."""
    kinds = np.random.default_rng(seed).integers(1, 100, (KINDS, MACHINES))
    shop = FlowShopInstance(f"equal{seed}", np.repeat(kinds, COPIES, axis=0))
    problem = FlowShopProblem(shop)
    bound = proving_bound(problem)
    incumbent = problem.first_incumbent(
        StartSearch(
            "auto",
            time_limit_s=START * args.seconds,
            threads=args.threads,
            lower_bound=bound,
        )
    )
    start = problem.trivial_ub if incumbent is None else incumbent.value
    arms = [_explore(problem, version, start, bound, args) for version in (2, 1)]
    return start, bound, arms[0], arms[1]


def _explore(
    problem: FlowShopProblem,
    version: int,
    start: int,
    bound: int,
    args: argparse.Namespace,
) -> Arm:
    """Explore until the tree is exhausted, or has a schedule of the root's bound."""
    tree = replace(tree_of(problem, SolveOptions(), None), rule_version=version)
    engine = get_engine(args.engine)
    device = engine.devices(args.threads)[0]
    session = engine.open(problem, tree, device, ub=start)
    session.load(WorkUnit.whole(problem.n_jobs))
    decomposed, best, exhausted = 0, start, start <= bound
    began = time.perf_counter()
    end = began + (1 - START) * args.seconds
    while not exhausted and time.perf_counter() < end:
        part = session.advance(best, session.slice_s)
        decomposed += part.decomposed
        best = best if part.best is None else part.best.value
        exhausted = part.exhausted or best <= bound
    seconds = time.perf_counter() - began
    session.close()
    return Arm(best, exhausted, seconds, decomposed)


def _johnson(seeds: int) -> bool:
    """Print a line for each shop; whether the root's bound proves all of them."""
    right = True
    print(f"{'shop':<18}{'makespan':>9}{'status':>9}{'proof':>12}{'s':>8}")
    for seed in range(seeds):
        times = np.random.default_rng(seed).integers(1, 100, TWO_MACHINES)
        for name, rows in (
            ("two times", times),
            ("equal times", np.repeat(times[:, :1], 2, axis=1)),
        ):
            shop = FlowShopInstance(f"{name} {seed}", rows)
            began = time.perf_counter()
            result = solve(shop, verbosity="quiet")
            seconds = time.perf_counter() - began
            proved = result.status is Status.OPTIMAL
            right &= proved and result.proof is Proof.ROOT_BOUND
            print(
                f"{shop.name:<18}{result.makespan:>9}{result.status:>9}"
                f"{result.proof:>12}{seconds:>8.2f}",
                flush=True,
            )
    return right
