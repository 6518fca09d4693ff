"""The first solve after an installation, on a busy machine, with a second to go.

Every run is a process of its own with an empty cache of compiled code, beside processes
that keep the cores busy. Its schedule has to be no worse than NEH's. The exit code is
1 otherwise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from dpbb.errors import OptionError
from dpbb.flowshop.heuristics.plain import neh
from dpbb.flowshop.heuristics.search import Search
from dpbb.flowshop.taillard import taillard_instance
from dpbb.own_process import command_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

PATIENCE_S = 300.0
"""A process that has not ended so long after its limit hangs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the world's arguments."""
    every = [f"ta{number:03d}" for number in range(1, 121)]
    parser.add_argument("--instances", nargs="+", default=every, metavar="NAME")
    parser.add_argument("--limit-s", type=float, default=1.0, help="of a solve")
    parser.add_argument("--busy", type=int, default=4, help="processes beside a solve")
    parser.add_argument("--cores", type=int, default=2, help="for all of them together")


def run(args: argparse.Namespace) -> int:
    """Run the world; returns 0 if no schedule is worse than NEH's."""
    if args.busy < 0 or args.cores < 1:
        raise OptionError(
            f"expected --busy from 0 and --cores from 1 on, got {args.busy}, "
            f"{args.cores}"
        )
    worse = 0
    print("instance      NEH  makespan  above best known  NEH's   seconds  found by")
    with _busy(args.busy, args.cores):
        for name in args.instances:
            instance = taillard_instance(name)
            limit = neh(Search(instance, 0)).value
            result = _solve(name, args.limit_s, args.cores)
            found = result["makespan"]
            known = instance.best_known
            best = found if known is None else known.upper_bound
            worse += found > limit
            print(
                f"{name:<8}{limit:>9}{found:>10}{100 * (found / best - 1):>16.2f} %"
                f"{100 * (limit / best - 1):>7.2f} %{result['seconds']:>8.2f}"
                f"  {result['trajectory'][-1]['source']}"
                f"{'  WORSE' if found > limit else ''}",
                flush=True,
            )
    print(f"{len(args.instances)} instances, {worse} worse than NEH's schedule")
    return int(worse > 0)


def _solve(name: str, limit_s: float, cores: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(  # noqa: S603 - our own command
            [
                *command_of("dpbb", "solve", name, "--json", "--quiet"),
                *("--time-limit", str(limit_s)),
            ],
            stdout=subprocess.PIPE,
            check=False,
            timeout=limit_s + PATIENCE_S,
            env={**os.environ, "NUMBA_CACHE_DIR": empty},
            preexec_fn=lambda: _confine(cores),
        )
    return cast("dict[str, Any]", json.loads(done.stdout))


@contextmanager
def _busy(count: int, cores: int) -> Iterator[None]:
    """Keep cores busy by processes in endless loops."""
    loops = [
        subprocess.Popen(
            [sys.executable, "-c", "while True: pass"],
            preexec_fn=lambda: _confine(cores),
        )
        for _ in range(count)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


def _confine(cores: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
