"""A model is a problem like any other: explored, cut, pickled by value."""

from itertools import permutations

import cloudpickle
import numpy as np
import pytest

import dpbb
from dpbb.options import SolveOptions
from dpbb.problem import NO_CHILD, Problem
from dpbb.tree.branching import tree_of
from tests.models import KINDS, LinearOrdering, random_models


def best_cost(problem):
    costs = []
    for order in permutations(range(problem.n_jobs)):
        try:
            costs.append(problem.evaluate(np.array(order)))
        except ValueError:
            continue
    return min(costs)


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_that_of_brute_force(kind):
    for seed in range(3):
        problem = random_models(np.random.default_rng(seed))[kind]
        assert isinstance(problem, Problem)
        result = dpbb.solve(problem, workers=0, engine="reference", verbosity="quiet")
        assert result.makespan == best_cost(problem)


def test_the_cost_is_the_definition():
    rng = np.random.default_rng(4)
    problem = LinearOrdering(rng.integers(0, 30, (5, 5)))
    for order in permutations(range(5)):
        below = sum(
            problem.worth[order[j], order[i]] for i in range(5) for j in range(i + 1, 5)
        )
        assert problem.evaluate(np.array(order)) == below


def test_absent_children_do_not_exist():
    problem = random_models(np.random.default_rng(0))["tardiness"]
    bounds = problem.child_bounds(problem.root_state(), np.arange(6), back=False)
    assert [job for job in range(6) if bounds[job] == NO_CHILD] == [1, 2]
    with pytest.raises(ValueError, match="job 1 is absent"):
        problem.evaluate(np.array([1, 0, 2, 3, 4, 5]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_travels_is_the_same(kind):
    problem = random_models(np.random.default_rng(1))[kind]
    tree_of(problem, SolveOptions(), None)
    _ = problem.shape, problem.views
    there = cloudpickle.loads(cloudpickle.dumps(problem))
    assert there.digest == problem.digest
    assert there.shape.digest == problem.shape.digest


def test_absent_needs_one_side():
    class Both(LinearOrdering):
        def absent(self, node, job):
            return job == 0

    with pytest.raises(dpbb.ModelError, match="expected one side beside absent"):
        _ = Both(np.ones((3, 3), int)).shape
