import threading
from dataclasses import replace
from threading import Event, current_thread

import numpy as np
import pytest

from dpbb.flowshop import FlowShopInstance
from dpbb.flowshop.heuristics.search import Search
from dpbb.flowshop.heuristics.together import Part, run_together
from dpbb.problem import Incumbent

SHOP = FlowShopInstance("shop", np.array([[3, 2], [1, 4], [2, 2]]))


def found(value, source="x"):
    return Incumbent(value, np.arange(3), source)


def until_over(search, start):
    while not search.over:
        search.latest(start)
    return start


def test_each_goes_on_from_what_the_others_find_and_all_is_told_in_this_thread():
    """The second waits for the first, the first for the second."""
    told = []

    def first(search, start):
        search.on_improvement(found(10, "first"))
        while search.latest(start).value > 8:
            pass
        return search.latest(start)

    def second(search, start):
        while search.latest(start).value > 10:
            pass
        search.on_improvement(found(9, "second"))
        search.on_improvement(found(8, "second"))
        search.on_improvement(found(8, "again"))
        return found(8, "second")

    search = Search(
        SHOP,
        0,
        threads=9,
        on_improvement=lambda one: told.append((one.value, current_thread())),
    )
    best = run_together(search, found(20), [Part(first, 1), Part(second, 2)])
    assert (best.value, best.source) == (8, "second")
    assert told == [(value, current_thread()) for value in (10, 9, 8)]


def test_every_part_has_its_threads_and_a_proof_ends_the_others():
    threads = []

    def proves(search, start):
        threads.append(search.threads)
        return replace(start, proved=True)

    best = run_together(
        Search(SHOP, 0, threads=9), found(20), [Part(until_over, 1), Part(proves, 3)]
    )
    assert best.proved
    assert best.value == 20
    assert threads == [3]


def test_a_stop_ends_all():
    asked = []

    def should_stop():
        asked.append(current_thread())
        return len(asked) > 3

    search = Search(SHOP, 0, should_stop=should_stop)
    start = found(20)
    assert run_together(search, start, [Part(until_over, 1)] * 2) is start
    assert set(asked) == {current_thread()}


def test_an_error_of_one_ends_the_others_and_is_raised():
    def broken(_search, _start):
        raise ArithmeticError("broken")

    before = threading.active_count()
    with pytest.raises(ArithmeticError, match="broken"):
        run_together(Search(SHOP, 0), found(20), [Part(until_over, 1), Part(broken, 1)])
    assert threading.active_count() == before


def test_an_error_of_a_callback_ends_all():
    release = Event()

    def improves(search, start):
        search.on_improvement(found(9))
        return until_over(search, start)

    def improved(_incumbent):
        release.set()
        raise ArithmeticError("told")

    before = threading.active_count()
    with pytest.raises(ArithmeticError, match="told"):
        run_together(
            Search(SHOP, 0, on_improvement=improved), found(20), [Part(improves, 1)]
        )
    assert release.is_set()
    assert threading.active_count() == before


def test_a_bound_of_one_is_told_in_this_thread():
    told = []

    def shows(search, start):
        search.on_bound(7)
        return start

    def tell(bound):
        told.append((bound, current_thread()))

    search = Search(SHOP, 0, on_bound=tell)
    assert run_together(search, found(9), [Part(shows, 1), Part(shows, 1)]).value == 9
    assert told == 2 * [(7, threading.current_thread())]
