"""Snapshots for the tests of the progress."""

from __future__ import annotations

from dataclasses import replace

from dpbb.coordination.snapshot import (
    CheckpointSnapshot,
    EventRecord,
    Improvement,
    Left,
    RunState,
    SeatSnapshot,
    Snapshot,
)

SNAPSHOT = Snapshot(
    run_id="r", instance="ta021", state=RunState.RUNNING, seconds=12.4, value=2297,
    permutation=(0, 1), ub=2297, lower_bound=2232, gap=65 / 2297, decomposed=41_200_000,
    leaves=12, nodes_per_second=3.3e6, explored=0.031, waiting=110, leased=8,
    open_roots=4, donations=0, requeues=0,
    seats=(SeatSnapshot("s", "w", "cpu", "cpu", True),) * 8,
    spans=((0.5, 0.75, "leased"), (0.75, 1.0, "waiting")),
)  # fmt: skip

BUSY = replace(
    SNAPSHOT,
    seconds=3725.0,
    trajectory=(Improvement(0.0, 2310, "start"), Improvement(12.0, 2297, "cpu0")),
    events=(
        EventRecord(1.0, "seat", "tcp://10.0.0.1:4000/cpu0 joined"),
        EventRecord(12.0, "incumbent", "2297 by cpu0"),
        EventRecord(100.0, "seat-lost", "tcp://10.0.0.9:4000/cpu0 left"),
    ),
    checkpoint=CheckpointSnapshot(
        url="/scratch/run", host="here", interval_s=30.0, last_s=3711.0, written=9,
        at_risk_s=15.0,
    ),
    seats_lost=1,
    left=Left((1.4e11, 2.1e11, 3.4e11), (7_200.0, 11_100.0, 18_000.0)),
)  # fmt: skip
