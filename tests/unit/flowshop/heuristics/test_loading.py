import sys
from threading import Event
from types import ModuleType

import pytest

from dpbb.flowshop.heuristics.loading import Loading


@pytest.fixture
def modules(monkeypatch):
    """Two modules: one is loaded when it is let, one cannot be loaded."""
    slow, broken = ModuleType("slow"), ModuleType("broken")
    slow.order, slow.go = [], Event()

    def load():
        slow.go.wait(60)
        slow.order.append("slow")

    def fail():
        raise ArithmeticError("broken")

    slow.load, slow.found, broken.load = load, "a heuristic", fail
    monkeypatch.setitem(sys.modules, "slow", slow)
    monkeypatch.setitem(sys.modules, "broken", broken)
    yield slow
    slow.go.set()


def test_a_heuristic_is_ready_when_its_code_is_loaded(modules):
    loading = Loading(["slow:found", "slow:found"])
    assert not loading.ready("slow:found")
    modules.go.set()
    assert loading.heuristic("slow:found") == "a heuristic"
    assert loading.ready("slow:found")
    assert modules.order == ["slow"]


def test_an_error_is_raised_by_who_asks_and_the_next_is_loaded(modules):
    modules.go.set()
    loading = Loading(["broken:found", "slow:found"])
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="broken"):
            loading.heuristic("broken:found")
    assert loading.heuristic("slow:found") == "a heuristic"
