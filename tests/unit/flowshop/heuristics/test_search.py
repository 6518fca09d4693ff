from __future__ import annotations

import numpy as np
import pytest

from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem, heuristics
from dpbb.flowshop.heuristics import HEURISTICS, first, first_incumbent
from dpbb.flowshop.heuristics.search import Method
from dpbb.options import OPTIONS, Heuristics, SolveOptions
from dpbb.problem import StartSearch
from dpbb.solving.arguments import check_fit
from tests.oracle import TinyFlowShop


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
