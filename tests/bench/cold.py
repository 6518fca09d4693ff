"""Cold processes: from ``dpbb solve NAME`` at the prompt to the printed proof.

    python -m tests.bench.cold --instances ta001 ta022 --engine gpu

Wall time of whole processes, interpreter, heuristics, cluster and kernels from their
cache included. Arguments that are not this program's are those of ``dpbb solve``. Of
each shape a process that compiles comes first and does not count. The exit code is 1
where a makespan is not the best known, or a run ends without a proof.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, cast

from dpbb.flowshop.taillard import taillard_instance
from dpbb.own_process import command_of

if TYPE_CHECKING:
    from collections.abc import Sequence

EASY = [
    *(f"ta{number:03d}" for number in range(1, 21)),
    *("ta022", "ta028", "ta029", "ta030"),
    *(f"ta{number:03d}" for number in range(31, 41)),
]
"""Instances that one workstation proves in seconds."""

WARM_S = 30.0
"""Time limit of the process that compiles."""

HEADER = "| instance | makespan | proved | s | least | most | first | tree | by |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each instance; 1 if one is not proved as the best known."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--instances", nargs="+", default=EASY, metavar="NAME")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each instance")
    parser.add_argument("--limit-s", type=float, default=120.0, help="end a run then")
    args, options = parser.parse_known_args(arguments)
    compiled, wrong = set(), 0
    print(HEADER)  # first schedule, tree: seconds until it was found, was opened
    print("|---" * HEADER.count(" |") + "|")
    for name in args.instances:
        shop = taillard_instance(name)
        if shop.times.shape not in compiled:
            compiled.add(shop.times.shape)
            solve(name, min(WARM_S, args.limit_s), options)
        runs = [solve(name, args.limit_s, options) for _ in range(args.repeat)]
        seconds, result = [run[0] for run in runs], runs[-1][1]
        known, steps = shop.best_known, result["trajectory"]
        proved = result["status"] == "optimal"
        best = known is not None and result["makespan"] == known.upper_bound
        wrong += not (proved and best)
        began = seconds[-1] - result["seconds"]  # the interpreter, before any clock
        first = began + (steps[0]["seconds"] if steps else 0.0)
        opened = seconds[-1] - result["tree_seconds"]
        print(
            f"| {name} | {result['makespan']}{'' if best else ' NOT THE BEST KNOWN'} | "
            f"{'yes' if proved else 'NO'} | {statistics.median(seconds):.2f} | "
            f"{min(seconds):.2f} | {max(seconds):.2f} | {first:.2f} | {opened:.2f} | "
            f"{steps[-1]['source'] if steps else ''} |",
            flush=True,
        )
    return int(wrong > 0)


def solve(
    name: str, limit_s: float, options: Sequence[str]
) -> tuple[float, dict[str, Any]]:
    """Run one process; return its seconds and the result that it prints."""
    command = command_of("dpbb", "solve", name, "--json", "--quiet", *options)
    began = time.perf_counter()
    done = subprocess.run(  # noqa: S603 (our own command)
        [*command, "--time-limit", str(limit_s)],
        stdout=subprocess.PIPE,
        check=False,
        timeout=limit_s + 60,
    )
    seconds = time.perf_counter() - began
    if not done.stdout:
        raise SystemExit(f"dpbb solve {name}: no result, exit code {done.returncode}")
    return seconds, cast("dict[str, Any]", json.loads(done.stdout))


if __name__ == "__main__":
    sys.exit(main())
