"""Rates: measured here, known of H100s."""

from __future__ import annotations

import pytest

from dpbb.estimation.rates import (
    H100_NODES_PER_S,
    MEASURE_S,
    RateUnknown,
    h100_rate,
    measured_rate,
)
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions
from tests.fake_gpu import fake_host


def test_measured_sizes_have_their_measured_rates():
    for n_jobs, rate in H100_NODES_PER_S.items():
        found = h100_rate(n_jobs, 20)
        assert found.nodes_per_second == pytest.approx(rate)
        assert "measured at" in found.source


def test_other_sizes_lie_between():
    known = H100_NODES_PER_S
    assert known[100] < h100_rate(70, 20).nodes_per_second < known[50]
    assert h100_rate(10, 20).nodes_per_second == pytest.approx(known[20])
    assert h100_rate(500, 20).nodes_per_second == pytest.approx(known[200])
    assert h100_rate(50, 40).nodes_per_second == pytest.approx(known[50] / 2)
    assert h100_rate(50, 5).nodes_per_second == pytest.approx(known[50])
    assert "from those measured" in h100_rate(70, 20).source


def test_of_several_gpus_one_is_measured(monkeypatch):
    for name, value in fake_host("GPU-a", "GPU-b").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(MEASURE_S, "cuda", 0.1)
    problem = FlowShopProblem(taillard_instance("ta021"))
    both = measured_rate(problem, TreeOptions(), 2297, engine="gpu")
    assert both.what == "gpu engine, 2 GPUs"
    assert both.source.startswith("measured on fake for 0.")


def test_a_loose_upper_bound_stays_while_it_is_measured():
    """The engine finds the optimum of ta031, its root bound, in a millisecond."""
    problem = FlowShopProblem(taillard_instance("ta031"))
    rate = measured_rate(problem, TreeOptions(), 2743, engine="cpu", threads=1)
    assert float(rate.source.split()[-2]) >= MEASURE_S["cpu"]


def test_an_engine_that_lowers_its_upper_bound_has_no_rate():
    problem = FlowShopProblem(FlowShopInstance("shop", [[4, 3], [2, 5], [3, 2]]))
    with pytest.raises(RateUnknown, match="found a makespan of 12, and nothing was"):
        measured_rate(problem, TreeOptions(), 100, engine="reference")
