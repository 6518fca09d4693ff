"""What the page is given: one snapshot for all viewers, and runs that are over."""

from dataclasses import replace
from types import SimpleNamespace

from dpbb.cluster.scheduler.monitor import FRESH_S, KEPT_RUNS, Monitor
from dpbb.coordination.snapshot import RunState
from tests.unit.dashboard.fakes import BASE, PROBLEM


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class FakeRun:
    def __init__(self, run_id, clock, cost_s=0.0):
        spec = SimpleNamespace(problem=PROBLEM)
        self.coordinator = SimpleNamespace(spec=spec)
        self.run_id, self.clock, self.cost_s, self.made = run_id, clock, cost_s, 0

    def snapshot(self, now):
        self.made += 1
        self.clock.now += self.cost_s
        return replace(BASE, run_id=self.run_id, seconds=now)


def world():
    clock = Clock()
    hub = SimpleNamespace(runs={}, finished={})
    return hub, clock, Monitor(hub, clock)


def finish(hub, run_id):
    del hub.runs[run_id]
    over = replace(BASE, run_id=run_id, state=RunState.FINISHED)
    hub.finished[run_id] = SimpleNamespace(snapshot=over)


def test_viewers_share_a_snapshot():
    hub, clock, monitor = world()
    run = hub.runs["a"] = FakeRun("a", clock)
    for _ in range(10):
        monitor.tick()
        assert monitor.view("a").snapshot.seconds == 100.0
    assert run.made == 1
    clock.now += FRESH_S
    assert monitor.view("a").snapshot.seconds == 100.0 + FRESH_S
    assert run.made == 2


def test_snapshots_that_take_long_are_made_less_often():
    hub, clock, monitor = world()
    run = hub.runs["a"] = FakeRun("a", clock, cost_s=0.1)
    monitor.tick()
    clock.now += 9.0
    monitor.tick()
    assert run.made == 1
    clock.now += 1.0
    monitor.tick()
    assert run.made == 2


def test_finished_runs_stay_after_their_results_are_taken():
    hub, clock, monitor = world()
    hub.runs["a"] = FakeRun("a", clock)
    monitor.changed("a")
    finish(hub, "a")
    monitor.changed("a")
    hub.finished.clear()
    assert monitor.run_ids() == ["a"]
    seen = monitor.view("a")
    assert seen.snapshot.state is RunState.FINISHED
    assert seen.problem is PROBLEM
    assert seen.history.complete
    assert monitor.snapshots() == []


def test_the_oldest_finished_runs_are_forgotten():
    hub, clock, monitor = world()
    hub.runs["open"] = FakeRun("open", clock)
    monitor.tick()
    for number in range(KEPT_RUNS + 5):
        run_id = f"run-{number}"
        hub.runs[run_id] = FakeRun(run_id, clock)
        monitor.tick()
        finish(hub, run_id)
        monitor.changed(run_id)
    known = monitor.run_ids()
    assert len(known) == KEPT_RUNS + 1
    assert known[:2] == ["open", "run-5"]
    assert monitor.view("run-0") is None


def test_an_unknown_run():
    _, _, monitor = world()
    monitor.changed("nobody")
    assert monitor.view("nobody") is None
