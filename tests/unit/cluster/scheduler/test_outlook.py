"""What a run has left, by its latest estimate and by what was explored since."""

from dataclasses import replace

import pytest

from dpbb.cluster.scheduler.outlook import AVERAGE_S, Estimate, Outlook
from tests.unit.dashboard.fakes import BASE

LATEST = Estimate(10.0, 500, 99, (900.0, 1000.0, 1100.0), (1000.0, 600.0, 200.0))


@pytest.fixture
def outlook():
    return Outlook(latest=LATEST)


def test_without_an_estimate_nothing_is_known():
    assert Outlook().left(500, 99) is None
    assert Outlook().shown_on(BASE) is BASE


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


def test_the_rate_is_an_average_since_the_estimate(outlook):
    now = replace(
        BASE,
        seconds=10.0 + AVERAGE_S,
        ub=99,
        nodes_per_second=1e9,
        decomposed=600,
        leaves=0,
    )
    shown = outlook.shown_on(now)
    assert (shown.estimate_nodes, shown.left_nodes) == (900.0, (800.0, 1000.0))
    assert shown.estimate_s == pytest.approx(90.0)
    assert shown.left_s == pytest.approx((80.0, 100.0))
    soon = outlook.shown_on(replace(now, seconds=11.0, nodes_per_second=10.0))
    assert soon.estimate_s == pytest.approx(90.0)
    still = outlook.shown_on(replace(now, decomposed=500))
    assert (still.estimate_nodes, still.estimate_s) == (1000.0, None)
