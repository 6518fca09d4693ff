"""Cascades are learned from a sample, and taken where they clearly pay."""

from itertools import pairwise

import numpy as np
import pytest

from dpbb.estimation import cascades
from dpbb.estimation.cascades import Cost, chosen_bound, learned_pairs, pair_bounds_of
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import TreeOptions
from tests.oracle import best_orders

TIMES = np.random.default_rng(3).integers(1, 99, (7, 6))
SHOP = FlowShopProblem(FlowShopInstance("shop", TIMES))
BEST = int(best_orders(TIMES.tolist())[0])


def test_each_set_of_pairs_begins_the_next():
    sets = learned_pairs(SHOP, pair_bounds_of(SHOP), TreeOptions(), BEST)
    assert sets
    for few, more in pairwise(sets):
        assert more[: len(few)] == few
        assert len(more) > len(few)
    for u, v in sets[-1]:
        assert 0 <= u < v < 6
    assert sets == learned_pairs(SHOP, pair_bounds_of(SHOP), TreeOptions(), BEST)


def test_the_first_pair_prunes_most(monkeypatch):
    rows = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 0, 0]], bool)
    monkeypatch.setattr(
        cascades, "_pruned", lambda *_: (rows, np.array([9, 2, 3, 5.0]))
    )
    bounds = pair_bounds_of(SHOP)
    *_, last = learned_pairs(SHOP, bounds, TreeOptions(), BEST)
    assert last == (bounds.pairs[2], bounds.pairs[1])


@pytest.mark.parametrize(
    ("engine", "ub", "rate", "why"),
    [
        ("gpu9", BEST, 1.0, "costs of engine gpu9"),
        ("cpu", None, 1.0, "an upper bound"),
        ("cpu", BEST, 1e9, "its tree takes at most about 0.0 s"),
    ],
)
def test_lb1_is_left_alone(engine, ub, rate, why):
    choice = chosen_bound(SHOP, TreeOptions(), ub, engine=engine, nodes_per_second=rate)
    assert choice.bound == "lb1"
    assert choice.why.startswith(why)


def test_a_cascade_is_taken_that_costs_next_to_nothing(monkeypatch):
    monkeypatch.setitem(cascades.COSTS, "cpu", Cost(2.0, 0.0, 0.0))
    seconds = []
    choice = chosen_bound(
        SHOP,
        TreeOptions(),
        BEST,
        engine="cpu",
        nodes_per_second=1e-6,
        on_estimate=seconds.append,
    )
    assert choice.bound.startswith("cascade:1-6:")
    assert 1e6 < seconds[0] < 1e12  # some nodes, a millionth of one a second
    monkeypatch.setitem(cascades.COSTS, "cpu", Cost(2.0, 99.0, 0.0))
    dear = chosen_bound(SHOP, TreeOptions(), BEST, engine="cpu", nodes_per_second=1e-6)
    assert dear.bound == "lb1"


def test_one_machine_has_no_pair():
    one = FlowShopProblem(FlowShopInstance("one", [[3], [4], [2]]))
    assert pair_bounds_of(one) is None
    choice = chosen_bound(one, TreeOptions(), 9, engine="cpu", nodes_per_second=1.0)
    assert choice.bound == "lb1"
