"""``dpbb.estimate``: what it takes, refuses and gives back."""

from __future__ import annotations

import pytest

import dpbb
from dpbb.errors import OptionError
from dpbb.estimation.result import ONLY_LEAST, count


def small(instance="ta005", **changes):
    return dpbb.estimate(instance, **{"samples": 20, "measure": False, **changes})


def test_a_small_tree_is_counted():
    found = dpbb.estimate("ta001", upper_bound=1278)
    assert found.exact
    assert found.reliable
    assert (found.nodes, found.low, found.high, found.leaves) == (7, 7, 7, 0)
    assert found.here is not None
    assert "counted, not estimated" in found.summary()


def test_the_best_known_makespan_is_the_default():
    assert small().upper_bound == 1235


def test_without_one_heuristics_make_it():
    assert dpbb.estimate([[3, 2], [1, 4]]).upper_bound == 7


def test_all_optima_takes_the_bounds_that_equal_the_makespan():
    less = small(samples=10**6)
    most = small(samples=10**6, all_optima=True)
    assert most.nodes == small(samples=10**6, upper_bound=1236).nodes
    assert most.nodes > less.nodes == 11_949 + 256


def test_minbranch_compares_with_the_upper_bound():
    found = small(samples=10**6, branching="minbranch")
    assert (found.decomposed, found.leaves) == (11_570, 266)
    other = small(samples=10**6, branching="minbranch", tuning={"branching_ub": 1300})
    assert other.exact


def test_of_many_jobs_no_upper_end_is_claimed():
    found = small(instance="ta081", upper_bound=6090, samples=16)
    assert found.reasons[-1] == ONLY_LEAST
    assert f"(at least {count(found.low)})" in found.summary()
    assert count(found.high) not in found.summary()
    counted = small(instance="ta081", upper_bound=6000, samples=16)
    assert counted.exact
    assert counted.reliable


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"upper_bound": -1}, "upper_bound: expected a whole number"),
        ({"upper_bound": "many"}, "upper_bound: expected a whole number"),
        ({"seconds": 0}, "seconds: expected a number > 0"),
        ({"samples": 0}, "samples: expected a whole number"),
        ({"seed": -1}, "seed: expected"),
        ({"gpus": 0}, "gpus: expected"),
        ({"should_stop": 3}, "should_stop: expected a function, got 3"),
        ({"measure": "x"}, "measure: expected true or false, got 'x'"),
        ({"branching": "best"}, "branching: expected one of"),
        ({"time_limit_s": 3}, "time_limit_s: expected one of bound"),
        ({"tuning": {"root_order": (1, 0)}}, "root_order must be"),
    ],
)
def test_bad_input_is_refused(changes, words):
    with pytest.raises(OptionError, match=words):
        small(**changes)
