"""The compiled iterated greedy search: what it finds, when it ends, what repeats it."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from dpbb.flowshop import FlowShopInstance, FlowShopProblem, taillard_instance
from dpbb.flowshop.heuristics.plain import neh
from dpbb.heuristics import Search
from dpbb.modeling import greedy
from dpbb.modeling.greedy import (
    Chain,
    first_incumbent,
    iterated_greedy,
    load,
    while_it_pays,
)
from dpbb.problem import Incumbent, StartSearch
from tests import oracle
from tests.models import TotalCompletion, random_models
from tests.parity.subject import shop_of
from tests.unit.modeling.test_model import best_cost

SHOP = FlowShopProblem(taillard_instance("ta022"))


@pytest.fixture(params=["at once", "in turn"])
def moves(request, monkeypatch):
    """Have jobs taken out as of few jobs, or as of many."""
    monkeypatch.setattr(greedy, "FEW_JOBS", 10**6 * (request.param == "at once"))


def small(problem, **how):
    own = np.arange(problem.n_jobs)
    return Search(problem, 0, **how), Incumbent(problem.evaluate(own), own, "own")


@pytest.mark.parametrize("kind", ["ordering", "setups"])
def test_chains_find_the_best_of_few(kind):
    """With a shared field, and with two sides that join; as a start, too."""
    problem = random_models(np.random.default_rng(7))[kind]
    chain = Chain.at(*small(problem), 0, np.zeros(1, np.int64))
    chain.advance(1, builds=True)
    chain.advance(30)
    assert problem.evaluate(chain.best[:-1]) == chain.values[1] == best_cost(problem)


@pytest.mark.usefixtures("moves")
@settings(max_examples=30)
@given(oracle.problems(max_jobs=6))
def test_optimum_of_small_shops_is_found(tiny):
    best, _ = oracle.best_orders(tiny.times)
    problem = FlowShopProblem(FlowShopInstance("tiny", tiny.times))
    limit = time.monotonic() + 60
    found = iterated_greedy(Search(problem, best, deadline=limit, threads=1))
    if tiny.n_jobs > 1:
        assert found.proved
    assert found.value == best == tiny.evaluate(found.permutation)


@pytest.mark.usefixtures("moves")
@pytest.mark.parametrize("threads", [1, 3])
def test_same_seed_and_iterations_give_the_same_incumbents(monkeypatch, threads):
    """The rounds depend on nothing but problem, seed and threads."""
    monkeypatch.setattr(greedy, "ROUND_OPERATIONS", 20 * 20 * 20 * 2)
    monkeypatch.setattr(greedy, "SHARED_ROUNDS", 2)

    def run(seed):
        found = []
        how = {"threads": threads, "seed": seed, "iterations": 95}
        last = iterated_greedy(Search(SHOP, 0, on_improvement=found.append, **how))
        assert last is found[-1]
        return [(one.value, one.permutation.tolist()) for one in found]

    first = run(seed=5)
    assert run(seed=5) == first
    assert run(seed=6) != first


@pytest.mark.usefixtures("moves")
@settings(max_examples=30)
@given(oracle.problems(max_jobs=6).flatmap(oracle.with_given_ends))
def test_with_given_ends_schedules_get_no_worse(tiny):
    search, start = small(shop_of(tiny, "lb1"), iterations=30)
    found = iterated_greedy(search, start)
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
    """All three: another search claims a better schedule than there is."""
    problem, moved = FlowShopProblem(taillard_instance("ta001")), []
    monkeypatch.setattr(greedy, "ROUND_OPERATIONS", 1)
    monkeypatch.setattr(greedy.Chain, "go_on_from", lambda *to: moved.append(to[2]))
    better = replace(neh(Search(problem, 0)), value=1277)
    search = Search(problem, 0, threads=3, iterations=1, elsewhere=lambda: better)
    assert iterated_greedy(search) is better
    assert moved == [1277] * 3


def test_improvements_fall_and_are_announced_in_the_callers_thread():
    threads, values = set(), []

    def improved(incumbent):
        threads.add(threading.current_thread())
        values.append(incumbent.value)

    limit = time.monotonic() + 0.5
    found = iterated_greedy(Search(SHOP, 0, limit, 2, on_improvement=improved))
    assert threads == {threading.current_thread()}
    assert values == sorted(set(values), reverse=True)
    assert values[-1] == found.value
    assert not found.proved


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
        iterated_greedy(Search(SHOP, 0, threads=2, on_improvement=improved))
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("scale", "lanes"),
    [(1, {np.int16}), (1000, {np.int16, np.int32}), (10_000, {np.int32})],
)
def test_what_is_loaded_is_for_the_integers_that_are_used(monkeypatch, scale, lanes):
    """At the border both: a better schedule may need narrower ones."""
    loaded = set()
    monkeypatch.setattr(greedy, "iterate", lambda _c, one, *_: loaded.add(type(one)))
    times = scale * np.array([[3, 2], [1, 4], [2, 2], [5, 1]])
    problem = FlowShopProblem(FlowShopInstance("shop", times))
    search = Search(problem, 0)
    load(search, neh(search))
    assert loaded == lanes


def test_it_stops_at_the_bound():
    rng = np.random.default_rng(3)
    problem = TotalCompletion(rng.integers(1, 99, (20, 4)))
    start = small(problem)[1]
    how = {"seed": 5, "threads": 1, "time_limit_s": 60}
    found = problem.improve(start, StartSearch(iterations=20, **how))
    assert found.value == problem.evaluate(found.permutation) < start.value
    proved = problem.improve(start, StartSearch(lower_bound=found.value, **how))
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


def test_it_goes_on_as_long_as_the_second_half_finds_something(monkeypatch):
    left, seconds = [3, 2, 1, 1], []
    search, start = small(SHOP)

    def searched(search, start):
        seconds.append(search.deadline - time.monotonic())
        time.sleep(max(seconds[-1], 0))
        return replace(start, value=left.pop(0))

    monkeypatch.setattr(greedy, "iterated_greedy", searched)
    assert while_it_pays(search, start, StartSearch()).value == 1
    first, *others = seconds
    assert others == pytest.approx([first, 2 * first, 4 * first], rel=0.5)


def test_it_is_waited_for_while_it_is_compiled(monkeypatch):
    problem, notes = TotalCompletion(np.ones((12, 2), int)), []
    monkeypatch.setattr(greedy, "NOTE_S", 0.1)
    monkeypatch.setattr(greedy, "load", lambda *_: time.sleep(0.5))
    first_incumbent(problem, StartSearch(on_note=notes.append))
    assert notes == ["compiling the heuristics; another search runs meanwhile", ""]


def test_what_cannot_be_compiled_leaves_the_other_search(monkeypatch, caplog):
    def fails(*_):
        raise RuntimeError("no memory")

    monkeypatch.setattr(greedy, "load", fails)
    problem = TotalCompletion(np.random.default_rng(4).integers(1, 99, (12, 2)))
    assert first_incumbent(problem, StartSearch()).value < problem.trivial_ub
    assert "no compiled heuristics: no memory" in caplog.text
