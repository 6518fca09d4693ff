"""What runs have left: asked for off the loop, counted down, dropped when it is old."""

import asyncio
from dataclasses import replace

import pytest

from dpbb.cluster.scheduler import forecasts
from dpbb.cluster.scheduler.forecasts import (
    FIRST_S,
    PAUSE_S,
    Estimate,
    Forecaster,
    Outlook,
    rest,
)
from dpbb.cluster.scheduler.hub import Hub
from dpbb.coordination.coordinator import Coordinator
from dpbb.estimation.background import Remainder
from dpbb.flowshop import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions
from tests.specs import run_spec
from tests.unit.cluster.support import Clock, FakeShell
from tests.unit.progress.fakes import SNAPSHOT

FOUND = Remainder(1000.0, 900.0, 1100.0, (), (1000.0, 600.0, 200.0))


def spec(run_id="run", **options):
    return run_spec(
        run_id=run_id, problem=FlowShopProblem(taillard_instance("ta014")),
        tree=TreeOptions(), upper_bound=1377, **options,
    )  # fmt: skip


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
        forecaster = Forecaster(hub.runs, hub._clock)
        for _ in range(times):
            forecaster.tick()
        await asyncio.gather(*forecaster._tasks)
        await forecaster.close()

    asyncio.run(look())


def test_a_run_is_estimated_when_it_is_old_enough(hub, asked, monkeypatch):
    """Short runs never pay; long ones are asked at twice their age."""
    hub.open(spec(), b"")
    run = hub.runs["run"]
    hub._clock.now = FIRST_S
    tick(hub)
    assert asked == []  # nothing is explored yet
    explored = property(lambda _: 10)
    monkeypatch.setattr(Coordinator, "nodes", explored)
    hub._clock.now = FIRST_S - 1
    tick(hub)
    assert asked == []
    hub._clock.now = FIRST_S
    tick(hub, times=3)  # one at a time
    assert asked == [(FIRST_S, 0, True)]
    snapshot = run.snapshot(hub._clock())
    assert snapshot.left.nodes == pytest.approx((900, 1000, 1100))
    assert snapshot.left.seconds is None  # nothing explores
    assert snapshot.events[-1].kind == "estimate"
    hub._clock.now = FIRST_S + PAUSE_S - 1
    tick(hub)
    hub._clock.now = FIRST_S + PAUSE_S
    tick(hub)
    assert [seed for _, seed, _ in asked] == [0, 1]
    run.coordinator.fail("stopped by a test", hub._clock())
    assert run.snapshot(hub._clock()).left is None


LATEST = Estimate(10.0, 500, 99, FOUND)


@pytest.fixture
def outlook():
    return Outlook(latest=LATEST)


def test_what_is_left_is_counted_down_and_never_negative(outlook):
    assert outlook.left(500, 99) == pytest.approx((900.0, 1000.0, 1100.0))
    assert outlook.left(700, 99) == pytest.approx((700.0, 800.0, 900.0))
    low, middle, high = outlook.left(1580, 99)
    assert 0 < low < middle < high < 100
    assert outlook.left(2500, 99) is None  # more than it said
    assert outlook.left(400, 99)[1] == pytest.approx(1100)  # a lost seat's work


def test_what_a_run_explores_tells_the_rest():
    """A range of a factor 100: the longer it goes on, the more is left."""
    middles = [rest((1e3, 1e4, 1e5), since)[1] for since in (0, 1e3, 1e4, 1e5)]
    assert middles[0] == pytest.approx(1e4)
    assert middles[1] < middles[0] < middles[2] < middles[3]
    assert rest((1e3, 1e4, 1e5), 1e6) is None
    assert rest((0.0, 0.0, 0.0), 0) is not None


def test_people_are_told_nothing_of_a_wide_range():
    now = replace(SNAPSHOT, decomposed=1000, leaves=0, ub=99)
    found = Remainder(1e3, 10.0, 90e3, ())
    outlook = Outlook(latest=Estimate(10.0, 1000, 99, found))
    assert outlook.shown_on(now).left.nodes[1] == pytest.approx(1000)
    outlook.latest = replace(outlook.latest, found=replace(found, high=110e3))
    assert outlook.shown_on(now).left is None


def test_an_estimate_that_was_wrong_is_soon_made_again(outlook):
    outlook.due_s = 100.0
    assert outlook.is_due(100.0, 500, 99)
    assert not outlook.is_due(99.0, 500, 99)
    assert outlook.is_due(13.0, 2500, 99)
    assert outlook.is_due(13.0, 500, 50)  # an upper bound that was not foreseen
    assert not outlook.is_due(12.0, 2500, 99)
    outlook.due_s = float("inf")  # it cannot be made
    assert not outlook.is_due(13.0, 2500, 99)


def test_a_smaller_ub_leaves_less_as_far_as_that_is_known(outlook):
    assert outlook.left(500, 98) == pytest.approx((540.0, 600.0, 660.0))
    assert outlook.left(500, 96) is None
    assert outlook.left(500, 100) is None
