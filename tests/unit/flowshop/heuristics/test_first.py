"""What searches for the first incumbent, for how long, and what the loop passes on.

The heuristics by name.
"""

import sys
import threading
import time
from dataclasses import replace
from threading import Event, current_thread
from types import ModuleType

import numpy as np
import pytest

from dpbb.errors import OptionError
from dpbb.flowshop import (
    FlowShopInstance,
    FlowShopProblem,
    heuristics,
    taillard_instance,
)
from dpbb.flowshop.heuristics import HEURISTICS, first, first_incumbent
from dpbb.flowshop.heuristics.first import Method
from dpbb.options import OPTIONS, Heuristics, SolveOptions
from dpbb.problem import Incumbent, StartSearch
from dpbb.solving.arguments import check_fit
from tests.oracle import TinyFlowShop


@pytest.fixture(scope="module")
def ta001():
    return FlowShopProblem(taillard_instance("ta001"))


def test_none_gives_the_initial_permutation_or_nothing(ta001):
    assert first_incumbent(ta001, StartSearch(method="none")) is None
    found = first_incumbent(ta001, StartSearch(method="none", initial=range(20)))
    assert found.source == "initial"
    assert found.permutation.tolist() == list(range(20))
    assert found.value == 1448


def test_neh_alone_takes_no_time(ta001):
    found = first_incumbent(ta001, StartSearch(method="neh", time_limit_s=0))
    assert found.source == "neh"
    assert 1278 <= found.value < 1448


@pytest.mark.parametrize("method", ["ig", "beam", "auto"])
def test_optimum_of_20_jobs_on_5_machines_is_found(ta001, method):
    found = first_incumbent(
        ta001, StartSearch(method=method, lower_bound=1278, time_limit_s=20)
    )
    assert found.value == 1278
    assert found.proved


def test_every_improvement_is_announced(ta001):
    found = []
    last = first_incumbent(
        ta001,
        StartSearch(initial=range(20), time_limit_s=20, on_improvement=found.append),
    )
    values = [one.value for one in found]
    assert found[0].source == "initial"
    assert values == sorted(set(values), reverse=True)
    assert last.value == values[-1] == 1278


def test_known_lower_bound_ends_the_search(ta001):
    found = first_incumbent(
        ta001, StartSearch(initial=range(20), lower_bound=1448, time_limit_s=1000)
    )
    assert found.source == "initial"
    assert found.proved


def test_stop_ends_the_search_with_the_best_so_far():
    found = first_incumbent(
        FlowShopProblem(taillard_instance("ta051")),
        StartSearch(time_limit_s=1000, should_stop=lambda: True),
    )
    assert found.source in ("own order", "palmer")


def test_one_and_two_jobs():
    for times in ([[3, 4]], [[3, 4], [4, 3]], [[0], [0], [0]]):
        shop = FlowShopProblem(FlowShopInstance("x", times))
        found = first_incumbent(shop, StartSearch())
        assert found.proved


def test_unknown_method_and_bad_permutation_are_refused(ta001):
    with pytest.raises(
        OptionError, match=r"heuristics: expected one of auto, .* got 'best'"
    ):
        first_incumbent(ta001, StartSearch(method="best"))
    with pytest.raises(OptionError, match="permutation: expected 20 jobs, got 3"):
        first_incumbent(ta001, StartSearch(initial=np.arange(3)))


TIMES = [[3, 2, 4], [1, 4, 2], [2, 2, 5], [6, 1, 1]]
SHOP = FlowShopProblem(FlowShopInstance("shop", TIMES))
ORDER = np.arange(4)


def found(value, source="x", *, proved=False):
    return Incumbent(value, ORDER, source, proved)


def until_over(search, start):
    while not search.over:
        search.latest(start)
    return start


@pytest.fixture
def methods(monkeypatch):
    """Have ``auto`` run given functions on a GPU at once: local search and a beam.

    NEH gives 99, which is not proved.
    """
    own = ModuleType("own")
    monkeypatch.setitem(sys.modules, "own", own)
    monkeypatch.setattr(first, "require_gpu", lambda: None)
    monkeypatch.setattr(first, "neh", lambda _search, _start: found(99, "neh"))
    for name in ("ig", "beam"):
        monkeypatch.setitem(HEURISTICS, name, Method(f"own:{name}"))

    def run(ig=until_over, beam=until_over, **how):
        own.ig, own.beam = ig, beam
        told = []
        how = {"device": "gpu", "threads": 9, "time_limit_s": 60, **how}
        search = StartSearch(
            on_improvement=lambda one: told.append((one.value, current_thread())), **how
        )
        best = first_incumbent(SHOP, search)
        assert {thread for _, thread in told} <= {current_thread()}
        return best, [value for value, _ in told]

    run.module = own
    yield run
    for thread in threading.enumerate():
        if thread.name == "dpbb-heuristics":
            thread.join(10)
            assert not thread.is_alive()


