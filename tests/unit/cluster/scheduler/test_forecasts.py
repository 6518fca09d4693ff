"""What runs have left: asked for off the loop, counted down, dropped when it is old."""

import asyncio
import logging
import math

import pytest

from dpbb.cluster.scheduler import forecasts
from dpbb.cluster.scheduler.forecasts import Forecaster, text_of
from dpbb.cluster.scheduler.hub import Hub
from dpbb.cluster.scheduler.outlook import FIRST_S, Estimate
from dpbb.errors import DpbbError
from dpbb.estimation.background import Remainder
from dpbb.flowshop import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import Estimates, TreeOptions
from tests.specs import run_spec
from tests.unit.cluster.support import Clock, FakeShell, tiny_spec

FOUND = Remainder(1000.0, 900.0, 1100.0, (), (1000.0, 600.0, 200.0))
DOUBTFUL = Remainder(1000.0, 10.0, 9000.0, ("the probes disagree",))


def spec(run_id="run", **options):
    return run_spec(
        run_id=run_id,
        problem=FlowShopProblem(taillard_instance("ta014")),
        tree=TreeOptions(),
        upper_bound=1377,
        **options,
    )


@pytest.fixture
def hub():
    return Hub(FakeShell(), Clock())


@pytest.fixture
def asked(monkeypatch):
    """Estimates that were asked for; each answers ``FOUND``."""
    asked = []

    def estimate_saved(saved, problem, seed, is_wanted):
        asked.append((saved.totals.seconds, seed, is_wanted()))
        return FOUND

    monkeypatch.setattr(forecasts, "estimate_saved", estimate_saved)
    return asked


def tick(hub, times=1):
    """Let a forecaster look, and finish what it began."""

    async def look():
        forecaster = Forecaster(hub, hub._clock)
        for _ in range(times):
            forecaster.tick()
        await asyncio.gather(*forecaster._tasks)
        await forecaster.close()

    asyncio.run(look())


def test_a_better_schedule_leaves_less(hub, asked):
    hub.open(spec(), b"")
    run = hub.runs["run"]
    hub._clock.now = FIRST_S
    tick(hub)
    assert run.snapshot(FIRST_S).estimate_nodes == pytest.approx(1000, rel=0.05)
    best = taillard_instance("ta014").best_known.upper_bound
    assert best == 1377
    run.outlook.latest = Estimate(0, 0, 1378, (900, 1000, 1100), (1000.0, 600.0))
    assert run.snapshot(FIRST_S).estimate_nodes == pytest.approx(600, rel=0.05)


def test_a_doubtful_estimate_is_a_wide_range(hub, monkeypatch):
    monkeypatch.setattr(forecasts, "estimate_saved", lambda *_: DOUBTFUL)
    hub.open(spec(), b"")
    hub._clock.now = FIRST_S
    tick(hub)
    snapshot = hub.runs["run"].snapshot(FIRST_S)
    low, high = snapshot.left_nodes
    assert high / low == pytest.approx(900, rel=0.2)
    assert "rough: the probes disagree" in snapshot.events[-1].text


def test_a_run_is_estimated_when_it_is_old_enough(hub, asked):
    """Short runs never pay; long ones are asked at twice their age."""
    hub.open(spec(), b"")
    run = hub.runs["run"]
    hub._clock.now = FIRST_S - 1
    tick(hub)
    assert asked == []
    hub._clock.now = FIRST_S
    tick(hub, times=3)  # one at a time
    assert asked == [(FIRST_S, 0, True)]
    snapshot = run.snapshot(hub._clock())
    assert snapshot.estimate_nodes == pytest.approx(1000, rel=0.05)
    assert snapshot.estimate_s is None  # nothing explores
    assert snapshot.events[-1].kind == "estimate"
    hub._clock.now = 2 * FIRST_S - 1
    tick(hub)
    hub._clock.now = 2 * FIRST_S
    tick(hub)
    assert [seed for _, seed, _ in asked] == [0, 1]
    run.coordinator.fail("stopped by a test", hub._clock())
    assert run.snapshot(hub._clock()).estimate_nodes is None


def test_runs_that_do_not_want_it_are_left_alone(hub, asked):
    hub.open(spec(estimates=Estimates.OFF), b"")
    own = tiny_spec()
    hub.open(own, b"")  # it cannot encode itself
    hub._clock.now = 1e6
    tick(hub)
    tick(hub)
    assert asked == []
    estimates = [
        (name, event.text)
        for name, run in hub.runs.items()
        for event in run.snapshot(1e6).events
        if event.kind == "estimate"
    ]
    (one,) = estimates
    kind = own.problem.name
    assert one == (
        own.run_id,
        f"no estimate: kind {kind!r} has no encode() for its process",
    )


def test_a_failure_is_told_once(hub, monkeypatch, caplog):
    def fail(*_):
        raise DpbbError("no process")

    monkeypatch.setattr(forecasts, "estimate_saved", fail)
    hub.open(spec(), b"")
    hub._clock.now = FIRST_S
    with caplog.at_level(logging.WARNING):
        tick(hub)
    assert "run run: no estimate: no process" in caplog.text
    assert hub.runs["run"].outlook.due_s == math.inf
    snapshot = hub.runs["run"].snapshot(hub._clock())
    assert snapshot.estimate_nodes is None
    assert snapshot.events[-1].text == "no estimate: no process"


def test_what_is_not_wanted_any_more_is_forgotten(hub, monkeypatch):
    monkeypatch.setattr(forecasts, "estimate_saved", lambda *_: None)
    hub.open(spec(), b"")
    hub._clock.now = FIRST_S
    tick(hub)
    assert hub.runs["run"].outlook.latest is None


def test_an_open_run_is_sampled_by_a_process(hub, monkeypatch):
    """The whole tree of ta014 at 1377: 16,114 decomposed nodes and 13 leaves."""
    monkeypatch.setattr(forecasts, "LEAST_S", 20.0)  # it ends as soon as it is precise
    hub.open(spec(), b"")
    run = hub.runs["run"]
    saved = run.coordinator.checkpoint(0.0)
    found = forecasts.estimate_saved(
        saved, run.coordinator.spec.problem, 0, lambda: True
    )
    assert found.low <= found.nodes <= found.high
    assert found.nodes == pytest.approx(16_127, rel=0.5)


def test_events_say_whether_it_is_reliable():
    assert text_of(FOUND) == "about 1e+03 nodes left (9e+02 to 1.1e+03)"
    assert text_of(DOUBTFUL).endswith("rough: the probes disagree")
    beyond = Remainder(1e300, 5.0, 1e300, ("too many",))
    assert text_of(beyond).startswith("more than 10^300 nodes left, rough")
