"""What the GPU engine refuses before a device is asked, and what it asks devices."""

import sys

import numpy as np
import pytest

from dpbb.engines import registry
from dpbb.engines.gpu.engine import GpuEngine
from dpbb.engines.gpu.kernels import KernelShape
from dpbb.engines.gpu.memory import plan_memory
from dpbb.errors import EngineUnavailable
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.models.lb1_cuda import MAX_JOBS, MAX_MACHINES, Lb1
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.options import BranchingRule, TreeOptions
from tests.waiting import WaitingJobs

ENGINE = GpuEngine()


def shop(n_jobs, n_machines, time=3):
    times = np.full((n_jobs, n_machines), time)
    return FlowShopProblem(FlowShopInstance("test", times))


@pytest.mark.parametrize(
    ("n_jobs", "n_machines", "taken"),
    [(800, 60, True), (801, 20, False), (20, 61, False), (1, 1, True)],
)
def test_sizes_that_the_kernels_are_not_made_for_are_refused(n_jobs, n_machines, taken):
    reason = ENGINE.supports(shop(n_jobs, n_machines), TreeOptions())
    expected = f"engine gpu takes up to 800 jobs and 60 machines, not {n_jobs} and"
    assert (reason is None) == taken
    assert taken or reason.startswith(expected)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("warps", [2, 4, 8])
def test_all_sizes_that_are_taken_fit_a_card_of_80_gb(wide, warps):
    """At least a block's explorers."""
    model = Lb1(MAX_JOBS, MAX_MACHINES, wide)
    shape = KernelShape(model, BranchingRule.MINMIN, warps)
    assert plan_memory(shape, 8, 60 << 30, all_optima=False).n_warps >= warps


def test_problems_and_bounds_without_a_model_are_refused_by_name():
    other = WaitingJobs((1, 2), (1, 1), (9, 9), (frozenset(),) * 2)
    reason = ENGINE.supports(other, TreeOptions())
    assert reason.startswith("engine gpu has no model of waiting-jobs")
    reason = ENGINE.supports(shop(3, 4), TreeOptions(bound="lb9"))
    assert reason.startswith("bound: expected lb1")
    assert reason.endswith("'lb9'")


def test_what_the_gpu_does_not_take_the_cpu_explores():
    """Auto, wherever the seats are; and what was asked for by name says why."""
    problem, tree = shop(801, 5), TreeOptions()
    assert registry.engines_by_kind("auto", problem, tree) == {"cpu": "cpu"}
    text = registry.explain_engines("auto", problem, tree)
    assert text.startswith("cpu on CPUs (no gpu: engine gpu takes up to 800 jobs")
    with pytest.raises(EngineUnavailable, match="cannot run this: engine gpu takes up"):
        registry.explain_engines("gpu", problem, tree)


@pytest.mark.parametrize(
    ("driver", "said"), [(False, "no NVIDIA driver"), (True, "CuPy cannot be imported")]
)
def test_who_has_no_driver_is_not_told_to_install_cupy(monkeypatch, driver, said):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr("dpbb.engines.gpu.engine.has_driver", lambda: driver)
    assert GpuEngine().availability().startswith(said)