def test_each_goes_on_from_what_the_others_find_and_all_is_told_in_this_thread(methods):
    """The second waits for the first, the first for the second."""

    def ig(search, start):
        search.on_improvement(found(30, "ig"))
        while search.latest(start).value > 28:
            pass
        return search.latest(start)

    def beam(search, start):
        assert search.threads == 2
        while search.latest(start).value > 30:
            pass
        for value in (29, 28, 28):
            search.on_improvement(found(value, "beam"))
        return found(28, "beam")

    best, told = methods(ig, beam)
    assert (best.value, best.source) == (28, "beam")
    assert told == [99, 30, 29, 28]


def test_a_proof_ends_the_others_and_what_was_known_is_proved(methods):
    best, told = methods(beam=lambda _search, start: replace(start, proved=True))
    assert (best.value, best.source, best.proved) == (99, "neh", True)
    assert told == [99]


def test_a_stop_ends_all(methods):
    asked = []

    def should_stop():
        asked.append(current_thread())
        return len(asked) > 9

    best, _ = methods(should_stop=should_stop)
    assert best.source == "neh"
    assert set(asked) == {current_thread()}


def test_an_error_ends_the_others_and_is_raised(methods):
    def broken(_search, _start):
        raise ArithmeticError("broken")

    with pytest.raises(ArithmeticError, match="broken"):
        methods(beam=broken)
    methods.module.load = broken
    with pytest.raises(ArithmeticError, match="broken"):
        methods()


def test_an_error_of_a_callback_ends_all(methods, monkeypatch):
    def told(_text):
        raise ArithmeticError("told")

    monkeypatch.setattr(first, "NOTE_S", 0.0)
    methods.module.load = lambda *_: time.sleep(0.2)
    with pytest.raises(ArithmeticError, match="told"):
        methods(on_note=told)


@pytest.mark.parametrize("iterations", [None, 3])
def test_numpy_searches_until_the_code_is_compiled_and_a_word_says_so(
    methods, monkeypatch, iterations
):
    """But none of a number of iterations is spent on it."""
    compiled, notes = Event(), []

    def on_note(text):
        notes.append((text, current_thread()))
        if text and iterations:
            compiled.set()

    def plain(search, start):
        compiled.set()
        return until_over(search, start)

    monkeypatch.setattr(first, "NOTE_S", 0.01)
    monkeypatch.setattr(first, "plain_search", plain)
    methods.module.load = lambda *_: compiled.wait(60) and time.sleep(0.1)
    done = lambda _search, start: start  # noqa: E731
    methods(done, done, on_note=on_note, iterations=iterations)
    text = "compiling the heuristics; another search runs meanwhile"
    assert notes[:2] == [(text, current_thread()), ("", current_thread())]


def test_numpy_leaves_half_of_the_time_to_who_loads(methods, monkeypatch):
    """Both need Python's lock: without sleep loading took two minutes, not a second."""
    compiled, worked, took = Event(), [], []

    def plain(search, start):
        began, cpu = time.monotonic(), time.thread_time()
        while time.thread_time() < cpu + 0.1 and not search.over:
            pass
        worked.append(time.thread_time() - cpu)
        took.append(time.monotonic() - began)
        compiled.set()
        return until_over(search, start)

    monkeypatch.setattr(first, "plain_search", plain)
    methods.module.load = lambda *_: compiled.wait(60)
    done = lambda _search, start: start  # noqa: E731
    methods(done, done)
    assert took[0] > 1.8 * worked[0]


@pytest.mark.parametrize(
    ("given", "end", "seconds"),
    [
        (None, None, 5),
        (7, None, 7),
        (None, 3, 2),  # a third of it is for what is compiled
        (None, 750, 5),  # what is usual for this size
        (7, 4, 7),
    ],
)
def test_the_search_is_over_before_the_end(methods, monkeypatch, given, end, seconds):
    left = []

    def ig(search, start):
        left.append(search.deadline - time.monotonic())
        return start

    monkeypatch.setattr(first, "default_time_s", lambda *of: {"gpu": 5.0}[of[2]])
    end = None if end is None else time.monotonic() + end
    methods(ig, ig, time_limit_s=given, end=end)
    assert left == [pytest.approx(seconds, abs=0.2)] * 2


@pytest.fixture
def hanging(monkeypatch):
    """Have NEH find what it is given, and then hear and see nothing."""
    release = Event()

    def start(*values):
        def neh(search, _start):
            for value in values:
                search.on_improvement(found(value, "neh"))
            release.wait(60)

        monkeypatch.setattr(first, "neh", neh)

    yield start
    release.set()


