"""Cold processes: from ``dpbb solve NAME`` at the prompt to the printed proof.

Wall time of the whole process, interpreter, heuristics, cluster and kernels from their
cache included, with no hints. The first process after an installation, and on a GPU the
first of each shape, compiles those kernels; that is done beforehand and not counted.
The exit code is 1 when a makespan is not the best known or a run ends without a proof.
"""

import argparse
import json
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from dpbb.bench.common import check_counts, write_json
from dpbb.errors import DpbbError
from dpbb.flowshop.best_known import best_known
from dpbb.flowshop.taillard import taillard_instance
from dpbb.own_process import command_of

EASY = [
    *(f"ta{number:03d}" for number in range(1, 21)),
    *("ta022", "ta028", "ta029", "ta030"),
    *(f"ta{number:03d}" for number in range(31, 41)),
]
"""Instances that one workstation proves in seconds."""


WARM_S = 30.0
"""Time limit of the process that compiles, before those that count."""

AUTO = "auto"
"""Heuristics beside the tree with as many threads as suit the machine."""


@dataclass(frozen=True, slots=True)
class ColdRun:
    """All repetitions of one instance with one number of heuristic threads.

    ``seconds`` is the wall time of each process; all else is of the last one: after
    ``import_s`` dpbb was there, after ``first_s`` a schedule, after ``before_s`` the
    tree was opened (without one it was the end); then the seats explored for
    ``exploring_s`` and loaded or waited for ``idle_s``. The makespan was known after
    ``found_s``, by ``found_by``; ``trajectory`` has all incumbents, in seconds since
    the import.
    """

    instance: str
    digest: str
    threads: str
    makespan: int
    lower_bound: int
    proved: bool
    best_known: bool
    engine: str
    decomposed: int
    leaves: int
    seconds: tuple[float, ...]
    import_s: float
    first_s: float
    before_s: float
    idle_s: float
    exploring_s: float
    found_s: float
    found_by: str
    trajectory: tuple[dict[str, Any], ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--instances", nargs="+", default=EASY, metavar="NAME")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each instance")
    parser.add_argument("--limit-s", type=float, default=120.0, help="end a run then")
    parser.add_argument(
        "--heuristic-threads",
        nargs="+",
        default=[AUTO],
        metavar="N",
        help="arms: threads beside the tree, 0 for none, or auto; default: auto",
    )
    parser.add_argument("--engine", default=AUTO, help="engine that explores")
    parser.add_argument("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 if every makespan is the best known and proved."""
    check_counts(args, "repeat")
    results: list[ColdRun] = []
    print(
        "instance  beside  makespan   bound  proved  best known   decomposed  median s"
        "   least    most  import   first  before    idle  exploring  found s  by"
    )
    compiled: set[tuple[int, ...]] = set()
    for name in args.instances:
        shape = taillard_instance(name).times.shape
        for threads in args.heuristic_threads:
            if shape not in compiled:
                _compile(name, min(WARM_S, args.limit_s), args.engine)
                compiled.add(shape)
            result = measure(name, threads, args.engine, args.repeat, args.limit_s)
            results.append(result)
            print(_row(result), flush=True)
            write_json(args.json, results)  # should somebody end this
    return int(not all(result.proved and result.best_known for result in results))


def _row(result: ColdRun) -> str:
    return (
        f"{result.instance:<10}{result.threads:>6}{result.makespan:>10}"
        f"{result.lower_bound:>8}{_yes(result.proved):>8}"
        f"{_yes(result.best_known):>12}{result.decomposed:>13}"
        f"{statistics.median(result.seconds):>10.2f}{min(result.seconds):>8.2f}"
        f"{max(result.seconds):>8.2f}{result.import_s:>8.2f}{result.first_s:>8.2f}"
        f"{result.before_s:>8.2f}{result.idle_s:>8.2f}{result.exploring_s:>11.2f}"
        f"{result.found_s:>9.2f}  {result.found_by}"
    )


def measure(
    name: str, threads: str, engine: str, repeat: int, limit_s: float
) -> ColdRun:
    """Solve one of Taillard's instances in ``repeat`` processes."""
    instance = taillard_instance(name)
    known = best_known(instance.name)
    seconds = []
    for _ in range(repeat):
        began = time.perf_counter()
        result = _solve(name, limit_s, _options(threads, engine))
        seconds.append(time.perf_counter() - began)
    started_s = seconds[-1] - result["seconds"]  # the interpreter, before any clock
    steps = result["trajectory"]
    last = steps[-1] if steps else {}
    exploring_s = result["explore_seconds"] / max(1, len(result["seats"]))
    return ColdRun(
        instance=instance.name,
        digest=instance.digest,
        threads=threads,
        makespan=result["makespan"],
        lower_bound=result["lower_bound"],
        proved=result["status"] == "optimal",
        best_known=known is not None and result["makespan"] == known.upper_bound,
        engine=result["engine"],
        decomposed=result["decomposed"],
        leaves=result["leaves"],
        seconds=tuple(seconds),
        import_s=started_s,
        first_s=started_s + (steps[0]["seconds"] if steps else 0.0),
        before_s=started_s + result["seconds"] - result["tree_seconds"],
        idle_s=max(0.0, result["tree_seconds"] - exploring_s),
        exploring_s=exploring_s,
        found_s=started_s + last.get("seconds", 0.0),
        found_by=last.get("source", "nobody"),
        trajectory=tuple(steps),
    )


def _options(threads: str, engine: str) -> list[str]:
    beside = [] if threads == AUTO else ["--heuristic-threads", threads]
    return [*beside, "--engine", engine]


def _compile(name: str, limit_s: float, engine: str) -> None:
    """Fill the cache of kernels: a solve may end before all of them are compiled."""
    command = command_of("dpbb", "heuristic", name, "--time", "1", "--quiet")
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)  # noqa: S603
    _solve(name, limit_s, _options(AUTO, engine))


def _solve(name: str, limit_s: float, options: list[str]) -> dict[str, Any]:
    """Run one process; return the result that it prints, DpbbError without one."""
    command = command_of("dpbb", "solve", name, "--json", "--quiet", *options)
    done = subprocess.run(  # noqa: S603 - our own command
        [*command, "--time-limit", str(limit_s)],
        stdout=subprocess.PIPE,
        check=False,
        timeout=limit_s + 60,
    )
    if not done.stdout:
        raise DpbbError(
            f"dpbb solve {name}: expected a result, got none and exit code "
            f"{done.returncode}; what it said stands above"
        )
    return cast("dict[str, Any]", json.loads(done.stdout))


def _yes(value: bool) -> str:
    return "yes" if value else "NO"
