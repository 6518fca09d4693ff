"""The table of heuristics, and the option that names them."""

from __future__ import annotations

import numpy as np
import pytest

from dpbb.flowshop import FlowShopInstance, heuristics
from dpbb.flowshop.heuristics import HEURISTICS, first_incumbent
from dpbb.options import Heuristics


def test_the_option_has_every_heuristic_and_two_choices_more():
    assert set(Heuristics) - {Heuristics.AUTO, Heuristics.NONE} == set(HEURISTICS)


@pytest.mark.parametrize("name", HEURISTICS)
def test_every_row_leads_to_a_heuristic(name):
    assert HEURISTICS[name][1] == "cpu"
    times = np.random.default_rng(0).integers(1, 30, (6, 3))
    shop = FlowShopInstance("shop", times)
    found = first_incumbent(shop, method=name, time_limit_s=0.05, lower_bound=0)
    assert sorted(found.permutation.tolist()) == list(range(6))


def test_a_row_is_enough(monkeypatch):
    """What runs after NEH is what the table says."""
    called = []

    def greedy(search, start=None):
        called.append(search.deadline)
        return start

    monkeypatch.setattr(heuristics, "own_greedy", greedy, raising=False)
    row = ("dpbb.flowshop.heuristics:own_greedy", "cpu")
    monkeypatch.setitem(HEURISTICS, "ig", row)
    times = np.random.default_rng(0).integers(1, 30, (10, 8))
    shop = FlowShopInstance("shop", times)  # NEH does not reach the root's LB1
    first_incumbent(shop, method="ig", time_limit_s=0.05)
    assert len(called) == 1
