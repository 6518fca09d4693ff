import threading
import time

import pytest
from hypothesis import given, settings

from dpbb.flowshop import FlowShopInstance, taillard_instance
from dpbb.flowshop.heuristics.iterated_greedy import iterated_greedy, load
from dpbb.flowshop.heuristics.neh import neh
from dpbb.flowshop.heuristics.search import Search
from tests import oracle


@settings(max_examples=30)
@given(oracle.problems(max_jobs=6))
def test_optimum_of_small_shops_is_found(tiny):
    best, _ = oracle.best_orders(tiny.times)
    instance = FlowShopInstance("tiny", tiny.times)
    limit = time.monotonic() + 10
    found = iterated_greedy(Search(instance, best, deadline=limit, threads=1))
    if tiny.n_jobs > 2:
        assert found.proved
    assert found.value == best == tiny.evaluate(found.permutation)


@pytest.mark.parametrize("threads", [1, 3])
def test_same_seed_gives_the_same_incumbents(threads):
    """The rounds depend on nothing but instance, seed and threads."""
    instance = taillard_instance("ta011")

    def run(seed):
        found = []
        iterated_greedy(
            Search(
                instance,
                lower_bound=1582,  # the optimum
                deadline=time.monotonic() + 60,
                threads=threads,
                seed=seed,
                on_improvement=found.append,
            )
        )
        return [(one.value, one.permutation.tolist()) for one in found]

    first = run(seed=5)
    assert first[-1][0] == 1582
    assert run(seed=5) == first
    assert run(seed=6) != first


def test_improvements_fall_and_are_announced_in_the_callers_thread():
    threads, values = set(), []

    def improved(incumbent):
        threads.add(threading.current_thread())
        values.append(incumbent.value)

    instance = taillard_instance("ta022")
    limit = time.monotonic() + 0.5
    found = iterated_greedy(
        Search(instance, 0, limit, threads=2, on_improvement=improved)
    )
    assert threads == {threading.current_thread()}
    assert values == sorted(set(values), reverse=True)
    assert values[-1] == found.value
    assert not found.proved


def test_search_ends_when_asked_to():
    load()
    asked = []

    def should_stop():
        asked.append(True)
        return len(asked) > 3

    instance = taillard_instance("ta110")
    iterated_greedy(Search(instance, 0, threads=2, should_stop=should_stop))
    assert len(asked) >= 4


def test_search_ends_within_a_round_of_its_deadline():
    """One round of 500 jobs takes seconds: the running chains are told to stop."""
    load()
    instance = taillard_instance("ta120")
    start = neh(Search(instance, 0))
    begin = time.monotonic()
    found = iterated_greedy(Search(instance, 0, begin + 0.1, threads=2), start)
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
            Search(taillard_instance("ta051"), 0, threads=2, on_improvement=improved)
        )
    assert threading.active_count() == before
