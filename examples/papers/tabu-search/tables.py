"""Tabu search on a GPU: what shared columns gain, over the grid of the paper.

Sizes, and the published speed-ups of prefixes after 1000 generations, are those of
"Avoiding duplicated computation to improve the performance of PFSP on CUDA GPUs"; the
instances are of Taillard's generator. Both ways have to make the same moves: the exit
code is 1 when one does not. Cores have one way for both of them.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys

import dpbb
from dpbb.bench.common import Machine
from dpbb.flowshop.heuristics import tabu_gpu
from dpbb.flowshop.taillard import generate
from dpbb.kernels.nvrtc import has_gpu

PAPER = {
    **{"15x100": 0.61, "20x150": 0.85, "25x200": 1.03, "25x350": 1.33},
    **{"30x500": 1.34, "30x650": 1.36, "35x800": 1.37, "40x900": 1.5},
}
"""Machines x jobs; no sharing of prefixes can gain more than 1.5, with tails 3."""

WAYS = {"none": math.inf, "both": 0}
"""What neighbours share of their parent's columns, and from which size on."""


def main(arguments: list[str] | None = None) -> int:
    """Print a row for each size; 1 if ways make other moves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", default=list(PAPER), metavar="MxN")
    parser.add_argument("--generations", type=int, default=1000)
    parser.add_argument("--searches", type=int, default=1, help="side by side")
    parser.add_argument("--seeds", nargs="+", type=int, default=[101, 202, 303])
    args = parser.parse_args(arguments)
    device = "gpu" if has_gpu() else "cpu"
    print(f"{Machine()}; {device}, {args.searches} searches\n")
    print(
        "| machines x jobs | none, ms | both | both over none (worst) | paper, "
        "prefix over none | neighbours/s |\n" + "|---" * 6 + "|"
    )
    same = True
    for size in args.sizes:
        machines, jobs = map(int, size.split("x"))
        runs = {way: [] for way in WAYS}
        for seed in args.seeds:
            shop = generate(seed, jobs, machines).T
            for way, size_that_shares in WAYS.items():
                tabu_gpu.SHARING_PAYS = size_that_shares
                runs[way].append(
                    dpbb.tabu_search(
                        shop,
                        generations=args.generations,
                        searches=args.searches,
                        seed=seed,
                        device=device,
                    )
                )
            moves = [runs[way][-1].moves.tolist() for way in WAYS]
            if any(one != moves[0] for one in moves):
                print(f"WRONG: {size}, seed {seed}: other moves")
                same = False
        seconds = {way: [run.seconds for run in found] for way, found in runs.items()}
        ms = [1e3 * statistics.fmean(s) / args.generations for s in seconds.values()]
        pairs = zip(seconds["none"], seconds["both"], strict=True)
        gains = [none / shared for none, shared in pairs]
        rate = max(run.neighbours_per_s for found in runs.values() for run in found)
        times = " | ".join(f"{one:.3g}" for one in ms)
        print(
            f"| {size} | {times} | {statistics.fmean(gains):.2f} ({min(gains):.2f}) | "
            f"{PAPER.get(size, '')} | {rate:.2g} |",
            flush=True,
        )
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
