"""Shops beside OR-Tools CP-SAT, as PyJobShop states them: what is proved, and when.

    python -m tests.bench.beside --limit-s 180

Both get the same two cores, one after the other, from nothing; compiled code of dpbb
comes from its cache, as a first run of each kind does not count.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import dpbb
from dpbb.bench.common import Machine
from dpbb.flowshop.family import read_problem
from dpbb.flowshop.pyjobshop import pyjobshop_model

KINDS: dict[str, dict[str, Any]] = {
    "blocking": {"blocking": True},
    "total-completion": {"objective": "total-completion"},
}
INSTANCES = ("ta002", "ta006", "ta010", "ta013", "ta017", "ta030")
HEADER = "| instance | problem | dpbb | s | nodes | CP-SAT | bound | s |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each instance and kind; 1 if the two contradict each other."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--instances", nargs="+", default=INSTANCES, metavar="NAME")
    add("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    add("--limit-s", type=float, default=180.0, help="of each run")
    add("--threads", type=int, default=2, help="of both")
    args = parser.parse_args(arguments)
    print(f"{Machine()}; {args.threads} threads, {args.limit_s:g} s each\n")
    print(HEADER)
    print("|---" * HEADER.count(" |") + "|")
    wrong = 0
    for kind in args.kinds:
        _ours(args.instances[0], kind, args.threads, 1.0)
        for name in args.instances:
            began = time.perf_counter()
            ours = _ours(name, kind, args.threads, args.limit_s)
            seconds = time.perf_counter() - began
            model = pyjobshop_model(read_problem(name, **KINDS[kind]))
            theirs = model.solve(
                time_limit=args.limit_s, num_workers=args.threads, display=False
            )
            low, high = theirs.lower_bound, theirs.objective
            found = ours.makespan or 0
            mine = f"{found}{_mark(ours.lower_bound, found)}"
            row = name, kind, mine, f"{seconds:.1f}", f"{ours.nodes:,}"
            other = f"{high:g}{_mark(low, high)}", f"{low:g}", f"{theirs.runtime:.1f}"
            print("|", " | ".join((*row, *other)), "|", flush=True)
            wrong += low > found or high < ours.lower_bound
    return int(wrong > 0)


def _ours(name: str, kind: str, threads: int, limit_s: float) -> dpbb.Result:
    return dpbb.solve(
        read_problem(name, **KINDS[kind]), engine="cpu", workers=0, threads=threads,
        time_limit_s=limit_s, progress="none",
    )  # fmt: skip


def _mark(low: float, high: float) -> str:
    """Return a mark behind what is proved."""
    return " =" if low == high else ""


if __name__ == "__main__":
    sys.exit(main())
