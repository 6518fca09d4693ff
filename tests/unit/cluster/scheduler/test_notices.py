"""Whom a scheduler tells of its runs: as its own configuration says."""

from dataclasses import replace
from types import SimpleNamespace

import dask
import pytest

from dpbb.cluster.scheduler import notices
from dpbb.cluster.scheduler.notices import CONFIG, Notices
from dpbb.coordination.snapshot import RunState
from dpbb.progress.notices import Notifier
from tests.unit.dashboard.fakes import BASE


class Listener(Notifier):
    def __init__(self, target):
        super().__init__(None)
        self.target, self.told = target, []

    def tell(self, event, facts):
        self.told.append((event, facts["run"]))


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setattr(notices, "Notifier", Listener)


def hub(**finished):
    over = {name: SimpleNamespace(snapshot=shot) for name, shot in finished.items()}
    return SimpleNamespace(runs={}, finished=over)


def test_ends_and_failures_and_want_of_seats(told):
    over = replace(BASE, run_id="a", state=RunState.FINISHED, termination="stopped")
    world = hub(a=over, b=replace(over, run_id="b", state=RunState.FAILED))
    hungry = replace(BASE, run_id="c", seats=(), waits_for="no workers connected")
    world.runs["c"] = SimpleNamespace(
        id="c", seats=set(), waits_for="no workers", snapshot=lambda _: hungry
    )
    with dask.config.set({CONFIG: "tell-me"}):
        some = Notices(world)
    for run_id in ("a", "b", "c"):
        some.changed(run_id)
    some.tick()
    some.tick()
    assert some._notifier.target == "tell-me"
    assert some._notifier.told == [("end", "a"), ("failure", "b"), ("no-seats", "c")]
