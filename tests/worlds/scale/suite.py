"""Up to 4,096 GPU seats: the real coordinator under a simulated cluster.

A discrete-event simulation (``world.py``) drives the real hub, coordinator, ledger and
messages; work falls apart as a recorded tree does (``recorded.py``), scaled to the
length of the run asked for; times come from this machine (``costs.py``).
Efficiency is the share of the seats' time, from the first worker's joining to the
proof, in which they explored with the best UB known.

For comparison: the largest published runs on such trees used up to 384 GPUs and 3,840
cores (J. Gmys, INFORMS Journal on Computing, 2022; hal-03689608, abstract).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpbb.coordination.messages import RunId, RunSpec
from dpbb.engines.base import Candidate
from dpbb.errors import OptionError
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions
from tests.worlds.scale import costs as measured
from tests.worlds.scale.physics import Drop, Physics, Tally
from tests.worlds.scale.recorded import load_tree
from tests.worlds.scale.tree import ReplayedTree
from tests.worlds.scale.world import LEFT_OUT, MODELLED, World

if TYPE_CHECKING:
    import argparse

    from tests.worlds.scale.costs import Costs

SEATS = (16, 64, 256, 1024, 2048, 4096)
TRACE = Path(__file__).parent / "ta056_3679.npz"
N_JOBS = 50  # of the simulated run: ta056, 50 jobs on 20 machines
DROPS = ((0.01, 1.05), (0.05, 1.05), (0.2, 1.05), (0.4, 1.05))
"""When better permutations are found, as shares of the run, and their gain."""


@dataclass(frozen=True, slots=True)
class Case:
    """One simulated run."""

    seats: int
    name: str = "as measured"
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Row:
    """A case and what it came to."""

    case: Case
    tally: Tally

    @property
    def efficiency(self) -> float:
        """Share of the seats' time that was useful."""
        return self.share(self.tally.useful_s)

    def share(self, seconds: float) -> float:
        """Seconds of all seats as a share of their time."""
        return seconds / (self.case.seats * self.tally.seconds)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--seats", type=int, nargs="+", default=SEATS, metavar="N")
    parser.add_argument(
        "--seconds", type=float, default=600.0, help="length of an ideal run"
    )
    parser.add_argument(
        "--join", type=float, default=1.0, help="seconds in which the workers join"
    )
    parser.add_argument("--speed", type=float, default=5e9, help="nodes/s of a seat")
    parser.add_argument("--roots", type=int, default=16_384, help="open roots of one")
    parser.add_argument("--repeat", type=int, default=20, help="of what is measured")
    parser.add_argument("--seed", type=int, default=0)


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0, as wrong counts stop it with an InvariantError."""
    for name in ("seats", "repeat", "roots"):
        if np.min(getattr(args, name)) < 1:
            raise OptionError(f"--{name}: expected at least 1, got {vars(args)[name]}")
    costs = measured.measure(args.roots, args.repeat)
    on_loop = {"RPC": costs.rpc_s, "future": costs.task_s, "hint": costs.hint_s}
    on_loop["beat"] = costs.heartbeat_s
    shown = ", ".join(f"{name} {1e3 * cost:.2f}" for name, cost in on_loop.items())
    print("ms on the loop: " + shown)
    physics = Physics(speed=args.speed, roots=args.roots, join_s=args.join)
    simulate = partial(simulate_case, costs=costs, physics=physics, seed=args.seed)
    cases = [Case(seats) for seats in args.seats]
    cases.append(Case(max(args.seats), "costs doubled", factor=2.0))
    print("in it: " + "; ".join(MODELLED))
    print("not in it: " + "; ".join(LEFT_OUT))
    print(
        "seats  case             s     efficient    idle  starting  reporting"
        "   stale    loop  threads  queue s   units  MB/s"
    )
    for case in cases:
        _print_row(simulate(case, seconds=args.seconds))
    return 0


# -- simulation -----------------------------------------------------------------


def simulate_case(
    case: Case, *, costs: Costs, physics: Physics, seconds: float, seed: int = 0
) -> Row:
    """Simulate one run, to its proof."""
    tree = ReplayedTree(
        load_tree(TRACE), N_JOBS, physics.speed * seconds * case.seats, seed=seed
    )
    problem = FlowShopProblem(taillard_instance("ta056"))
    spec = RunSpec(RunId("simulated"), problem, TreeOptions(), engine="gpu")
    world = World(
        spec, tree, case.seats, costs, physics, factor=case.factor,
        drops=_drops(problem, seconds, seed), seed=seed,
    )  # fmt: skip
    return Row(case, world.run())


def _drops(problem: FlowShopProblem, seconds: float, seed: int) -> list[Drop]:
    """Ever better permutations, which the run does not know at its start."""
    rng = np.random.default_rng(seed)
    found: dict[int, Candidate] = {}
    for _ in range(200):
        jobs = rng.permutation(problem.n_jobs).astype(np.intp)
        value = problem.evaluate(jobs)
        found[value] = Candidate(value, jobs)
    values = sorted(found, reverse=True)[-len(DROPS) :]
    return [
        Drop(share * seconds, found[value], gain)
        for (share, gain), value in zip(DROPS, values, strict=True)
    ]


# -- output ---------------------------------------------------------------------


def _print_row(row: Row) -> None:
    case, tally = row.case, row.tally
    print(
        f"{case.seats:>5}  {case.name:<14}{tally.seconds:>6.1f}{row.efficiency:>11.1%}"
        f"{row.share(tally.idle_s):>8.1%}{row.share(tally.starting_s):>10.1%}"
        f"{row.share(tally.reporting_s):>11.1%}{row.share(tally.stale_s):>8.1%}"
        f"{tally.loop_s / tally.seconds:>8.1%}"
        f"{tally.thread_s / tally.seconds:>9.1%}"
        f"{tally.worst_queue_s:>9.2f}{tally.units:>8}"
        f"{tally.bytes / tally.seconds / 1e6:>6.1f}",
        flush=True,
    )
