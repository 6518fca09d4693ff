"""What the page is given: one snapshot for all viewers, and runs that are over."""

from dataclasses import replace
from types import SimpleNamespace

import dask
import pytest

from dpbb.cluster.scheduler import monitor as monitoring
from dpbb.cluster.scheduler.monitor import (
    FRESH_S,
    NOTICES,
    Monitor,
    configured_notifier,
)
from dpbb.cluster.scheduler.seats import SeatTable
from dpbb.coordination.messages import RunSpec
from dpbb.coordination.snapshot import RunState
from dpbb.options import TreeOptions
from dpbb.progress.notices import Notifier
from tests.unit.cluster.support import Clock
from tests.unit.dashboard.fakes import BASE, PROBLEM


class FakeRun:
    def __init__(self, run_id, clock, cost_s=0.0):
        spec = RunSpec(run_id=run_id, problem=PROBLEM, tree=TreeOptions())
        self.coordinator = SimpleNamespace(spec=spec)
        self.run_id, self.clock, self.cost_s, self.made = run_id, clock, cost_s, 0

    def snapshot(self, now):
        self.made += 1
        self.clock.now += self.cost_s
        return replace(BASE, run_id=self.run_id, seconds=now)


def world():
    clock = Clock()
    clock.now = 100.0
    hub = SimpleNamespace(runs={}, finished={})
    return hub, clock, Monitor(hub, clock)


def test_devices_with_what_their_workers_say_of_them():
    hub, clock, _ = world()
    hub.table = SeatTable()
    device = {"kind": "cuda", "uuid": "GPU-1", "index": 0, "threads": 1, "name": "H200"}
    address = "tcp://10.0.0.1:1"
    hub.table.announce(address, 1, [{"id": "seat-1", **device}], name="a100")
    said = {address: {"cpu": {"utilization": 7.0}, "GPU-1": {"watts": 650.0}}}
    monitor = Monitor(hub, clock, readings=said.__getitem__)
    (idle,) = monitor.devices()
    assert (idle.name, idle.model, idle.watts) == ("a100/cuda0", "H200", 650.0)
    assert (idle.instance, idle.utilization) == ("", None)
    hub.runs["a"] = FakeRun("a", clock)
    assert monitor.devices() == (idle,)  # one answer for all viewers
    clock.now += FRESH_S
    (busy,) = monitor.devices()
    assert (busy.instance, busy.nodes_per_second) == ("three", 1e6)
    view = monitor.view("a")
    assert ("bound", "auto") in view.parameters or ("bound", "lb1") in view.parameters
    hub.runs["b"] = FakeRun("b", clock)
    clock.now += FRESH_S
    assert monitor.devices()[0].instance == "three b"
    assert view.best_known is None


class Listener(Notifier):
    def __init__(self, target):
        super().__init__(None)
        self.target, self.told = target, []

    def tell(self, event, facts):
        self.told.append((event, facts["run"]))


def test_ends_and_failures_and_want_of_seats_are_told(monkeypatch):
    monkeypatch.setattr(monitoring, "Notifier", Listener)
    over = replace(BASE, run_id="a", state=RunState.FINISHED, termination="stopped")
    failed = replace(over, run_id="b", state=RunState.FAILED)
    hub, clock, _ = world()
    for shot in (over, failed):
        hub.finished[shot.run_id] = SimpleNamespace(snapshot=shot)
    hungry = FakeRun("c", clock)
    hungry.snapshot = lambda _: replace(
        BASE, run_id="c", seats=(), waits_for="no workers connected"
    )
    hub.runs["c"] = hungry
    with dask.config.set({NOTICES: "tell-me"}):
        monitor = Monitor(hub, clock, notifier=configured_notifier())
    for run_id in ("a", "b", "c"):
        monitor.changed(run_id)
    monitor.tick()
    monitor.tick()
    assert monitor.notifier.target == "tell-me"
    assert monitor.notifier.told == [("end", "a"), ("failure", "b"), ("no-seats", "c")]


@pytest.mark.parametrize("target", [None, "no-such-command-anywhere"])
def test_without_the_setting_or_by_a_bad_one_nobody_is_told(target, caplog):
    with dask.config.set({NOTICES: target}):
        assert configured_notifier()._send is None
    assert (target is not None) == ("no-such-command" in caplog.text)
