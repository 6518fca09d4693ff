"""Snapshots and a feed for the tests of the page."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from dpbb.coordination.snapshot import (
    EventRecord,
    Improvement,
    RunState,
    SeatSnapshot,
    Snapshot,
)
from dpbb.dashboard.feed import DeviceRow, History, RunView
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem

TIMES = np.array([[3, 2], [1, 4], [2, 2]])
PROBLEM = FlowShopProblem(FlowShopInstance("three", TIMES))


def seat(number, *, rate=1e6, engine="cpu", busy=True, **changes):
    return SeatSnapshot(
        seat=f"seat-{number}", worker=f"tcp://10.0.0.{number // 4}:1", device="cpu",
        engine=engine, busy=busy, nodes_per_second=rate, **changes,
    )  # fmt: skip


BASE = Snapshot(
    run_id="abc", instance="three", state=RunState.RUNNING, seconds=10.0, value=12,
    permutation=(1, 0, 2), ub=12, lower_bound=9, gap=0.25, decomposed=1_500_000,
    leaves=7, nodes_per_second=2e6, explored=0.5, waiting=1, leased=2, open_roots=40,
    donations=3, requeues=1, seats=(seat(1), seat(2, engine="gpu", rate=3e6)),
    trajectory=(Improvement(0.0, 14, "start"), Improvement(2.0, 12, "seat-1")),
    spans=((0.25, 0.5, "leased"), (0.75, 1.0, "waiting")),
    events=(EventRecord(1.0, "seat", "<b>seat-1</b> joined"),), units=4,
    closed=(0, 2, 5, 1), engine_nodes=(("cpu", 500_007), ("gpu", 1_000_000)),
)  # fmt: skip


def view(**changes):
    snapshot = replace(BASE, **changes)
    history = History()
    history.note(replace(snapshot, seconds=0.0, engine_nodes=()))
    history.note(snapshot)
    return RunView(snapshot, history, PROBLEM)


@dataclass
class FakeFeed:
    """Runs that a test makes up."""

    views: dict[str, RunView] = field(default_factory=dict)

    def run_ids(self):
        return list(self.views)

    def view(self, run_id):
        return self.views.get(run_id)

    def devices(self):
        return (
            DeviceRow("0/cpu0", "tcp://10.0.0.1:1", "a processor", heard_ago_s=2.0),
        )

    def add(self, run_id, **changes):
        self.views[run_id] = view(run_id=run_id, **changes)


class FakeControls:
    """Notes what was asked for."""

    key = "secret"
    refused = None

    def __init__(self):
        self.stopped = []

    async def stop(self, run_id):
        self.stopped.append(run_id)
        return "Stopped."

    async def save(self, run_id):
        raise OSError("no space left")