def test_the_end_is_kept_and_any_order_is_better_than_none(hanging):
    hanging()
    told = []
    search = StartSearch(end=time.monotonic(), on_improvement=told.append)
    best = first_incumbent(SHOP, search)
    assert best is told[-1]
    assert {one.source for one in told} <= {"own order", "palmer"}
    given = StartSearch(end=time.monotonic(), initial=[3, 0, 1, 2])
    assert first_incumbent(SHOP, given).source == "initial"


def test_what_was_found_until_the_end_or_a_stop_counts(hanging):
    hanging(50, 40)
    told = []
    for how in ({"end": time.monotonic()}, {"should_stop": lambda: len(told) > 3}):
        search = StartSearch(on_improvement=told.append, **how)
        assert first_incumbent(SHOP, search).value == 40
    assert [one.value for one in told] == [50, 40, 50, 40]


def test_the_first_schedule_is_waited_for_a_little_longer(monkeypatch):
    def slow(search, _start):
        while time.monotonic() < end:
            assert not search.over
        return found(40, "neh")

    monkeypatch.setattr(first, "neh", slow)
    monkeypatch.setattr(first, "GRACE_S", 60.0)
    end = time.monotonic() + 0.05
    search = StartSearch("neh", end=end)
    assert first_incumbent(SHOP, search).value == 40


def test_the_option_takes_every_row_and_two_choices_more(monkeypatch):
    shop = FlowShopProblem(FlowShopInstance("shop", [[1, 2], [3, 1]]))
    monkeypatch.setitem(HEURISTICS, "luck", Method("nowhere:luck"))
    for name in (*Heuristics, *HEURISTICS):
        check_fit(shop, SolveOptions(heuristics=name))
    known = ", ".join((*Heuristics, *HEURISTICS))
    assert known.endswith(", luck")
    with pytest.raises(OptionError, match=f"expected one of {known}, got 'magic'"):
        check_fit(shop, SolveOptions(heuristics="magic"))


def test_a_problem_without_heuristics_takes_none_of_them():
    own = TinyFlowShop(((1, 2), (3, 1)))
    check_fit(own, SolveOptions(heuristics="none"))
    with pytest.raises(OptionError, match="got 'beam'"):
        check_fit(own, SolveOptions(heuristics="beam"))


def test_the_help_has_every_row():
    assert OPTIONS["heuristics"].help.endswith(f" {', '.join(HEURISTICS)}")


@pytest.mark.parametrize("name", HEURISTICS)
def test_every_row_leads_to_a_heuristic(name):
    times = np.random.default_rng(0).integers(1, 30, (6, 3))
    shop = FlowShopProblem(FlowShopInstance("shop", times))
    found = first_incumbent(
        shop, StartSearch(method=name, time_limit_s=0.05, lower_bound=0)
    )
    assert sorted(found.permutation.tolist()) == list(range(6))


def test_a_device_takes_the_function_of_a_row_for_it(monkeypatch):
    """On a GPU what has no function for one runs on the cores, but not if asked for."""
    called = []
    monkeypatch.setattr(first, "require_gpu", lambda: None)
    for name in ("on_cpu", "on_gpu"):

        def found(search, start=None, name=name):
            called.append((name, search.iterations))
            return start

        monkeypatch.setattr(heuristics, name, found, raising=False)
    here = "dpbb.flowshop.heuristics"
    times = np.random.default_rng(0).integers(1, 30, (10, 8))
    shop = FlowShopProblem(FlowShopInstance("shop", times))
    monkeypatch.setitem(HEURISTICS, "ig", Method(f"{here}:on_cpu", f"{here}:on_gpu"))
    for device in ("cpu", "gpu"):
        how = {"time_limit_s": 0.05, "iterations": 7, "device": device}
        first_incumbent(shop, StartSearch(method="ig", **how))
    assert called == [("on_cpu", 7), ("on_gpu", 7)]
    monkeypatch.setitem(HEURISTICS, "ig", Method(f"{here}:on_cpu"))
    monkeypatch.setitem(HEURISTICS, "beam", Method(f"{here}:on_cpu"))
    first_incumbent(shop, StartSearch(method="auto", time_limit_s=0.05, device="gpu"))
    assert {name for name, _ in called[2:]} == {"on_cpu"}
    with pytest.raises(OptionError, match="expected cpu, as the heuristic 'ig'"):
        first_incumbent(shop, StartSearch(method="ig", device="gpu"))
    with pytest.raises(OptionError, match="expected one of cpu, gpu, got 'tpu'"):
        first_incumbent(shop, StartSearch(method="ig", device="tpu"))
