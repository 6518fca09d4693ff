"""Runs under kills, stops, restarts and a failing store, one cluster each.

Schedulers and workers are processes of Dask's own commands (``arena.py``). Every run is
a line of ``records.jsonl`` in the folder: a campaign that was stopped goes on with the
next seed. The exit code is 1 if a run was lost, stuck or counted wrong.
"""

from __future__ import annotations

import json
import shutil
import signal
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dpbb.errors import OptionError
from tests.worlds.campaign.arena import FINE, OUTCOMES, Record, one_run

if TYPE_CHECKING:
    import argparse

FILE = "records.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--runs", type=int, default=20, help="in all (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument(
        "--dir", type=Path, required=True, help="folder of the campaign"
    )


def run(args: argparse.Namespace) -> int:
    """Run what is missing; returns 0 if every run ended as it has to."""
    # the processes of a run end with the campaign, also by SIGTERM
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _run(args)
    finally:
        signal.signal(signal.SIGTERM, former)


def _run(args: argparse.Namespace) -> int:
    if args.runs < 1:
        raise OptionError(f"--runs: expected at least 1, got {args.runs}")
    args.dir.mkdir(parents=True, exist_ok=True)
    file = args.dir / FILE
    records = read_records(file)
    known = {record.seed for record in records}
    for seed in range(args.seed, args.seed + args.runs):
        if seed in known:
            continue
        folder = args.dir / f"run-{seed}"
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was cut off
        record = one_run(seed, folder)
        with file.open("a") as out:
            out.write(json.dumps(asdict(record)) + "\n")
        records.append(record)
        print(
            f"seed {seed}: {record.instance}, {record.seconds} s, "
            f"{', '.join(record.faults)}: {record.outcome} {record.about}",
            flush=True,
        )
        if record.outcome == "ok":
            shutil.rmtree(folder, ignore_errors=True)
    print(table(records))
    return int(any(record.outcome not in FINE for record in records))


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
