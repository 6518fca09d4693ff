"""Nodes a second of each kind of flow shop, one text, on one core or one GPU.

    python -m tests.bench.shops --engine cpu
    python -m tests.bench.shops --engine gpu --kinds total-completion makespan+setups

The upper bound is the cost of NEH, so that the tree is large; release dates,
due dates, weights and set-ups are drawn as in the literature (tightness 0.4, range 0.4;
set-ups of up to half the longest time), from the seed 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dpbb
from dpbb.bench.common import Measurement, explored, measurement, report
from dpbb.engines.registry import get_engine
from dpbb.flowshop.family import read_problem
from dpbb.flowshop.shop import OBJECTIVES
from dpbb.flowshop.taillard import generate
from dpbb.problem import Problem, bound_of

SEEDS = {20: 13, 50: 1}
"""Of Taillard's generator: shops of 20 machines, by the number of jobs."""

FEATURES = ("release", "blocking", "buffers", "setups", "lags", "unlimited", "matching")
KINDS = (*OBJECTIVES, *(f"makespan+{one}" for one in FEATURES))


def shop(kind: str, n_jobs: int, n_machines: int = 20) -> Problem[Any]:
    """Return the shop of a kind: an objective, and a feature behind a plus sign."""
    rng = np.random.default_rng(1)
    times = generate(SEEDS[n_jobs], n_jobs, n_machines).T
    objective: Any
    objective, _, feature = kind.partition("+")
    row, about = OBJECTIVES[objective], int(times.sum(axis=0).max())
    given: dict[str, Any] = {}
    if row.dated:
        tight = 0.8 if row.counted else 0.4  # else the root says how many are late
        given["due"] = rng.integers(int(tight * about), int(2 * tight * about), n_jobs)
    if row.weighted:
        given["weights"] = rng.integers(1, 11, n_jobs)
    if feature == "release":
        given["release"] = rng.integers(0, about // 4, n_jobs)
    if feature in ("blocking", "matching"):
        given["blocking"] = True
    if feature == "buffers":
        given["buffers"] = [0, 1] * (n_machines // 2 - 1) + [0]
    if feature == "setups":
        given["setups"] = rng.integers(1, 50, (n_jobs, n_jobs, n_machines))
    if feature == "lags":
        given["lags"] = rng.integers(0, 50, (n_jobs, n_machines - 1))
    if feature == "unlimited":
        given["unlimited"] = range(1, n_machines, 3)
    if objective == "makespan" and not given:
        return read_problem(times)
    found = dpbb.FlowShop(times, objective=objective, **given)
    return found.with_bound("matching") if feature == "matching" else found


def measured(args: argparse.Namespace) -> Iterator[Measurement]:
    """Explore each kind of each size for some seconds."""
    engine = get_engine(args.engine)
    device = engine.devices(*[1] * (args.engine == "cpu"))[0]
    for n_jobs in args.jobs:
        for kind in args.kinds:
            problem = shop(kind, n_jobs)
            ub = dpbb.heuristic(problem, "neh", progress="none").makespan
            assert ub is not None  # noqa: S101 - a greedy schedule is always there
            runs = [
                explored(engine, device, problem, ub, args.limit_s)
                for _ in range(args.repeat)
            ]
            last, keys = runs[-1].statistics, ("registers", "spilled_bytes")
            more = {key: last[key] for key in keys if key in last}
            how = {"bound": bound_of(problem), **more}
            name = f"{kind} {n_jobs} "
            yield measurement(name, problem, ub, device, runs, None, **how)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each kind and size; 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--engine", choices=["cpu", "gpu"], default="cpu")
    add("--kinds", nargs="+", choices=KINDS, default=KINDS)
    add("--jobs", nargs="+", type=int, choices=SEEDS, default=[20])
    add("--limit-s", type=float, default=5.0, help="seconds of each run")
    add("--repeat", type=int, default=1, help="runs of each")
    add("--json", type=Path, default=None, help="also write this file")
    args = parser.parse_args(arguments)
    return report(measured(args), args.json)


if __name__ == "__main__":
    sys.exit(main())
