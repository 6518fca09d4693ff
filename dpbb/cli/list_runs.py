"""``dpbb list``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dpbb.cli.remote import add_scheduler, connected
from dpbb.text.names import clean, middle

if TYPE_CHECKING:
    from dpbb.coordination.snapshot import Snapshot

HEADER = (
    "run", "instance", "state", "time", "left", "best", "bound", "gap", "nodes",
    "seats", "waiting for",
)  # fmt: skip

NAME_WIDTH = 32
"""Longer names are shortened in their middle; ``--json`` has them whole."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the scheduler and ``--json``."""
    add_scheduler(parser)
    parser.add_argument(
        "--json", action="store_true", help="a JSON object for each run, one a line"
    )


def run(args: argparse.Namespace) -> int:
    """Show every run that the cluster knows."""
    from dpbb.api import runs
    from dpbb.progress import snapshot_json

    with connected(args) as client:
        snapshots = runs(client)
    if args.json:
        for snapshot in snapshots:
            print(snapshot_json(snapshot))
        return 0
    rows = [HEADER, *map(_row, snapshots)]
    if not any(row[-1] for row in rows[1:]):
        rows = [row[:-1] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        print("  ".join(cell.ljust(width) for cell, width in cells).rstrip())
    return 0


def _row(snapshot: Snapshot) -> tuple[str, ...]:
    from dpbb.progress import format_count, format_seconds
    from dpbb.progress.words import left_text, shares_text, state_word

    return (
        snapshot.run_id,
        middle(clean(snapshot.instance), NAME_WIDTH),
        shares_text(snapshot) or state_word(snapshot),
        format_seconds(snapshot.seconds),
        left_text(snapshot) or "-",
        "-" if snapshot.value is None else str(snapshot.value),
        "-" if snapshot.lower_bound is None else str(snapshot.lower_bound),
        "-" if snapshot.gap is None else f"{snapshot.gap:.2%}",
        format_count(snapshot.nodes),
        str(len(snapshot.seats)),
        clean(snapshot.waits_for),
    )
