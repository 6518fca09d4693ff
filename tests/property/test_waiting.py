"""Trees that are not whole: children that do not exist, sides, bounds that tighten."""

from itertools import permutations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.options import TreeOptions
from dpbb.problem import NO_CHILD, root_bound
from dpbb.tree import n_leaves
from dpbb.tree.branching import rules_of
from tests.oracle import Partial, naive_tree, trees
from tests.parity.subject import SEEDS, Subject, churn
from tests.waiting import TighterWaitingJobs, WaitingJobs, waiting_jobs

REFERENCE = Subject.of("reference")
KINDS = pytest.mark.parametrize("kind", [WaitingJobs, TighterWaitingJobs])


def costs(problem):
    """Cost of every order that there is."""
    every = map(Partial, permutations(range(problem.n_jobs)))
    return [problem.evaluate(one.prefix) for one in every if problem.exists(one)]


@st.composite
def cases(draw, kind):
    """Draw a problem, a tree of it, and a ub that does not fall while it is explored.

    That is one of at most the optimum, or the optimum + 1 when all optima are wanted.
    """
    problem = draw(waiting_jobs(kind))
    tree = draw(trees(problem, rules_of(problem)))
    best = min(costs(problem), default=problem.trivial_ub)
    all_optima = draw(st.booleans())
    return problem, tree, best + all_optima, all_optima


@KINDS
@given(data=st.data())
def test_the_optimum_is_that_of_brute_force(kind, data):
    problem = data.draw(waiting_jobs(kind))
    tree = data.draw(trees(problem, rules_of(problem)))
    expected = min(costs(problem), default=None)
    total = REFERENCE.explore(problem, tree, slice_s=0)
    assert (None if total.best is None else total.best.value) == expected
    if total.best is not None:
        assert problem.evaluate(total.best.permutation) == expected
    assert total.counters.closed_leaves == n_leaves(problem.n_jobs)


@KINDS
@given(data=st.data())
def test_counts_are_those_of_the_naive_tree(kind, data):
    problem, tree, ub, all_optima = data.draw(cases(kind))
    expected = naive_tree(problem, tree, ub)
    total = REFERENCE.explore(problem, tree, ub, all_optima=all_optima)
    assert total.counters.decomposed == len(expected.decomposed)
    assert total.counters.leaves == len(expected.leaves)
    assert total.counters.closed.tolist() == expected.closed()


@KINDS
@settings(max_examples=50)
@given(data=st.data(), seed=SEEDS)
def test_stops_donations_and_reloads_change_no_count(kind, data, seed):
    problem, tree, ub, all_optima = data.draw(cases(kind))
    expected = naive_tree(problem, tree, ub)
    rng = Random(seed)
    total, _, _ = churn(
        REFERENCE, problem, tree, ub, rng, slice_s=0, all_optima=all_optima
    )
    assert total.decomposed == len(expected.decomposed)
    assert total.leaves == len(expected.leaves)


@given(waiting_jobs())
def test_the_root_bound_is_a_bound(problem):
    every = costs(problem)
    assert root_bound(problem) <= min(every, default=problem.trivial_ub)


@given(st.data())
def test_the_least_bound_is_of_children_that_exist(data):
    problem = data.draw(waiting_jobs())
    tree = data.draw(trees(problem, rules_of(problem)))
    with REFERENCE.session(problem, tree) as session:
        while not (part := session.advance(problem.trivial_ub, 0)).exhausted:
            assert part.least_lb < problem.trivial_ub


def test_the_side_is_chosen_before_bounds_are_tightened():
    """How tight a bound is depends on the ub, which no rule may look at (law 1)."""
    problem = TighterWaitingJobs(
        (5, 3, 8, 1), (2, 7, 1, 4), (99,) * 4, (frozenset(),) * 4
    )
    asked = []

    class Watched(TighterWaitingJobs):
        def child_bounds(self, state, jobs, *, back):
            bounds = [3, 5, 5, 5] if back else [3, 3, 5, 5]  # minmin: to the back
            return np.array(bounds[: len(jobs)])

        def tighten(self, _state, _jobs, bounds, ub, *, back):
            asked.append((back, bounds.tolist(), ub))
            return np.where(bounds < 5, NO_CHILD, bounds)

    watched = Watched(
        problem.durations, problem.weights, problem.deadlines, problem.after
    )
    with REFERENCE.session(watched, TreeOptions()) as session:
        part = session.advance(100, 0)
        assert part.closed.tolist() == [0, 1, 0, 0, 0]
        assert part.least_lb == 5
    assert asked == [(True, [3, 5, 5, 5], 100)]
