r"""How good the schedules of heuristics are: percent above the best known.

    python -m tests.bench.heuristics --classes 50x20 --limits 30 60 --seeds 5
    python -m tests.bench.heuristics --problem blocking total-completion \
        --classes 50x5 50x10 50x20 100x5 100x10 100x20 --limits 30 --parallel 7

ARPD of a class is the mean over its instances of the median over seeds, worst the
largest of all. Kernels are compiled before the clock starts. The exit code is 1 where a
schedule has not the cost that is said, or an incumbent is not better than the one
before. Best-known costs but makespans are in ``DPBB_SHARED/data``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import dpbb
from dpbb.bench.common import Machine
from dpbb.flowshop.heuristics import HEURISTICS
from dpbb.heuristics import Search
from dpbb.modeling import greedy
from dpbb.options import PROCESSORS
from dpbb.problem import Incumbent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.queues import SimpleQueue

    from dpbb.flowshop.instance import FlowShopInstance

FIRST = {
    **{"20x5": 1, "20x10": 11, "20x20": 21, "50x5": 31, "50x10": 41, "50x20": 51},
    **{"100x5": 61, "100x10": 71, "100x20": 81, "200x10": 91, "200x20": 101},
    "500x20": 111,
}
"""Taillard's classes of ten instances; others are those of VRF, such as VFR100_20."""

PROBLEMS: dict[str, dict[str, Any]] = {
    "makespan": {},
    "blocking": {"blocking": True},
    "total-completion": {"objective": "total-completion"},
}
"""By the name that people say: what makes one of a shop."""

ROWS = {"blocking": "blocking-makespan", "total-completion": "total-completion-time"}
"""Names in the file of best-known values; makespans are known with the instances."""

WARM_S = {"cpu": 1.0, "gpu": 10.0}
"""Time limit of the run before the first one of a shape, in each process."""

_warm: set[tuple[str, str]] = set()


def value_of(problem: str, times: Any, order: Sequence[int]) -> int:
    """Cost of a schedule, one job and one machine after the other."""
    ends, total = [0] * times.shape[1], 0
    for job in order:
        for k, time in enumerate(times[job].tolist()):
            ends[k] = max(ends[max(k - 1, 0)], ends[k]) + time
            if problem == "blocking":
                ends[k] = max(ends[k : k + 2])
        total += ends[-1]
    return total if problem == "total-completion" else ends[-1]


class Task(NamedTuple):
    """One run: of a method for some seconds with a seed."""

    problem: str
    name: str
    label: str
    limit: float
    seed: int
    method: str
    how: dict[str, Any]
    data: str | None

    @property
    def shop(self) -> Any:
        """The instance, of makespans, or a model of it."""
        shop = dpbb.read_instance(self.label, data_dir=self.data)
        given = PROBLEMS[self.problem]
        return dpbb.FlowShop(shop, **given) if given else shop

    def warm_up(self) -> None:
        """Compile before the clock starts."""
        _warm.add((self.problem, self.name))
        if PROBLEMS[self.problem]:
            own = np.arange(self.shop.n_jobs)
            start = Incumbent(self.shop.evaluate(own), own, "own order")
            greedy.load(Search(self.shop, 0), start)
        else:
            limit = WARM_S[self.how["device"]]
            dpbb.heuristic(self.shop, self.method, time_limit_s=limit, **self.how)

    def run(self) -> tuple[Task, float, bool]:
        """Print and return the percentage above the best known; whether it is right."""
        shop = dpbb.read_instance(self.label, data_dir=self.data)
        best = best_known(self.problem, shop)
        if (self.problem, self.name) not in _warm:
            self.warm_up()
        found = dpbb.heuristic(
            self.shop, self.method, time_limit_s=self.limit, seed=self.seed, **self.how
        )
        value = value_of(self.problem, shop.times, found.permutation or ())
        values = [step.value for step in found.trajectory]
        falls = all(one > two for one, two in pairwise(values))
        share, last = 100 * (value / best - 1), found.trajectory[-1]
        print(
            f"{self.problem:<17}{self.label:<12}{self.limit:>6g} s  seed {self.seed} "
            f"{value:>7} {share:>6.2f} %  {last.source} at {last.seconds:.1f} s",
            flush=True,
        )
        return self, share, value == found.makespan and falls


def best_known(problem: str, shop: FlowShopInstance) -> int:
    """Return the best cost known of an instance."""
    if problem == "makespan":
        if shop.best_known is None:
            raise SystemExit(f"--classes: no best-known makespan of {shop.name}")
        return shop.best_known.upper_bound
    path = Path(os.environ["DPBB_SHARED"], "data/variants_best_known.csv")
    rows = (line.split(",") for line in path.read_text().splitlines())
    return next(int(row[4]) for row in rows if row[:2] == [ROWS[problem], shop.name])


def pin(cores: SimpleQueue[set[int]]) -> None:
    """Give a process cores of its own."""
    os.sched_setaffinity(0, cores.get())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the percentage of each run, a row for each class; 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--problem", nargs="+", choices=PROBLEMS, default=["makespan"])
    add("--classes", nargs="+", default=["50x20", "100x20", "200x20", "500x20"])
    add("--members", nargs="+", type=int, default=[*range(1, 11)])
    add("--limits", nargs="+", type=float, default=[60.0], metavar="S")
    add("--seeds", type=int, default=1, help="runs of each, seeds 0 on")
    add("--method", choices=["auto", *HEURISTICS], default="auto")
    add("--device", choices=PROCESSORS, default="cpu")
    add("--threads", type=int, default=2, help="of a run (default: 2)")
    add("--parallel", type=int, default=1, help="runs at once, on cores of their own")
    add("--data", metavar="FOLDER", help="benchmark files, for VRF")
    args = parser.parse_args(arguments)
    print(Machine())
    how = {"device": args.device, "threads": args.threads, "progress": "none"}
    tasks = [
        Task(problem, name, label, limit, seed, args.method, how, args.data)
        for problem in args.problem
        for name in args.classes
        for limit in args.limits
        for label in (
            f"ta{FIRST[name] + member - 1:03}" if name in FIRST else f"{name}_{member}"
            for member in args.members
        )
        for seed in range(args.seeds)
    ]
    context = get_context("spawn")
    cores = context.SimpleQueue()
    mine = sorted(os.sched_getaffinity(0))
    if args.parallel * args.threads > len(mine):
        parser.error(f"--parallel: expected {args.threads} cores each of {len(mine)}")
    for first in range(0, args.parallel * args.threads, args.threads):
        cores.put(set(mine[first : first + args.threads]))
    with context.Pool(args.parallel, pin, (cores,)) as pool:
        done = pool.map(Task.run, tasks, chunksize=1)
    shares: dict[tuple[str, str, float], dict[str, list[float]]] = {}
    for task, share, _ in done:
        key = task.problem, task.name, task.limit
        shares.setdefault(key, {}).setdefault(task.label, []).append(share)
    print("\n| problem | class | s | ARPD, % | worst, % |\n|---|---|---|---|---|")
    for (problem, name, limit), found in shares.items():
        mean = statistics.fmean(statistics.median(one) for one in found.values())
        worst = max(max(one) for one in found.values())
        print(f"| {problem} | {name} | {limit:g} | {mean:.3f} | {worst:.2f} |")
    wrong = sum(not right for _, _, right in done)
    print(f"{wrong} runs are WRONG" if wrong else "all schedules are right")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
