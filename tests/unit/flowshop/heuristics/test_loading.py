import sys
import threading
from threading import Event
from types import ModuleType

import numpy as np
import pytest

from dpbb.flowshop.heuristics import beam, chains
from dpbb.flowshop.heuristics.beam_polish import POLISHED_OUT
from dpbb.flowshop.heuristics.insertion_lanes import narrowest
from dpbb.flowshop.heuristics.loading import Loading, tiny_searches
from dpbb.flowshop.heuristics.search import Search, improve, machine_times
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.models.lb1_cpu import Lb1
from dpbb.flowshop.problem import FlowShopProblem


@pytest.fixture
def modules(monkeypatch):
    """Two modules: one is loaded when it is let, one cannot be loaded."""
    slow, broken = ModuleType("slow"), ModuleType("broken")
    slow.order, slow.go = [], Event()

    def load(search, start):
        assert (search, start) == ("search", "start")
        slow.go.wait(60)
        slow.order.append("slow")

    def fail(_search, _start):
        raise ArithmeticError("broken")

    slow.load, slow.found, broken.load = load, "a heuristic", fail
    monkeypatch.setitem(sys.modules, "slow", slow)
    monkeypatch.setitem(sys.modules, "broken", broken)
    yield slow
    slow.go.set()


def test_a_heuristic_is_ready_when_its_code_is_loaded(modules):
    loading = Loading(["slow:found", "slow:found"], "search", "start")
    assert not loading.ready("slow:found")
    modules.go.set()
    assert loading.heuristic("slow:found") == "a heuristic"
    assert loading.ready("slow:found")
    assert modules.order == ["slow"]


def test_an_error_is_raised_by_who_asks_and_the_next_is_loaded(modules):
    modules.go.set()
    loading = Loading(["broken:found", "slow:found"], "search", "start")
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="broken"):
            loading.heuristic("broken:found")
    assert loading.heuristic("slow:found") == "a heuristic"


def test_nothing_more_is_loaded_when_nobody_waits(modules):
    loading = Loading(["slow:found", "broken:found"], "search", "start")
    loading.end()
    modules.go.set()
    assert loading.heuristic("slow:found") == "a heuristic"
    for thread in threading.enumerate():
        if thread.name == "dpbb-loading":
            thread.join()
    assert not loading.ready("broken:found")


SCALES = [(1, np.int16), (10_000, np.int32)]


def search_of(scale):
    times = scale * np.array([[3, 2], [1, 4], [2, 2], [5, 1]])
    search = Search(FlowShopInstance("shop", times), 0)
    return search, improve(search, None, range(4), "start")


@pytest.mark.parametrize(("scale", "lane"), SCALES)
def test_chains_are_loaded_for_the_integers_that_they_use(monkeypatch, scale, lane):
    lanes = []

    def iterate(_chain, one, _iterations):
        lanes.append(type(one))

    monkeypatch.setattr(chains, "iterate", iterate)
    chains.load(*search_of(scale))
    assert lanes == [lane]


@pytest.mark.parametrize(("scale", "lane"), SCALES)
def test_beams_are_loaded_for_the_integers_that_they_use(monkeypatch, scale, lane):
    loaded = []
    monkeypatch.setattr(beam, "beam", lambda *tiny: loaded.append(tiny))
    beam.load(*search_of(scale))
    ((search, start),) = loaded
    problem = FlowShopProblem(search.instance)
    assert Lb1.narrowest_dtype(problem, start.value) is lane
    polish, _ = narrowest(machine_times(search), start.value, POLISHED_OUT)
    assert polish is lane


def test_at_the_border_both_are_loaded(monkeypatch):
    """What is taken out decides, and differs from method to method."""
    lanes = []
    monkeypatch.setattr(chains, "iterate", lambda _c, one, _n: lanes.append(type(one)))
    search, start = search_of(1500)
    kinds = {
        narrowest(machine_times(search), start.value, out)[0]
        for out in (0, chains.MOST_REMOVED)
    }
    assert kinds == {np.int16, np.int32}
    chains.load(search, start)
    assert set(lanes) == kinds


def test_tiny_searches_end_at_once():
    for search, start in tiny_searches([np.int16, np.int32, np.int16]):
        assert (search.instance.n_jobs, search.iterations) == (5, 2)
        assert start.permutation.tolist() == [0, 1, 2, 3, 4]
