import subprocess
import sys
import threading
from dataclasses import replace
from threading import Event, current_thread

import numpy as np
import pytest

from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance, taillard_instance
from dpbb.flowshop.heuristics import HEURISTICS, default_time_s, first, first_incumbent
from dpbb.flowshop.heuristics.first import Part, run_together
from dpbb.flowshop.heuristics.search import Search
from dpbb.problem import Incumbent, StartSearch


@pytest.fixture(scope="module")
def ta001():
    return taillard_instance("ta001")


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


def test_auto_proves_the_optimum_of_50_jobs_on_5_machines():
    found = first_incumbent(taillard_instance("ta035"), StartSearch(time_limit_s=20))
    assert (found.value, found.proved) == (2863, True)


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
        taillard_instance("ta051"),
        StartSearch(time_limit_s=1000, should_stop=lambda: True),
    )
    assert found.source == "neh"


def test_one_and_two_jobs():
    for times in ([[3, 4]], [[3, 4], [4, 3]], [[0], [0], [0]]):
        found = first_incumbent(FlowShopInstance("x", times), StartSearch())
        assert found.proved


def test_unknown_method_and_bad_permutation_are_refused(ta001):
    with pytest.raises(
        OptionError, match=r"heuristics: expected one of auto, .* got 'best'"
    ):
        first_incumbent(ta001, StartSearch(method="best"))
    with pytest.raises(OptionError, match="permutation: expected 20 jobs, got 3"):
        first_incumbent(ta001, StartSearch(initial=np.arange(3)))


def test_default_time_grows_with_the_instance():
    times = [default_time_s(*size) for size in ((5, 2), (20, 5), (20, 20), (50, 20))]
    assert times == sorted(times)
    assert times[0] == times[1] == 0.3
    assert default_time_s(800, 60) == 10


def test_import_is_light():
    """Numba takes longer to import than small instances take to solve."""
    code = (
        "import sys, dpbb.flowshop.heuristics as h;"
        "assert h.first_incumbent; sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603


def test_numpy_searches_until_the_code_is_compiled_and_a_word_says_so(
    monkeypatch, ta001
):
    release, notes, found = Event(), [], []
    path = HEURISTICS["ig"].cpu

    class Slow:
        def __init__(self, paths, _search, _start):
            assert list(paths) == [path]

        def end(self):
            pass

        def ready(self, _path):
            return release.is_set()

        def heuristic(self, _path):
            return lambda _search, start: start

    def improved(incumbent):
        found.append(incumbent.source)
        if incumbent.source == "insertion":
            release.set()

    monkeypatch.setattr(first, "Loading", Slow)
    monkeypatch.setattr(first, "NOTE_S", 0.0)
    best = first_incumbent(
        ta001, StartSearch(method="ig", on_improvement=improved, on_note=notes.append)
    )
    assert found == ["neh", "insertion"]
    assert best.source == "insertion"
    assert notes == ["compiling the heuristics; another search runs meanwhile", ""]


def test_a_large_shop_has_an_order_before_neh(monkeypatch):
    found = []
    monkeypatch.setattr(first, "LARGE", 20 * 20 * 3 - 1)
    times = np.random.default_rng(1).integers(1, 99, (20, 3))
    shop = FlowShopInstance("large", times)
    first_incumbent(shop, StartSearch(method="neh", on_improvement=found.append))
    assert found[0].source == "own order"
    assert found[-1].source == "neh"


@pytest.mark.parametrize(
    ("device", "size", "in_turn", "expected"),
    [
        ("cpu", (50, 20), False, "vbih+beam"),
        ("cpu", (50, 20), True, "beam vbih"),
        ("cpu", (50, 10), False, "beam vbih"),
        ("cpu", (100, 20), False, "beam ils"),
        ("gpu", (100, 20), False, "ils+beam"),
        ("cpu", (100, 40), False, "ils+beam"),
        ("gpu", (100, 40), True, "beam ils"),
    ],
)
def test_what_runs_by_itself(device, size, in_turn, expected):
    stages = first._stages("auto", device, *size, in_turn=in_turn)
    assert " ".join("+".join(names) for names, _ in stages) == expected
    assert stages[-1][1] == 1.0


@pytest.mark.parametrize(
    ("threads", "device", "shares"),
    [(2, "cpu", [1, 1]), (5, "cpu", [3, 2]), (16, "gpu", [12, 4]), (2, "gpu", [1, 1])],
)
def test_a_beam_on_a_gpu_leaves_the_cores_to_local_search(threads, device, shares):
    parts = first._shared(threads, device, [None, None])
    assert [part.threads for part in parts] == shares


def test_on_a_gpu_beam_and_local_search_run_at_once(monkeypatch, ta001):
    """The beam finds what local search waits for."""
    optimum = first_incumbent(ta001, StartSearch(lower_bound=1278, time_limit_s=60))

    def local(search, start):
        while search.latest(start).value > 1278:
            pass
        return replace(search.latest(start), proved=True)

    def beam(search, _start):
        assert search.threads == 1
        search.on_improvement(replace(optimum, source="beam"))
        return optimum

    class Loaded:
        def __init__(self, paths, _search, _start):
            self.found = dict(zip(paths, (local, beam), strict=True))

        def end(self):
            pass

        def ready(self, _path):
            return True

        def heuristic(self, path):
            return self.found[path]

    monkeypatch.setattr(first, "Loading", Loaded)
    monkeypatch.setattr(first, "require_gpu", lambda: None)
    found = first_incumbent(
        ta001, StartSearch(device="gpu", threads=4, time_limit_s=60)
    )
    assert found.value == 1278
    assert found.proved


def test_what_is_loaded_first_searches_until_the_rest_is(monkeypatch, ta001):
    """The second is loaded when the first is asked to stop the third time."""
    asked, found = [], []

    def local(search, start):
        while not search.over:
            asked.append(True)
        return start

    def beam(search, start):
        found.append(search.threads)
        return replace(start, proved=True)

    class Slow:
        def __init__(self, paths, _search, _start):
            self.paths = list(paths)

        def end(self):
            pass

        def ready(self, path):
            return path == self.paths[0] or len(asked) > 2

        def heuristic(self, path):
            return local if path == self.paths[0] else beam

    monkeypatch.setattr(first, "Loading", Slow)
    monkeypatch.setattr(first, "require_gpu", lambda: None)
    best = first_incumbent(ta001, StartSearch(device="gpu", threads=2, time_limit_s=60))
    assert best.proved
    assert len(asked) > 2
    assert found == [1]


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
