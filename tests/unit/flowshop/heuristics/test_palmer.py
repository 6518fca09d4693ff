import numpy as np
import pytest
from hypothesis import given

from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.heuristics import first_incumbent
from dpbb.flowshop.heuristics.palmer import johnson, palmer
from dpbb.flowshop.heuristics.search import Search
from dpbb.problem import StartSearch
from tests import oracle


def test_jobs_whose_times_grow_come_first():
    """Makespans and slopes by hand."""
    found = []
    shop = FlowShopInstance("shop", np.array([[3, 2], [1, 4], [2, 2]]))
    best = palmer(Search(shop, 0, on_improvement=found.append))
    assert [(step.value, step.source) for step in found] == [
        (11, "own order"),
        (9, "palmer"),
    ]
    assert best is found[-1]
    assert best.permutation.tolist() == [1, 2, 0]
    assert palmer(Search(shop, 0), best) is best


@given(oracle.problems(max_jobs=6, max_machines=2))
def test_its_schedule_is_the_best(tiny):
    found = johnson(Search(FlowShopInstance("two", np.array(tiny.times)), 0))
    assert found.value == oracle.best_orders(tiny.times)[0]
    assert found.proved


@pytest.mark.parametrize("equal", [False, True])
def test_two_machines_are_solved_at_the_root(equal):
    """Also with equal times on both machines, where trees are huge."""
    times = np.random.default_rng(3).integers(1, 100, (500, 2))
    if equal:
        times[:, 1] = times[:, 0]
    shop = FlowShopInstance("large", times)
    for method in ("auto", "neh", "beam"):
        found = first_incumbent(shop, StartSearch(method=method))
        best = FlowShopProblem(shop).least_cost
        assert (found.value, found.proved) == (best, True)
        assert found.source == "johnson"


def test_a_start_as_good_as_the_best_is_kept():
    shop = FlowShopInstance("one", [[3], [5], [2]])
    found = first_incumbent(shop, StartSearch(initial=[2, 0, 1]))
    assert found.permutation.tolist() == [2, 0, 1]
    assert found.proved
