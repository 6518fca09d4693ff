import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings

from dpbb.flowshop import FlowShopInstance, FlowShopProblem, taillard_instance
from dpbb.flowshop.heuristics import chains
from dpbb.flowshop.heuristics.chains import (
    block_insertion,
    iterated_greedy,
    iterated_local_search,
    load,
)
from dpbb.flowshop.heuristics.plain import neh
from dpbb.flowshop.heuristics.search import Search
from dpbb.problem import Incumbent
from tests import oracle
from tests.parity.subject import shop_of

METHODS = [iterated_greedy, block_insertion, iterated_local_search]


@pytest.mark.parametrize("method", [iterated_greedy, iterated_local_search])
@settings(max_examples=30)
@given(oracle.problems(max_jobs=6))
def test_optimum_of_small_shops_is_found(method, tiny):
    best, _ = oracle.best_orders(tiny.times)
    problem = FlowShopProblem(FlowShopInstance("tiny", tiny.times))
    limit = time.monotonic() + 60
    found = method(Search(problem, best, deadline=limit, threads=1))
    if tiny.n_jobs > 1:
        assert found.proved
    assert found.value == best == tiny.evaluate(found.permutation)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("threads", [1, 3])
def test_same_seed_and_iterations_give_the_same_incumbents(
    monkeypatch, method, threads
):
    """The rounds depend on nothing but problem, seed and threads."""
    monkeypatch.setattr(chains, "ROUND_OPERATIONS", 20 * 20 * 10 * 10)
    monkeypatch.setattr(chains, "SHARED_ROUNDS", 2)
    problem = FlowShopProblem(taillard_instance("ta011"))

    def run(seed):
        found = []
        last = method(
            Search(
                problem,
                lower_bound=0,
                threads=threads,
                seed=seed,
                iterations=95,
                on_improvement=found.append,
            )
        )
        assert last is found[-1]
        return [(one.value, one.permutation.tolist()) for one in found]

    first = run(seed=5)
    assert run(seed=5) == first
    assert run(seed=6) != first


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=30)
@given(oracle.problems(max_jobs=6).flatmap(oracle.with_given_ends))
def test_with_given_ends_schedules_get_no_worse(method, tiny):
    problem, order = shop_of(tiny, "lb1"), np.arange(tiny.n_jobs)
    start = Incumbent(problem.evaluate(order), order, "initial")
    found = method(Search(problem, 0, iterations=30), start)
    least = tiny.best_orders()[0]
    assert least <= found.value <= start.value
    if tiny.n_jobs <= 3:
        assert found.value == least


def test_a_large_makespan_takes_wider_numbers():
    times = np.random.default_rng(1).integers(5000, 9000, (12, 4))
    problem = FlowShopProblem(FlowShopInstance("long", times))
    start = neh(Search(problem, 0))
    assert start.value > 2**15
    found = iterated_greedy(Search(problem, 0, iterations=200), start)
    assert found.value < start.value


def test_chains_go_on_from_what_is_found_elsewhere(monkeypatch):
    """The optimum is given; one round of one chain finds it from there alone."""
    problem = FlowShopProblem(taillard_instance("ta001"))
    monkeypatch.setattr(chains, "ROUND_OPERATIONS", 1)
    optimum = iterated_greedy(Search(problem, 1278))
    search = Search(problem, 0, iterations=2, elsewhere=lambda: optimum)
    assert iterated_greedy(search, neh(search)) is optimum


def test_improvements_fall_and_are_announced_in_the_callers_thread():
    threads, values = set(), []

    def improved(incumbent):
        threads.add(threading.current_thread())
        values.append(incumbent.value)

    problem = FlowShopProblem(taillard_instance("ta022"))
    limit = time.monotonic() + 0.5
    found = iterated_greedy(
        Search(problem, 0, limit, threads=2, on_improvement=improved)
    )
    assert threads == {threading.current_thread()}
    assert values == sorted(set(values), reverse=True)
    assert values[-1] == found.value
    assert not found.proved


def test_search_ends_when_asked_to():
    asked = []

    def should_stop():
        asked.append(True)
        return len(asked) > 3

    problem = FlowShopProblem(taillard_instance("ta110"))
    iterated_greedy(Search(problem, 0, threads=2, should_stop=should_stop))
    assert len(asked) >= 4


def test_search_ends_within_a_round_of_its_deadline():
    """One round of 500 jobs takes seconds: the running chains are told to stop."""
    problem = FlowShopProblem(taillard_instance("ta120"))
    start = neh(Search(problem, 0))
    load(Search(problem, 0), start)
    begin = time.monotonic()
    found = iterated_greedy(Search(problem, 0, begin + 0.1, threads=2), start)
    assert found.value <= start.value
    assert time.monotonic() - begin < 30


def test_error_of_a_callback_ends_the_chains():
    class Oops(Exception):
        pass

    def improved(incumbent):
        if incumbent.source == "ig":
            raise Oops

    before = threading.active_count()
    with pytest.raises(Oops):
        iterated_greedy(
            Search(
                FlowShopProblem(taillard_instance("ta051")),
                0,
                threads=2,
                on_improvement=improved,
            )
        )
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("scale", "lanes"),
    [(1, {np.int16}), (1500, {np.int16, np.int32}), (10_000, {np.int32})],
)
def test_what_is_loaded_is_for_the_integers_that_are_used(monkeypatch, scale, lanes):
    """At the border both: what is taken out decides, and differs by method."""
    loaded = set()
    monkeypatch.setattr(chains, "iterate", lambda _c, one, _n: loaded.add(type(one)))
    times = scale * np.array([[3, 2], [1, 4], [2, 2], [5, 1]])
    search = Search(FlowShopProblem(FlowShopInstance("shop", times)), 0)
    load(search, neh(search))
    assert loaded == lanes
