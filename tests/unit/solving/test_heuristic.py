"""``dpbb.heuristic``: a schedule, and what is known of it."""

from __future__ import annotations

import time
from itertools import permutations
from threading import Event

import numpy as np
import pytest

import dpbb
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.heuristics import first
from dpbb.flowshop.makespan import makespan
from dpbb.problem import Incumbent
from dpbb.proof.verify import verify
from dpbb.result import Proof, Result, Status, Termination
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "magic"}, "method: expected one of auto, none, neh"),
        ({"time_limit_s": -1}, "time_limit_s: expected"),
        ({"iterations": 0}, "iterations: expected a whole number"),
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


def test_a_problem_without_heuristics_has_those_of_any():
    own = TinyFlowShop(((1, 2), (3, 1), (2, 2), (4, 1)))
    found = dpbb.heuristic(own, iterations=50, **QUIET)
    assert found.makespan == own.best_orders()[0]
    assert own.evaluate(found.permutation) == found.makespan
    with pytest.raises(OptionError, match="device"):
        dpbb.heuristic(own, "ig", device="gpu", **QUIET)


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


def test_a_limit_ends_it_while_its_code_is_compiled(monkeypatch):
    compiled = Event()
    monkeypatch.setattr(first, "loaded", lambda *_: compiled.wait(60))
    try:
        result = dpbb.heuristic("ta051", "ig", time_limit_s=0.5, **QUIET)
    finally:
        compiled.set()
    assert result.termination is Termination.TIME_LIMIT
    assert result.seconds < 30


def test_what_a_heuristic_left_nothing_out_of_is_proved_by_a_tree(
    monkeypatch, tmp_path
):
    """It is explored here, with books: the word of a heuristic is no proof."""
    times = np.random.default_rng(11).integers(1, 10, (5, 4))
    shop = FlowShopProblem(FlowShopInstance("tiny", times))
    orders = [np.array(order) for order in permutations(range(5))]
    order = min(orders, key=shop.evaluate)
    value = shop.evaluate(order)
    assert value > dpbb.problem.root_bound(shop)

    def proved(_self, _search):
        return Incumbent(value, order, "beam", proved=True)

    monkeypatch.setattr(FlowShopProblem, "first_incumbent", proved)
    path = str(tmp_path / "c.json")
    result = dpbb.solve(shop, verbosity="quiet", engine="cpu", certificate=path)
    assert (result.status, result.proof) == (Status.OPTIMAL, Proof.TREE_EXHAUSTED)
    assert result.makespan == value
    assert result.decomposed > 0
    assert result.seats == ("here",)
    assert verify(path).verdict == "proved again"
    found = dpbb.heuristic(shop, progress="none")
    assert (found.status, found.proof) == (Status.FEASIBLE, Proof.ROOT_BOUND)
