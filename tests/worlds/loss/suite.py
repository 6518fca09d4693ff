"""What a kill costs: at every instant of a run by its timestamps, and by a real kill.

A run each with a scheduler and workers of its own, which are processes of Dask's own
commands. Its checkpoints are all kept: they say until when they hold the work of every
seat, and the folder, since when they have been there. After some intervals, at a moment
that is drawn, all processes are killed (SIGKILL), and the newest checkpoint is compared
with what had been explored by then.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpbb
from dpbb.errors import OptionError
from dpbb.options.table import EngineName
from tests.processes import DaskProcesses
from tests.worlds.loss.timeline import newest, read_folder, worst

if TYPE_CHECKING:
    import argparse

TREES = {"cpu": ("ta056", 3679), "gpu": ("VFR30_20_10", 2805)}
"""Instance and cutoff; a run that is over before it is killed is an error."""

SLACK_S = 2.0
"""A kill may cost an interval and this."""

KEPT = 100_000
START_S = 120.0


@dataclass(frozen=True, slots=True)
class Case:
    """A run: so many seats of a kind, and seconds between checkpoints."""

    kind: str
    seats: int
    interval_s: float


@dataclass(frozen=True, slots=True)
class Loss:
    """What a run has shown, in seconds since it was opened.

    Parameters
    ----------
    checkpoints
        Written before the kill.
    worst_s
        Lost at the worst instant of all, by the timestamps.
    killed_s, lost_s
        When everything was killed, and the age of what the newest checkpoint covers.
    """

    checkpoints: int
    worst_s: float
    killed_s: float
    lost_s: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument(
        "--seats", type=int, nargs="*", default=[1, 2, 4], help="CPU seats (1 2 4)"
    )
    parser.add_argument(
        "--gpus", type=int, nargs="*", default=[], help="GPU seats, such as 1 2"
    )
    parser.add_argument(
        "--intervals", type=float, nargs="+", default=[5.0, 15.0, 60.0],
        metavar="SECONDS", help="between checkpoints (5 15 60)",
    )  # fmt: skip
    parser.add_argument(
        "--periods", type=float, default=3.0,
        help="intervals before the kill, which comes up to one interval later (3)",
    )  # fmt: skip
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="kills of every case"
    )
    parser.add_argument("--seed", type=int, default=1, help="draws the moments")
    parser.add_argument("--data", metavar="FOLDER", help="VRF files, for GPUs")
    parser.add_argument("--json", type=Path, help="file of all rows")


def run(args: argparse.Namespace) -> int:
    """Run all cases; returns 1 if one has lost more than its interval and 2 s."""
    if min([*args.seats, *args.gpus, args.repeat]) < 1:
        raise OptionError("--seats, --gpus, --repeat: expected >= 1")
    kinds = [*product(["cpu"], args.seats), *product(["gpu"], args.gpus)]
    cases = [Case(*kind, interval) for kind in kinds for interval in args.intervals]
    rng = random.Random(args.seed)  # noqa: S311 - no secret
    rows = []
    print(" seats interval | written   worst | killed at    lost")
    for case in cases * args.repeat:
        found = killed(case, rng.random(), args.periods, args.data)
        print(
            f"{case.seats} {case.kind} {case.interval_s:6.0f} s | "
            f"{found.checkpoints:7} {found.worst_s:5.2f} s | "
            f"{found.killed_s:7.2f} s {found.lost_s:5.2f} s",
            flush=True,
        )
        rows.append((case, found))
    if args.json is not None:
        table = [asdict(case) | asdict(found) for case, found in rows]
        args.json.write_text(json.dumps(table, indent=1))
    return int(any(f.worst_s > case.interval_s + SLACK_S for case, f in rows))


def killed(case: Case, share: float, periods: float, data: str | None) -> Loss:
    """Run a case, kill all of it, and see what is left.

    Parameters
    ----------
    share
        Of an interval, after ``periods`` of them: the moment of the kill.
    """
    from distributed import Client

    name, cutoff = TREES[case.kind]
    instance = dpbb.read_instance(name, data_dir=data)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        dask = DaskProcesses(environ={"DPBB_SEATS": case.kind})
        try:
            dask.start_scheduler()
            for n in range(case.seats):
                if case.kind == "gpu":
                    dask.environ["CUDA_VISIBLE_DEVICES"] = str(n)
                dask.add_worker()
            with Client(dask.address, timeout=60, set_as_default=False) as client:
                client.wait_for_workers(case.seats, timeout=START_S)
                submitted = dpbb.submit(
                    instance, client=client, engine=EngineName(case.kind),
                    cutoff=cutoff, heuristics="none", checkpoint=str(folder),
                    checkpoint_interval_s=case.interval_s,
                    tuning={"checkpoint_keep": KEPT},
                )  # fmt: skip
                there = _until_all_explore(submitted, case)
                end = there + (periods + share) * case.interval_s
                time.sleep(max(0.0, end - time.time()))
                shot = submitted.snapshot()
                opened = time.time() - shot.seconds
                if submitted.done():
                    raise OptionError(
                        f"{name} below {cutoff}: expected a tree that lasts until the "
                        f"kill, got one of {shot.nodes:,} nodes"
                    )
                moment = _kill_all(dask)
        finally:
            dask.end_all()
        killed_s = moment - opened
        saved = read_folder(folder, opened)
        last = newest(saved, killed_s)
        if last is None:
            raise OptionError("--periods: expected enough for a checkpoint")
        return Loss(
            len(saved), worst(saved, killed_s), killed_s, killed_s - last.covered_s
        )


def _until_all_explore(submitted: Any, case: Case) -> float:
    """Wait until every seat has reported; return when, in seconds since the epoch."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        seats = submitted.snapshot().seats
        if len(seats) == case.seats and all(seat.decomposed > 0 for seat in seats):
            return time.time()
        time.sleep(0.1)
    raise OptionError(f"expected {case.seats} {case.kind} seats to explore, got fewer")


def _kill_all(dask: DaskProcesses) -> float:
    """Kill everything at once; return when, in seconds since the epoch."""
    processes = [p for p in [dask.scheduler, *dask.workers] if p is not None]
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # of the client
    moment = time.time()
    for process in processes:
        os.kill(process.pid, signal.SIGKILL)
    return moment
