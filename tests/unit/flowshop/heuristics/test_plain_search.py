import time

import numpy as np
import pytest
from hypothesis import given, settings

from dpbb.flowshop import FlowShopInstance, taillard_instance
from dpbb.flowshop.heuristics.neh import neh
from dpbb.flowshop.heuristics.plain_search import plain_search
from dpbb.flowshop.heuristics.search import Search
from tests import oracle


@settings(max_examples=20)
@given(oracle.problems(max_jobs=5))
def test_optimum_of_small_shops_is_found(tiny):
    best, _ = oracle.best_orders(tiny.times)
    instance = FlowShopInstance("tiny", tiny.times)
    found = plain_search(Search(instance, best, time.monotonic() + 10))
    assert found.value == best == tiny.evaluate(found.permutation)
    if tiny.n_jobs > 1:
        assert found.proved


def test_incumbents_fall_and_a_limit_of_iterations_repeats_them():
    instance = taillard_instance("ta051")

    def run(seed):
        found = []
        last = plain_search(
            Search(instance, 0, seed=seed, iterations=200, on_improvement=found.append)
        )
        assert found[-1] is last
        return [(one.value, one.permutation.tolist()) for one in found]

    first = run(seed=5)
    values = [value for value, _ in first]
    assert values == sorted(set(values), reverse=True)
    assert values[-1] < neh(Search(instance, 0)).value
    assert run(seed=5) == first
    assert run(seed=6) != first


def test_a_better_start_is_kept_and_a_stop_ends_it():
    instance = taillard_instance("ta001")
    start = neh(Search(instance, 0))
    assert plain_search(Search(instance, 0, iterations=0), start) is start
    assert plain_search(Search(instance, 0, should_stop=lambda: True), start) is start


@pytest.mark.parametrize("times", [[[3]], [[0], [0]], [[5, 1]]])
def test_smallest_shops(times):
    search = Search(FlowShopInstance("x", np.array(times)), 0, iterations=10)
    assert plain_search(search).value == np.sum(times)
