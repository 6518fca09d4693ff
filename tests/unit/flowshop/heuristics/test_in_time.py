from __future__ import annotations

import time
from dataclasses import replace
from threading import Event, current_thread
from threading import enumerate as enumerate_threads

import numpy as np
import pytest

from dpbb.flowshop.heuristics import in_time
from dpbb.flowshop.heuristics.in_time import incumbent_in_time
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.options import Heuristics
from dpbb.problem import Incumbent, StartSearch

SHOP = FlowShopInstance("shop", np.array([[3, 2], [1, 4], [2, 2]]))
NEH = Incumbent(9, np.array([1, 0, 2]), "neh")


@pytest.fixture
def compiling(monkeypatch):
    """Heuristics that find what they are given, and then hear and see nothing."""
    release = Event()

    def start(*found):
        def search(_instance, wanted, _kept):
            for incumbent in found:
                wanted.on_improvement(incumbent)
            release.wait(60)
            return found[-1] if found else None

        monkeypatch.setattr(in_time, "first_incumbent", search)

    yield start
    release.set()


def search(end=None, should_stop=lambda: False, method=Heuristics.AUTO):
    found = []
    how = StartSearch(
        method, end=end, on_improvement=found.append, should_stop=should_stop
    )
    return incumbent_in_time(SHOP, how), found


def test_all_that_is_found_is_told_in_this_thread_and_the_best_returned():
    best, found = search()
    assert found[-1].permutation is best.permutation
    assert best.value == 9
    assert best.proved


def test_the_end_is_kept_while_code_is_compiled(compiling):
    """Two orders that take no compiling are better than nothing; makespans by hand."""
    compiling()
    best, found = search(end=time.monotonic() + 0.02)
    assert (best.value, best.source, best.permutation.tolist()) == (
        9,
        "palmer",
        [1, 2, 0],
    )
    assert [(step.value, step.source) for step in found] == [
        (11, "own order"),
        (9, "palmer"),
    ]


def test_what_was_found_until_the_end_counts(compiling):
    compiling(NEH)
    assert search(end=time.monotonic() + 0.5) == (NEH, [NEH])


def test_a_stop_is_not_kept_waiting(compiling):
    compiling(NEH)
    assert search(should_stop=lambda: True) == (NEH, [NEH])


def test_without_heuristics_there_is_no_schedule():
    assert search(end=time.monotonic(), method=Heuristics.NONE) == (None, [])


@pytest.mark.parametrize(
    ("given", "end", "seconds"),
    [
        (None, None, None),
        (7, None, 7),
        (None, 3, 2),  # a third of it is for what is compiled
        (None, 750, 5),  # what is usual for this size
        (7, 4, 7),
    ],
)
def test_the_search_is_over_before_the_end(monkeypatch, given, end, seconds):
    told = []
    monkeypatch.setattr(in_time, "default_time_s", lambda _n, _m: 5.0)
    monkeypatch.setattr(
        in_time,
        "first_incumbent",
        lambda _shop, how, _kept: told.append(how.time_limit_s),
    )
    end = None if end is None else time.monotonic() + end
    incumbent_in_time(SHOP, StartSearch(time_limit_s=given, end=end))
    assert told == [pytest.approx(seconds, abs=0.1)]


def test_notes_are_passed_on_in_this_thread(monkeypatch):
    def waiting(_instance, wanted, _kept):
        wanted.on_note("compiling")
        wanted.on_note("")
        wanted.on_improvement(NEH)
        return NEH

    monkeypatch.setattr(in_time, "first_incumbent", waiting)
    told = []
    how = StartSearch(on_note=lambda text: told.append((text, current_thread())))
    assert incumbent_in_time(SHOP, how) is NEH
    assert told == [("compiling", current_thread()), ("", current_thread())]


def test_what_came_just_before_the_end_counts(monkeypatch):
    """Nobody had looked since: a busy machine."""
    found = Event()

    def search(_instance, wanted, _kept):
        wanted.on_improvement(NEH)
        found.set()
        return NEH

    def slow():
        found.wait(60)
        return False

    monkeypatch.setattr(in_time, "first_incumbent", search)
    how = StartSearch(end=time.monotonic(), should_stop=slow)
    assert incumbent_in_time(SHOP, how) is NEH


def test_the_first_schedule_is_waited_for_a_little_longer(monkeypatch):
    def slow(_instance, wanted, _kept):
        while time.monotonic() < end:
            assert not wanted.should_stop()
        wanted.on_improvement(NEH)
        return NEH

    monkeypatch.setattr(in_time, "first_incumbent", slow)
    monkeypatch.setattr(in_time, "GRACE_S", 60.0)
    end = time.monotonic() + 0.05
    assert incumbent_in_time(SHOP, StartSearch(end=end)) is NEH


def test_errors_are_raised_here(monkeypatch):
    def broken(*_args, **_how):
        raise ArithmeticError("broken")

    monkeypatch.setattr(in_time, "first_incumbent", broken)
    with pytest.raises(ArithmeticError, match="broken"):
        search()


def test_no_thread_of_heuristics_outlives_them():
    """NEH takes a second of this shop: it looks at the stop after every job."""
    times = np.random.default_rng(1).integers(1, 100, (500, 40))
    told = Event()
    how = StartSearch(on_improvement=lambda _one: told.set(), should_stop=told.is_set)
    incumbent_in_time(FlowShopInstance("large", times), how)
    assert "dpbb-heuristics" not in {one.name for one in enumerate_threads()}


def test_a_proof_of_what_was_known_is_not_lost(monkeypatch):
    """Nothing is announced for it: the schedule is the same."""

    def proves(_instance, wanted, _kept):
        wanted.on_improvement(NEH)
        return replace(NEH, proved=True)

    monkeypatch.setattr(in_time, "first_incumbent", proves)
    best, found = search()
    assert best.proved
    assert found == [NEH]
