"""Runs under kills, stops, restarts and a failing store, one cluster each.

Schedulers and workers are processes of Dask's own commands (``arena.py``); every run is
a process of its own with a folder and a port of its own, so that several can run beside
each other, and one that does not end can be killed with all that it started. Every run
is a line of ``records.jsonl`` in the folder: a campaign that was stopped goes on with
the seeds that are missing. The exit code is 1 if a run was lost, stuck or counted
wrong.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dpbb.errors import OptionError
from tests.worlds.campaign.arena import FINE, OUTCOMES, Record

if TYPE_CHECKING:
    import argparse

FILE = "records.jsonl"
ROOT = Path(__file__).resolve().parents[3]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--runs", type=int, default=20, help="in all (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument(
        "--dir", type=Path, required=True, help="folder of the campaign"
    )
    parser.add_argument(
        "--side-by-side",
        type=int,
        default=1,
        metavar="N",
        help="so many runs at a time (default 1); each takes up to 6 processes",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="a run that takes longer is killed, and stuck (default 300)",
    )
    parser.add_argument(
        "--begin-within",
        type=float,
        metavar="SECONDS",
        help="no run begins later; call it again for those that are missing",
    )


def run(args: argparse.Namespace) -> int:
    """Run what is missing; returns 0 if every run ended as it has to."""
    for name in ("runs", "side_by_side", "limit"):
        if getattr(args, name) < 1:
            flag = f"--{name.replace('_', '-')}"
            raise OptionError(f"{flag}: expected at least 1, got {getattr(args, name)}")
    # the processes of a run end with the campaign, also by SIGTERM
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return Campaign(args).run()
    finally:
        signal.signal(signal.SIGTERM, former)


class Campaign:
    """Runs what is missing, several at a time.

    Parameters
    ----------
    args
        As ``add_arguments`` has them.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        args.dir.mkdir(parents=True, exist_ok=True)
        self._args = args
        self._dir: Path = args.dir
        self._file = args.dir / FILE
        self._records = read_records(self._file)
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._over = False
        self._processes: set[subprocess.Popen[str]] = set()

    def run(self) -> int:
        """Return the exit code."""
        args = self._args
        known = {record.seed for record in self._records}
        wanted = range(args.seed, args.seed + args.runs)
        with ThreadPoolExecutor(args.side_by_side) as pool:
            try:
                waiting = [
                    pool.submit(self._one, seed) for seed in wanted if seed not in known
                ]
                for one in as_completed(waiting):
                    record = one.result()
                    if record is not None:
                        self._keep(record)
            finally:
                self._end_all()
        print(table(self._records))
        missing = set(wanted) - {record.seed for record in self._records}
        bad = [r for r in self._records if r.outcome not in FINE]
        print(
            f"{len(self._records)} runs, {len(bad)} not as they have to be"
            f"{' (seeds ' + ', '.join(str(r.seed) for r in bad) + ')' if bad else ''}, "
            f"{sum(r.in_time for r in self._records)} still open after their last "
            f"fault, {sum(len(r.faults) for r in self._records)} faults, "
            f"{len(missing)} runs missing, {time.monotonic() - self._began:.0f} s now"
        )
        return int(bool(bad))

    def _one(self, seed: int) -> Record | None:
        """Run what a seed says in a process; None if it is not to begin any more."""
        folder = self._dir / f"run-{seed}"
        within = self._args.begin_within
        command = [sys.executable, "-m", "tests.worlds.campaign.arena", str(seed)]
        with self._lock:
            late = within is not None and time.monotonic() - self._began > within
            if self._over or late:
                return None
            process = subprocess.Popen(  # noqa: S603 - our own module
                [*command, str(folder.resolve())],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
                text=True,
                process_group=0,
            )
            self._processes.add(process)
        began = time.monotonic()
        try:
            said, _ = process.communicate(timeout=self._args.limit)
        except subprocess.TimeoutExpired:
            said = ""
        finally:
            _end(process)
            with self._lock:
                self._processes.discard(process)
        if self._over:
            return None
        with contextlib.suppress(ValueError, TypeError, IndexError):
            return Record(**json.loads(said.splitlines()[-1]))
        seconds = round(time.monotonic() - began, 1)
        killed = seconds >= self._args.limit
        about = "killed at its limit" if killed else f"exit code {process.returncode}"
        return Record(seed, "?", "stuck" if killed else "error", about, seconds)

    def _keep(self, record: Record) -> None:
        with self._file.open("a") as out:
            out.write(json.dumps(asdict(record)) + "\n")
        self._records.append(record)
        print(
            f"seed {record.seed}: {record.instance}, {record.store}, "
            f"{record.seconds} s, {', '.join(record.faults)}: {record.outcome} "
            f"{record.about}",
            flush=True,
        )
        if record.outcome == "ok":
            shutil.rmtree(self._dir / f"run-{record.seed}", ignore_errors=True)

    def _end_all(self) -> None:
        with self._lock:
            self._over = True
            for process in self._processes:
                _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Kill a run's process, with all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def read_records(file: Path) -> list[Record]:
    """Read the runs that are done; a line that was cut off is not."""
    records = []
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            records.append(Record(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return records


def table(records: list[Record]) -> str:
    """Say how many runs ended how, and how often each fault was done to them."""
    faults = Counter(name for record in records for name in record.faults)
    outcomes = Counter(record.outcome for record in records)
    lines = [f"{'runs':20}{len(records):6}"]
    lines += [f"{name:20}{outcomes[name]:6}" for name in OUTCOMES]
    lines += [f"  {name:18}{count:6}" for name, count in sorted(faults.items())]
    return "\n".join(lines)
