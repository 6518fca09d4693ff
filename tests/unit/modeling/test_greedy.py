"""The compiled iterated greedy search: what insertions cost, what it finds."""

import numpy as np
import pytest

from dpbb.kernels.compiling import entry, int64
from dpbb.kernels.pointers import addresses, pointers
from dpbb.modeling import greedy
from dpbb.modeling.greedy import Chain, first_incumbent, improve
from dpbb.problem import Incumbent, StartSearch
from tests.models import TotalCompletion, random_models
from tests.unit.modeling.test_model import best_cost

COMPILED = ("ordering", "setups")  # with a shared field, and with two sides that join


@entry
def costs_of_insertions(chain_in, lane, length, job):
    greedy.evaluate(pointers(chain_in, lane), int64(length), int64(job))


def chain_of(problem, **how):
    own = np.arange(problem.n_jobs)
    start = Incumbent(problem.evaluate(own), own, "", proved=False)
    return Chain.at(problem, start, StartSearch(**how), 0)


@pytest.mark.parametrize("kind", COMPILED)
def test_every_place_costs_what_the_permutation_costs(kind):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        problem = random_models(rng)[kind]
        chain = chain_of(problem)
        order = rng.permutation(problem.n_jobs)
        chain.trial[:-2] = order[1:]
        lane = chain.nodes.dtype.type(0)
        costs_of_insertions(addresses(chain), lane, problem.n_jobs - 1, order[0])
        rows = [np.insert(order[1:], at, order[0]) for at in range(problem.n_jobs)]
        assert chain.costs[:-1].tolist() == [problem.evaluate(row) for row in rows]


@pytest.mark.parametrize("kind", COMPILED)
def test_chains_find_the_best_of_few(kind):
    problem = random_models(np.random.default_rng(7))[kind]
    chain = chain_of(problem)
    chain.advance(1, builds=True)
    chain.advance(30)
    assert problem.evaluate(chain.best[:-1]) == chain.values[1] == best_cost(problem)


def test_a_search_is_repeated_by_its_seed_and_stops_at_the_bound():
    rng = np.random.default_rng(3)
    problem = TotalCompletion(rng.integers(1, 99, (20, 4)))
    own = np.arange(20)
    start = Incumbent(problem.evaluate(own), own, "own", proved=False)
    how = {"seed": 5, "threads": 1, "time_limit_s": 60}
    found = improve(problem, start, StartSearch(iterations=20, **how))
    assert found.value == problem.evaluate(found.permutation) < start.value
    again = improve(problem, start, StartSearch(iterations=20, **how))
    assert np.array_equal(found.permutation, again.permutation)
    proved = improve(problem, start, StartSearch(lower_bound=found.value, **how))
    assert proved.proved


def test_it_goes_on_where_the_search_without_a_compiler_was():
    problem = TotalCompletion(np.random.default_rng(4).integers(1, 99, (30, 5)))
    first_incumbent(problem, StartSearch(time_limit_s=30, iterations=1))  # compiles
    steps = []
    search = StartSearch(time_limit_s=1, threads=2, on_improvement=steps.append)
    found = first_incumbent(problem, search)
    values = [step.value for step in steps]
    assert values == sorted(set(values), reverse=True)
    assert (found.value, found.source) == (values[-1], "ig")
    assert found.value == problem.evaluate(found.permutation)
