"""Cold processes: from ``dpbb solve NAME`` at the prompt to the printed proof.

Wall time of the whole process, interpreter, heuristics, cluster and kernels from their
cache included, with no hints. The first process after an installation compiles those
kernels; it is run beforehand and not counted. The exit code is 1 when a makespan is
not the best known or a run ends without a proof.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dpbb.errors import OptionError
from dpbb.flowshop.best_known import best_known
from dpbb.flowshop.taillard import taillard_instance
from dpbb.own_process import command_of
from dpbb.text.json_text import json_text

if TYPE_CHECKING:
    import argparse

EASY = [
    *(f"ta{number:03d}" for number in range(1, 21)),
    *("ta022", "ta028", "ta029", "ta030"),
    *(f"ta{number:03d}" for number in range(31, 41)),
]
"""Instances that one workstation proves in seconds."""


@dataclass(frozen=True, slots=True)
class ColdRun:
    """All repetitions of one instance; ``seconds`` is the wall time of each process."""

    instance: str
    digest: str
    makespan: int
    proved: bool
    best_known: bool
    engine: str
    decomposed: int
    leaves: int
    seconds: tuple[float, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--instances", nargs="+", default=EASY, metavar="NAME")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each instance")
    parser.add_argument("--limit-s", type=float, default=120.0, help="end a run then")
    parser.add_argument("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 if every makespan is the best known and proved."""
    if args.repeat < 1:
        raise OptionError(f"--repeat: expected at least 1, got {args.repeat}")
    _solve(args.instances[0], args.limit_s)
    results = []
    print(
        "instance  makespan  proved  best known   decomposed  median s   least    most"
    )
    for name in args.instances:
        result = measure(name, args.repeat, args.limit_s)
        results.append(result)
        print(
            f"{result.instance:<10}{result.makespan:>8}{_yes(result.proved):>8}"
            f"{_yes(result.best_known):>12}{result.decomposed:>13}"
            f"{statistics.median(result.seconds):>10.2f}{min(result.seconds):>8.2f}"
            f"{max(result.seconds):>8.2f}",
            flush=True,
        )
    if args.json is not None:
        args.json.write_text(json_text([asdict(result) for result in results]))
    return int(not all(result.proved and result.best_known for result in results))


def measure(name: str, repeat: int, limit_s: float) -> ColdRun:
    """Solve one of Taillard's instances in ``repeat`` processes."""
    instance = taillard_instance(name)
    known = best_known(instance.name)
    seconds = []
    for _ in range(repeat):
        began = time.perf_counter()
        result = _solve(name, limit_s)
        seconds.append(time.perf_counter() - began)
    return ColdRun(
        instance=instance.name,
        digest=instance.digest,
        makespan=result["makespan"],
        proved=result["status"] == "optimal",
        best_known=known is not None and result["makespan"] == known.upper_bound,
        engine=result["engine"],
        decomposed=result["decomposed"],
        leaves=result["leaves"],
        seconds=tuple(seconds),
    )


def _solve(name: str, limit_s: float) -> dict[str, Any]:
    """Run one process; return the result that it prints."""
    command = command_of("dpbb", "solve", name, "--json", "--quiet")
    done = subprocess.run(  # noqa: S603 - our own command
        [*command, "--time-limit", str(limit_s)],
        stdout=subprocess.PIPE,
        check=False,
        timeout=limit_s + 60,
    )
    return cast("dict[str, Any]", json.loads(done.stdout))


def _yes(value: bool) -> str:
    return "yes" if value else "NO"
