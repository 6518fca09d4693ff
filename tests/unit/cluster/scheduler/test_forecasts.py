"""What runs have left: asked for off the loop, counted down, dropped when it is old."""

import asyncio

import pytest

from dpbb.cluster.scheduler import forecasts
from dpbb.cluster.scheduler.forecasts import FIRST_S, Estimate, Forecaster, Outlook
from dpbb.cluster.scheduler.hub import Hub
from dpbb.estimation.background import Remainder
from dpbb.flowshop import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions
from tests.specs import run_spec
from tests.unit.cluster.support import Clock, FakeShell

FOUND = Remainder(1000.0, 900.0, 1100.0, (), (1000.0, 600.0, 200.0))


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
        forecaster = Forecaster(hub.runs, hub._clock)
        for _ in range(times):
            forecaster.tick()
        await asyncio.gather(*forecaster._tasks)
        await forecaster.close()

    asyncio.run(look())


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


LATEST = Estimate(10.0, 500, 99, (900.0, 1000.0, 1100.0), (1000.0, 600.0, 200.0))


@pytest.fixture
def outlook():
    return Outlook(latest=LATEST)


def test_what_is_left_is_counted_down_and_never_negative(outlook):
    assert outlook.left(500, 99) == (900.0, 1000.0, 1100.0)
    assert outlook.left(700, 99) == (700.0, 800.0, 900.0)
    low, middle, high = outlook.left(1580, 99)
    assert 0 == low < middle < high == pytest.approx(20)
    assert outlook.left(2500, 99) == (0.0, 1000.0, 2000.0)  # more than it said
    assert outlook.left(400, 99)[1] == 1100.0  # a lost seat's work is open again


def test_a_smaller_ub_leaves_less_as_far_as_that_is_known(outlook):
    assert outlook.left(500, 98) == pytest.approx((540.0, 600.0, 660.0))
    assert outlook.left(500, 96) is None
    assert outlook.left(500, 100) is None
