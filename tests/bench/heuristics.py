"""How good the schedules of heuristics are: percent above the best-known makespans.

    python -m tests.bench.heuristics --classes 50x20 --limits 30 60 --seeds 5

ARPD of a class is the mean over its instances of the median over seeds. Kernels are
compiled before the clock starts. The exit code is 1 where a schedule has not the
makespan that is said, or an incumbent is not better than the one before.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import dpbb
from dpbb.bench.common import Machine
from dpbb.flowshop.heuristics import DEVICES, HEURISTICS
from dpbb.flowshop.makespan import makespan

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST = {
    **{"20x5": 1, "20x10": 11, "20x20": 21, "50x5": 31, "50x10": 41, "50x20": 51},
    **{"100x5": 61, "100x10": 71, "100x20": 81, "200x10": 91, "200x20": 101},
    "500x20": 111,
}
"""Taillard's classes of ten instances; others are those of VRF, such as VFR100_20."""

WARM_S = {"cpu": 1.0, "gpu": 10.0}
"""Time limit of the run before the first one of a shape."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the percentage of each run, the ARPD of each class; 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--classes", nargs="+", default=["50x20", "100x20", "200x20", "500x20"]
    )
    parser.add_argument("--members", nargs="+", type=int, default=[*range(1, 11)])
    parser.add_argument("--limits", nargs="+", type=float, default=[60.0], metavar="S")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each, seeds 0 on")
    parser.add_argument("--method", choices=["auto", *HEURISTICS], default="auto")
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="of a run (default: 2)")
    parser.add_argument("--data", metavar="FOLDER", help="benchmark files, for VRF")
    args = parser.parse_args(arguments)
    print(Machine.this())
    warm, wrong, summary = set(), 0, []
    how = {"device": args.device, "threads": args.threads}
    for name in args.classes:
        medians: dict[float, list[float]] = {limit: [] for limit in args.limits}
        for member in args.members:
            label = f"{name}_{member}"
            if name in FIRST:
                label = f"ta{FIRST[name] + member - 1:03}"
            shop = dpbb.read_instance(label, data_dir=args.data)
            if shop.best_known is None:
                parser.error(f"--classes: no best-known makespan of {label}")
            if shop.times.shape not in warm:
                warm.add(shop.times.shape)
                limit_s = WARM_S[args.device]
                dpbb.heuristic(shop, args.method, time_limit_s=limit_s, **how)
            for limit in args.limits:
                shares = []
                for seed in range(args.seeds):
                    found = dpbb.heuristic(
                        shop, args.method, time_limit_s=limit, seed=seed, **how
                    )
                    value = makespan(shop.times, found.permutation or ())
                    values = [step.value for step in found.trajectory]
                    falls = all(one > two for one, two in pairwise(values))
                    wrong += value != found.makespan or not falls
                    shares.append(100 * (value / shop.best_known.upper_bound - 1))
                    last = found.trajectory[-1]
                    print(
                        f"{label:<12}{limit:>6g} s  seed {seed} {value:>7} "
                        f"{shares[-1]:>6.2f} %  {last.source} at {last.seconds:.1f} s",
                        flush=True,
                    )
                medians[limit].append(statistics.median(shares))
        summary += [
            f"| {name} | {limit:g} | {statistics.fmean(found):.3f} |"
            for limit, found in medians.items()
        ]
    print("\n| class | s | ARPD, % |\n|---|---|---|", *summary, sep="\n")
    print(f"{wrong} runs are WRONG" if wrong else "all schedules are right")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
