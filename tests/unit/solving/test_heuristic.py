"""``dpbb.heuristic``: a schedule, and what is known of it."""

from __future__ import annotations

import time

import numpy as np
import pytest

import dpbb
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.makespan import makespan
from dpbb.options import SolveOptions
from dpbb.problem import Incumbent
from dpbb.result import Proof, Result, Status, Termination
from dpbb.solving.start import make_plan
from tests.oracle import TinyFlowShop

QUIET = {"progress": "none", "threads": 1}


def test_a_seed_and_iterations_repeat_a_search():
    how = {"iterations": 3, "seed": 5, **QUIET}
    first, again = (dpbb.heuristic("ta011", "ig", **how) for _ in range(2))
    assert first.permutation == again.permutation
    assert first.termination is Termination.DONE
    times = dpbb.read_instance("ta011").times
    assert makespan(times, first.permutation) == first.makespan
    assert [step.value for step in first.trajectory] == [
        step.value for step in again.trajectory
    ]
    assert first.trajectory[-1].value == first.makespan
    assert Result.from_json(first.to_json()).makespan == first.makespan
    other = dpbb.heuristic("ta011", "ig", **{**how, "seed": 6})
    assert other.trajectory[-1].source == first.trajectory[-1].source


def test_a_limit_and_a_stop_end_it():
    began = time.monotonic()
    result = dpbb.heuristic("ta051", "ig", time_limit_s=0.2, **QUIET)
    assert result.termination is Termination.TIME_LIMIT
    assert result.status is Status.FEASIBLE
    assert result.lower_bound < result.makespan
    stopped = dpbb.heuristic(
        "ta051", "ig", time_limit_s=60, should_stop=lambda: True, **QUIET
    )
    assert stopped.termination is Termination.STOPPED
    assert time.monotonic() - began < 50


def test_a_given_schedule_is_the_start():
    order = dpbb.heuristic("ta001", "neh", **QUIET).permutation
    result = dpbb.heuristic("ta001", "neh", initial=order, **QUIET)
    assert [step.source for step in result.trajectory] == ["initial"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "magic"}, "method: expected one of auto, none, neh"),
        ({"time_limit_s": -1}, "time_limit_s: expected"),
        ({"iterations": 0}, "iterations: expected a whole number"),
        ({"starts": 2}, "starts: expected together with client or scheduler"),
        ({"device": "tpu", "method": "ig"}, "device: expected one of cpu, gpu"),
        ({"device": "tpu", "method": "neh"}, "device: expected one of cpu, gpu"),
        ({"should_stop": 3}, "should_stop: expected a function, got 3"),
        ({"device": "gpu", "method": "ig"}, "device: expected cpu, as the heuristic"),
        ({"initial": [0, 1]}, "initial: expected 20 jobs, got 2"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(OptionError, match=message):
        dpbb.heuristic("ta001", **{**arguments, "progress": "none"})


def test_a_problem_without_heuristics_is_refused():
    with pytest.raises(OptionError, match="expected a problem that has heuristics"):
        dpbb.heuristic(TinyFlowShop(((1, 2), (3, 1))))


def test_without_a_device_a_gpu_is_not_there():
    from dpbb.kernels.nvrtc import require_gpu

    try:
        require_gpu()
    except EngineUnavailable:
        with pytest.raises(EngineUnavailable):
            dpbb.heuristic("ta051", "beam", device="gpu", time_limit_s=0.1, **QUIET)
        with pytest.raises(EngineUnavailable):  # though NEH needs none, and proves it
            dpbb.heuristic("ta031", device="gpu", time_limit_s=0.1, **QUIET)
    else:
        found = dpbb.heuristic("ta051", "beam", device="gpu", time_limit_s=1, **QUIET)
        assert found.makespan >= 3771


def test_an_uncut_beam_is_a_proof_and_said_to_be_one(monkeypatch):
    """No tree is explored, unless a certificate is wanted, which a beam has not."""
    times = np.array([[3, 2, 4], [1, 4, 2], [2, 2, 5], [4, 1, 1]])
    shop = FlowShopProblem(FlowShopInstance("tiny", times))
    order = np.array([3, 0, 1, 2])
    value = shop.evaluate(order)
    assert value > dpbb.problem.root_bound(shop)

    def proved(_self, _search):
        return Incumbent(value, order, "beam", proved=True)

    monkeypatch.setattr(FlowShopProblem, "first_incumbent", proved)
    result = dpbb.solve(shop, verbosity="quiet", workers=1)
    assert (result.status, result.proof) == (Status.OPTIMAL, Proof.UNCUT_BEAM)
    assert (result.makespan, result.decomposed) == (value, 0)
    assert "a beam search left no node out" in result.summary()
    found = dpbb.heuristic(shop, progress="none")
    assert (found.status, found.termination) == (Status.OPTIMAL, Termination.EXHAUSTED)
    wanted = SolveOptions(certificate="c.json.gz")
    plan = make_plan(shop, "tiny", wanted, began=time.monotonic())
    assert not plan.proved
