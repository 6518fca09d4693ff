"""Tabu search as a method of the table."""

import time

import numpy as np
import pytest

from dpbb.flowshop.heuristics.search import Search, improve
from dpbb.flowshop.heuristics.tabu.search import tabu
from dpbb.flowshop.taillard import taillard_instance

SHOP = taillard_instance("ta001")
HARD = taillard_instance("ta021")


def given(jobs):
    return improve(Search(SHOP, 0), None, jobs, "initial")


def test_it_improves_and_says_so():
    seen = []
    search = Search(SHOP, 0, iterations=60, on_improvement=seen.append)
    found = tabu(search, given(range(20)))
    assert found.value < 1300
    assert found is seen[-1]
    assert [one.value for one in seen] == sorted({o.value for o in seen}, reverse=True)
    assert {one.source for one in seen} == {"tabu"}


def test_seed_and_iterations_repeat_a_run():
    def run(seed):
        found = tabu(Search(HARD, 0, seed=seed, iterations=600))
        return found.permutation.tolist()

    assert run(3) == run(3)
    assert len({tuple(run(seed)) for seed in range(5)}) > 1


@pytest.mark.parametrize("kept", [(4, 5), (0, 18), (10, 9), (20, 0)])
def test_sides_are_kept(kept):
    start = given(np.random.default_rng(1).permutation(20))
    found = tabu(Search(SHOP, 0, iterations=250, kept=kept), start)
    first, last = kept[0], 20 - kept[1]
    assert found.permutation[:first].tolist() == start.permutation[:first].tolist()
    assert found.permutation[last:].tolist() == start.permutation[last:].tolist()
    assert found.value < start.value or kept != (4, 5)


def test_limits_end_it():
    found = tabu(Search(SHOP, 1400), given(range(20)))  # the bound
    assert found.proved
    assert found.value <= 1400
    begun = time.monotonic()
    tabu(Search(SHOP, 0, deadline=begun + 0.1, threads=2))
    calls = []
    tabu(Search(SHOP, 0, should_stop=lambda: calls.append(1) or len(calls) > 5))
    assert 5 < len(calls) < 20
