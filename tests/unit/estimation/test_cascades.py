"""Cascades are learned from a sample, and taken where they clearly pay."""

from itertools import pairwise

import numpy as np
import pytest

from dpbb.estimation import cascades, prospect
from dpbb.estimation.cascades import learned_pairs, pair_bounds_of, prospect_of
from dpbb.estimation.prospect import Cost, Prospect, prospect_apart
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


def test_the_fastest_cascade_by_its_cost(monkeypatch):
    monkeypatch.setitem(prospect.COSTS, "cpu", Cost(2.0, 0.0, 0.0))
    free = prospect_of(SHOP, TreeOptions(), BEST, engine="cpu")
    assert free.bound.startswith("cascade:1-6:")
    assert free.others < free.nodes
    monkeypatch.setitem(prospect.COSTS, "cpu", Cost(2.0, 9.0, 0.0))
    dear = prospect_of(SHOP, TreeOptions(), BEST, engine="cpu")
    assert dear.others == pytest.approx(10 * free.others)


def test_of_the_probes_those_count_that_speak_for_lb1(monkeypatch):
    """Of VFR40_15_10 at 2940 means said 0.1 to 4.5 of a cascade that took 1.9."""
    estimates = {"lb1": [900.0, 300.0, 600.0]}
    monkeypatch.setattr(
        cascades,
        "_estimated",
        lambda _problem, tree, *_: estimates.get(tree.bound, [10.0, 400.0, 20.0]),
    )
    monkeypatch.setitem(prospect.COSTS, "cpu", Cost(2.0, 1.0, 0.0))
    found = prospect_of(SHOP, TreeOptions(), BEST, engine="cpu")
    assert (found.nodes, found.others) == (300.0, 800.0)


def test_it_is_the_same_in_a_process_of_its_own():
    here = prospect_of(SHOP, TreeOptions(), BEST, engine="cpu", seed=3)
    apart = prospect_apart(
        SHOP, TreeOptions(), BEST, engine="cpu", seed=3, is_wanted=lambda: True
    )
    assert apart == here


def test_what_is_not_wanted_is_not_answered():
    nothing = prospect_apart(
        SHOP, TreeOptions(), BEST, engine="cpu", seed=3, is_wanted=lambda: False
    )
    assert nothing is None


@pytest.mark.parametrize(
    ("bound", "others", "explored", "seconds", "pays"),
    [
        ("lb1", 1e6, 1000, 1.0, False),
        ("lb2", 1e6, 1000, 1.0, True),
        ("lb2", 9e6, 1000, 1.0, False),  # not clearly faster
        ("lb2", 1e6, 9_000_000, 9.0, False),  # nearly all is explored
        ("lb2", 1e6, 2_000_000, 0.5, False),  # over before the kernels are there
        ("lb2", 1e6, 20_000_000, 9.0, False),  # the estimate was wrong
    ],
)
def test_a_tree_begins_anew_where_it_pays(bound, others, explored, seconds, pays):
    found = Prospect(bound, nodes=1e7, others=others, start_s=2.0)
    assert found.pays(explored, seconds) is pays


@pytest.mark.parametrize(
    ("others", "words"),
    [(1.5e7, "150% of its"), (3e8, "take 30 times its"), (1e300, "more than 1000")],
)
def test_why_is_short(others, words):
    why = Prospect("lb2", nodes=1e7, others=others, start_s=2.0).why
    assert words in why
    assert len(why) < 80


def test_one_machine_has_no_pair():
    one = FlowShopProblem(FlowShopInstance("one", [[3], [4], [2]]))
    assert pair_bounds_of(one) is None
    assert prospect_of(one, TreeOptions(), 9, engine="cpu").bound == "lb1"
