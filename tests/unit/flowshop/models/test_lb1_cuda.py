"""The flow shop with LB1 as kernels read it: widths suffice."""

import numpy as np
import pytest

from dpbb.errors import EngineUnavailable
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.models.lb1_cuda import Lb1, largest_value, needs_wide
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.cuda_model import NARROW_LIMIT
from dpbb.problems import model_of


def test_the_engine_finds_it():
    problem = problem_of([[1, 2], [3, 4]])
    assert model_of(problem, "cuda", "lb1") is Lb1
    assert Lb1.of(problem, 9) == Lb1(2, 2, wide=False)
    tight = problem.with_bound("lb2")
    assert model_of(tight, "cuda", "lb2") is Lb1
    assert Lb1.of(tight, 9) == Lb1(2, 2, wide=False, tightens=True)


def problem_of(times):
    return FlowShopProblem(FlowShopInstance("random", np.array(times)))


def test_values_that_pass_16_bits_take_the_wide_form():
    """No value may reach 2**15: the ub or a root bound, and one job's work."""
    times = np.full((4, 3), 100)
    problem = problem_of(times)
    ub = NARROW_LIMIT - int(times.sum(axis=1).max()) - 1
    assert largest_value(problem, ub) == NARROW_LIMIT - 1
    assert not needs_wide(problem, ub)
    assert needs_wide(problem, ub + 1)
    assert (Lb1.of(problem, ub).wide, Lb1.of(problem, ub + 1).wide) == (False, True)
    large = problem_of(times * 100)
    assert needs_wide(large, 1)
    with pytest.raises(EngineUnavailable, match="below"):
        needs_wide(problem, 1 << 30)
