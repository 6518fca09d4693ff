"""Taillard's shops of 20 jobs with due dates: which of them close in how much time.

    python -m tests.bench.due_dates --engine cpu --limit-s 600
    python -m tests.bench.due_dates --engine gpu --limit-s 60 --instances ta021 ta022

A due date is drawn evenly from P (1 - T - R / 2) to P (1 - T + R / 2), after C. N.
Potts and L. N. Van Wassenhove (Operations Research Letters 1, 1982), with LB1 of the
makespan's root for P, as in the literature of flow shops. The seed of a set is the
instance's number, then T and R in tenths: 2124 is ta021 with T = 0.2 and R = 0.4.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from distributed import Client

import dpbb
from dpbb.bench.common import Machine
from dpbb.flowshop import FlowShopProblem

FACTORS = (0.2, 0.4, 0.6)
OBJECTIVES = ("total-tardiness", "max-tardiness")
HEADER = "| instance | T | R | objective | status | cost | bound | nodes | s |"


def due_dates(name: str, tightness: float, spread: float) -> list[int]:
    """Return the due dates of a set, a whole number >= 0 for each job."""
    instance = dpbb.read_instance(name)
    bound = FlowShopProblem(instance).root_bound
    seed = int(name[2:]) * 100 + round(10 * tightness) * 10 + round(10 * spread)
    low, high = 1 - tightness - spread / 2, 1 - tightness + spread / 2
    rng = np.random.default_rng(seed)
    drawn = rng.integers(
        max(0, round(bound * low)), round(bound * high), len(instance.times)
    )
    return [int(one) for one in drawn]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each set and objective, then how many of each closed; 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--engine", choices=["cpu", "gpu"], default="cpu")
    add("--instances", nargs="+", default=[f"ta{i:03}" for i in range(1, 31)])
    add("--objectives", nargs="+", choices=OBJECTIVES, default=OBJECTIVES)
    add("--limit-s", type=float, default=600.0, help="of each run")
    add("--threads", type=int, default=2, help="of engine cpu")
    args = parser.parse_args(arguments)
    print(f"{Machine.this()}; engine {args.engine}, {args.limit_s:g} s each\n")
    print(HEADER)
    print("|---" * HEADER.count(" |") + "|")
    where: dict[str, Any] = {}  # the current client's cluster
    if args.engine == "cpu":
        where = {"workers": 0, "threads": args.threads}
    else:
        Client(n_workers=1, dashboard_address=None)
    closed: dict[str, list[int]] = {one: [0, 0] for one in args.objectives}
    for objective in args.objectives:
        for name in args.instances:
            for tightness in FACTORS:
                for spread in FACTORS:
                    due = due_dates(name, tightness, spread)
                    began = time.perf_counter()
                    found = dpbb.solve(
                        dpbb.FlowShop(name, objective=objective, due=due),
                        engine=args.engine,
                        **where,
                        time_limit_s=args.limit_s,
                        progress="none",
                    )
                    seconds = time.perf_counter() - began
                    closed[objective][0] += found.status == "optimal"
                    closed[objective][1] += 1
                    what = name, tightness, spread, objective, found.status
                    row = *what, found.makespan, found.lower_bound, f"{found.nodes:,}"
                    print(
                        "|",
                        *(f"{one} |" for one in row),
                        f"{seconds:.1f} |",
                        flush=True,
                    )
    for objective, (done, tried) in closed.items():
        print(f"{objective}: {done} of {tried} closed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
