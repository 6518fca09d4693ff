"""What a run has left, by all its estimates and by what was explored since."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpbb.cluster.scheduler.outlook import NORMAL, Outlook, Prospect, Sample
from tests.unit.dashboard.fakes import BASE


def sample(explored, low, high, spread=0.05):
    return Sample.of(explored, low, high, spread)


def test_one_estimate_is_given_back_as_its_interval():
    low, middle, high = Prospect([sample(500, 400, 2500)], 99).left(500)
    assert low == pytest.approx(400, rel=0.1)
    assert middle == pytest.approx(1000, rel=0.1)
    assert high == pytest.approx(2500, rel=0.1)


def test_what_is_left_is_counted_down_and_never_negative():
    prospect = Prospect([sample(500, 900, 1100)], 99)
    assert prospect.left(700)[1] == pytest.approx(800, rel=0.05)
    low, _, high = prospect.left(1480)
    assert 0 < low < high < 200  # what was explored is known: smaller trees are out
    assert not prospect.outgrown(1450)
    assert prospect.outgrown(1700)
    assert prospect.left(5000) == (0.0, 2250.0, 4500.0)


def test_estimates_that_agree_narrow_the_range_and_others_widen_it():
    one = Prospect([sample(0, 500, 2000, math.inf)], 99)
    agreed = one.join(sample(200, 400, 1600, math.inf), ())
    apart = one.join(sample(200, 4000, 16000, math.inf), ())

    def width(prospect):
        low, _, high = prospect.left(200)
        return high / low

    assert width(agreed) < width(one)
    assert one.left(200)[2] < apart.left(200)[1]


def test_a_wild_estimate_does_not_undo_what_is_known():
    """Its probes disagreed by chance; those before did not, and see the same tree."""
    sure = Prospect([sample(0, 500, 2000, 0.3), sample(100, 500, 2000, 0.3)], 99)
    for wild in sample(200, 1, 1e6, 0.3), sample(200, 1e-3, 1e12, 0.3):
        low, _, high = sure.join(wild, ()).left(200)
        before_low, _, before_high = sure.left(200)
        assert high / low == pytest.approx(before_high / before_low, rel=0.35)
    alone = Prospect([wild], 99).left(200)
    assert alone[2] / alone[0] > 1e9


def test_what_a_lost_seat_had_explored_is_open_again():
    before = Prospect([sample(9000, 1, 10)], 99)
    after = before.join(sample(500, 400, 2500), ())
    assert after.left(500) == Prospect([sample(500, 400, 2500)], 99).left(500)


def test_finished_subtrees_show_what_all_estimates_miss():
    """All miss a common part; the more is finished, the better that shows."""
    truth = 10_000
    samples = [
        sample(x, (truth - x) / 8, (truth - x) / 0.5, 0.05) for x in (0, 4000, 9000)
    ]
    first = Prospect(samples[:1], 99).left(0)[1]
    assert first == pytest.approx(truth / 4 * 2, rel=0.2)
    low, middle, high = Prospect(samples[:2], 99).left(4000)
    assert low < truth - 4000 < high
    assert abs(math.log(middle / 6000)) < abs(math.log(first / truth))


def test_ranges_hold_as_often_as_they_say():
    """Trees with a common error of all estimates, and one of each."""
    draw = np.random.default_rng(5)
    inside = 0
    for _ in range(300):
        truth, bias = 1e9, draw.normal(0, 0.6)
        samples = []
        for explored in (0.0, 3e8):
            middle = (truth - explored) * math.exp(bias + draw.normal(0, 0.3))
            half = math.exp(NORMAL * math.hypot(0.6, 0.3))
            samples.append(sample(int(explored), middle / half, middle * half, 0.3))
        low, _, high = Prospect(samples, 99).left(3e8)
        inside += low <= truth - 3e8 <= high
    assert 0.85 * 300 <= inside <= 0.96 * 300


def test_what_is_left_is_scaled_when_the_ub_falls():
    prospect = Prospect([sample(500, 900, 1100)], 99, (1000.0, 600.0, 200.0))
    follower = prospect.follow(700, 98)
    assert (follower.ub, follower.by_ub) == (98, (600.0, 200.0))
    assert follower.left(700)[1] == pytest.approx(480, rel=0.1)
    assert prospect.follow(700, 97).left(700)[1] == pytest.approx(160, rel=0.1)
    assert prospect.follow(700, 96) is None  # not known


def test_a_snapshot_has_the_range_in_nodes_and_seconds():
    explored = BASE.decomposed + BASE.leaves
    outlook = Outlook(prospect=Prospect([sample(explored, 9e6, 11e6)], BASE.ub))
    shown = outlook.shown_on(BASE)
    low, high = shown.left_nodes
    assert low < shown.estimate_nodes < high
    assert shown.left_s == pytest.approx((low / 2e6, high / 2e6))  # by its nodes/s
    later = replace(BASE, seconds=50.0, decomposed=explored + 40_000_000)
    outlook.prospect = Prospect([sample(explored, 9e7, 11e7)], BASE.ub)
    shown = outlook.shown_on(later)  # 1 M a second over the last 40 s
    assert shown.left_s[0] == pytest.approx(shown.left_nodes[0] / 1e6, rel=0.01)
    assert outlook.shown_on(replace(later, ub=3)).left_s is None
