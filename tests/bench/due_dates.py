"""Taillard's shops of 20 jobs with due dates: which of them close in how much time.

    python -m tests.bench.due_dates --engine cpu --limit-s 600
    python -m tests.bench.due_dates --engine gpu --limit-s 60 --sets 2124 2222

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
from itertools import product
from typing import Any

import numpy as np
from distributed import Client

import dpbb
from dpbb.bench.common import Machine
from dpbb.flowshop import FlowShopProblem

FACTORS = (2, 4, 6)
"""Of T and R, in tenths."""

SETS = [100 * i + 10 * t + r for i in range(1, 31) for t in FACTORS for r in FACTORS]
"""The seeds of all 270."""

OBJECTIVES = ("total-tardiness", "max-tardiness")
HEADER = "| instance | set | objective | status | cost | bound | nodes | s |"


def due_dates(seed: int) -> tuple[str, list[int]]:
    """Return the instance of a set and the due dates, whole numbers >= 0."""
    number, tightness, spread = seed // 100, seed // 10 % 10 / 10, seed % 10 / 10
    instance = dpbb.read_instance(f"ta{number:03}")
    bound = FlowShopProblem(instance).root_bound
    low, high = 1 - tightness - spread / 2, 1 - tightness + spread / 2
    rng = np.random.default_rng(seed)
    drawn = rng.integers(
        max(0, round(bound * low)), round(bound * high), len(instance.times)
    )
    return f"ta{number:03}", [int(one) for one in drawn]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each set and objective, then how many of each closed; 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--engine", choices=["cpu", "gpu"], default="cpu")
    add("--sets", nargs="+", type=int, choices=SETS, default=SETS, metavar="SEED")
    add("--objectives", nargs="+", choices=OBJECTIVES, default=OBJECTIVES)
    add("--limit-s", type=float, default=600.0, help="of each run")
    add("--threads", type=int, default=2, help="of engine cpu")
    args = parser.parse_args(arguments)
    print(f"{Machine()}; engine {args.engine}, {args.limit_s:g} s each\n")
    print(HEADER)
    print("|---" * HEADER.count(" |") + "|")
    where: dict[str, Any] = {}  # the current client's cluster
    if args.engine == "cpu":
        where = {"workers": 0, "threads": args.threads}
    else:
        Client(n_workers=1, dashboard_address=None)
    closed: dict[str, list[int]] = {one: [0, 0] for one in args.objectives}
    for objective, seed in product(args.objectives, args.sets):
        name, due = due_dates(seed)
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
        row = name, seed, objective, found.status, found.makespan, found.lower_bound
        print("|", *(f"{one} |" for one in row), end=" ")
        print(f"{found.nodes:,} | {seconds:.1f} |", flush=True)
    for objective, (done, tried) in closed.items():
        print(f"{objective}: {done} of {tried} closed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
