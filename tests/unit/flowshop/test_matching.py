"""The dearer bound of flow shops without buffers, from the definition."""

from itertools import permutations

import numpy as np
import pytest

import dpbb
from dpbb.flowshop.family import read_problem
from dpbb.problems import decoded, encoded
from dpbb.testing import check_model
from tests.unit.flowshop.shops import random_shop


def random_node(problem, rng):
    """Jobs at the front, those left and at the back, and the state between."""
    parts = np.split(rng.permutation(6), np.sort(rng.integers(0, 7, 2)))
    state = problem.root_state()
    for job in parts[0]:
        state = problem.extend(state, job, back=False)
    for job in parts[2][::-1]:
        state = problem.extend(state, job, back=True)
    return *parts, state


@pytest.mark.parametrize("objective", ["makespan", "max-tardiness"])
@pytest.mark.parametrize("released", [False, True])
def test_matched_times_are_a_bound(objective, released):
    """In the order of length on both machines, those at the ends among them."""
    rng = np.random.default_rng(4)
    larger = 0
    for _ in range(80):
        size = 6, rng.integers(1, 5)
        problem, _ = random_shop(rng, "blocking", objective, released, size)
        problem = problem.with_bound("matching")
        front, left, back, state = random_node(problem, rng)
        heads, tails = (np.array(own["ends"]) for own in state.own)
        tails = tails[::-1]
        bound = problem.due.max()
        for k in range(problem.n_machines - 1):
            here = [*problem.times[left, k], tails[k] - tails[k + 1]]
            beyond = [*problem.times[left, k + 1], heads[k + 1] - heads[k]]
            gaps = np.maximum(np.sort(here), np.sort(beyond)).sum()
            bound = max(bound, int(heads[k] + gaps + tails[k + 1]))
        bound -= problem.due.max()
        assert problem.tight_bound_of(state) == bound
        rows = [(*front, *order, *back) for order in permutations(left)]
        assert bound <= problem.evaluate_all(np.array(rows, np.intp)).min()
        larger += bound > problem.bound_of(state)
    assert larger > 3


def test_places_of_buffers_are_machines_of_time_0():
    rng = np.random.default_rng(1)
    for _ in range(5):
        times, places = rng.integers(0, 20, (6, 3)), rng.integers(0, 3, 2)
        problem = dpbb.FlowShop(times, buffers=places).with_bound("matching")
        check_model(problem, nodes=40, engines=())


def test_it_is_read_and_written():
    problem = read_problem("ta002", blocking=True)
    tight = decoded(encoded(problem.with_bound("matching")))
    assert (tight.bound, tight.with_bound("model").bound) == ("matching", "model")
    assert tight.largest(50) == tight.with_bound("model").largest(50)
    assert tight.with_names(problem.names).bound == "matching"
    with pytest.raises(dpbb.OptionError, match="expected model or matching, got 'lb2'"):
        problem.with_bound("lb2")


def test_it_is_refused_of_other_problems():
    total = dpbb.FlowShop("ta002", objective="total-completion", blocking=True)
    for problem in total, dpbb.FlowShop("ta002"):
        with pytest.raises(dpbb.OptionError, match="matching with blocking and make"):
            problem.with_bound("matching")


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["model", "matching"])
def test_ta002_is_1408(bound):
    problem = read_problem("ta002", blocking=True)
    result = dpbb.solve(
        problem, bound=bound, upper_bound=1409, engine="cpu", verbosity="quiet"
    )
    assert result.makespan == 1408
