"""Jobs given at the front and the back: the same as if they were sequenced there."""

import copy
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbb.errors import InstanceError, OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.given import GivenEnds
from dpbb.flowshop.heuristics import HEURISTICS
from dpbb.problem import Incumbent, StartSearch, proving_bound
from dpbb.problems import decoded, encoded
from tests.oracle import makespan, problems, with_given_ends
from tests.parity.subject import shop_of

TIMES = np.random.default_rng(5).integers(1, 99, (9, 4))
SHOP = FlowShopInstance("nine", TIMES)
FRONT, BACK = (4, 0), (7,)
BETWEEN = FlowShopProblem(SHOP, front=FRONT, back=BACK)


def best_of(problem):
    """Least makespan of whole sequences, by the plain definition."""
    orders = permutations(range(problem.n_jobs))
    times = problem.instance.times.tolist()
    return min(makespan(times, problem.whole(order)) for order in orders)


@given(problems(max_jobs=5).flatmap(with_given_ends), st.data())
def test_costs_are_makespans_of_whole_sequences(tiny, data):
    problem = shop_of(tiny, "lb1")
    order = data.draw(st.permutations(range(problem.n_jobs)))
    whole = problem.whole(order)
    expected = makespan(problem.instance.times.tolist(), whole)
    assert problem.evaluate(np.array(order)) == expected == tiny.evaluate(order)
    assert problem.schedule(order).makespan == expected
    assert problem.between(whole, "order") == tuple(order)
    assert problem.trivial_ub > expected


@given(problems(max_jobs=5).flatmap(with_given_ends))
def test_root_bounds_are_below_the_best_sequence(tiny):
    problem = shop_of(tiny, "lb2")
    assert proving_bound(problem) <= tiny.best_orders()[0]
    assert problem.root_bound <= problem.least_cost


def test_johnsons_order_is_the_best_of_two_machines_with_given_jobs_too():
    for rows in np.random.default_rng(1).integers(1, 20, (60, 7, 2)):
        problem = FlowShopProblem(FlowShopInstance("two", rows), "lb1", (0, 2), (1,))
        found = problem.first_incumbent(StartSearch("neh", threads=1))
        assert found.proved
        assert found.value == best_of(problem) == proving_bound(problem)


@pytest.mark.parametrize("method", HEURISTICS)
def test_heuristics_keep_what_is_given(method):
    told = []
    search = StartSearch(
        method, threads=1, iterations=3, time_limit_s=5, on_improvement=told.append
    )
    found = BETWEEN.first_incumbent(search)
    for one in (found, *told):
        assert sorted(one.permutation.tolist()) == list(range(6))
        assert BETWEEN.evaluate(one.permutation) == one.value
    assert found.value >= best_of(BETWEEN)
    if HEURISTICS[method].improves:
        first = np.arange(6)
        start = Incumbent(BETWEEN.evaluate(first), first, "start")
        stop = iter([False] * 20)
        search = StartSearch(method, should_stop=lambda: next(stop, True))
        better = BETWEEN.improve(start, search)
        assert BETWEEN.evaluate(better.permutation) == better.value <= start.value


def test_the_digest_says_what_is_given():
    others = [
        FlowShopProblem(SHOP),
        FlowShopProblem(SHOP, front=FRONT),
        FlowShopProblem(SHOP, front=(0, 4), back=BACK),
        FlowShopProblem(SHOP, back=(*FRONT, *BACK)),
        FlowShopProblem(SHOP, front=(*FRONT, *BACK)),
    ]
    assert len({problem.digest for problem in (BETWEEN, *others)}) == 6
    assert others[0].digest == SHOP.digest
    assert "front" not in others[0].encode()


def test_it_travels_and_is_decoded():
    for problem in BETWEEN, BETWEEN.with_bound("lb2"):
        for other in copy.deepcopy(problem), decoded(encoded(problem)):
            assert other == problem
            assert (other.digest, other.bound) == (problem.digest, problem.bound)
    known = encoded(BETWEEN)
    with pytest.raises(InstanceError, match="it is another one"):
        decoded({**known, "front": [4]})


@pytest.mark.parametrize(
    ("front", "back", "message"),
    [
        ((9,), (), r"front: expected jobs 0 to 8, got 9"),
        ((), ("a",), r"back: expected jobs 0 to 8, got 'a'"),
        ((True,), (), r"front: expected jobs 0 to 8, got True"),
        ((1,), (2, 1), r"back: expected every given job once, got job 1 again"),
        (range(5), range(5, 9), r"expected at least one of 9 jobs between them"),
    ],
)
def test_what_cannot_be_given_is_refused(front, back, message):
    with pytest.raises(InstanceError, match=message):
        GivenEnds(SHOP, tuple(front), tuple(back))


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        (range(9), r"expected a sequence that begins"),
        (range(6), r"expected all 9 jobs, the given ones too, got 6"),
        (
            (*FRONT, 1, 2, 3, 4, 5, 6, *BACK),
            r"expected every job once, got job 4 again",
        ),
    ],
)
def test_what_is_no_sequence_with_these_ends_is_refused(jobs, message):
    with pytest.raises(OptionError, match=f"^initial: {message}"):
        BETWEEN.between(jobs, "initial")
