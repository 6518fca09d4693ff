"""The beam's kernels, lane by lane on the host: exactly the nodes of the CPU's."""

import numpy as np
import pytest

from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.heuristics import beam_gpu
from dpbb.flowshop.heuristics.beam_cpu import beam
from dpbb.flowshop.heuristics.plain import neh
from dpbb.heuristics import Search
from tests import oracle
from tests.parity.beams import SHAPES, SMALL, same_runs
from tests.quick import some_slow

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("name", some_slow(SHAPES, ["wide"]))
def test_the_nodes_are_those_of_the_cpu(emulated, name):
    outcomes = same_runs(beam_gpu.GpuLevels, SHAPES[name], (40, 9, 1))
    if name != "one machine":
        assert {one.uncut for one in outcomes} == {False, True}
        assert len({one.moves.shape for one in outcomes}) > 2


def test_the_nodes_between_given_ends_are_those_of_the_cpu(emulated):
    for ends in (((3, 1), (0, 4)), ((), (2,)), ((5,), ())):
        same_runs(beam_gpu.GpuLevels, SMALL, (2, 30), ends)


def test_launches_in_pieces_change_nothing(emulated, monkeypatch):
    monkeypatch.setattr(beam_gpu, "LAUNCH_OPERATIONS", 1)
    same_runs(beam_gpu.GpuLevels, SMALL, (2, 50))


def test_an_uncut_beam_proves_the_optimum(emulated):
    search = Search(FlowShopProblem(SMALL), 0)
    start = neh(search)
    found, other = beam_gpu.beam(search, start), beam(search, start)
    assert found.proved
    assert other.proved
    assert found.value == other.value


def test_exhausted_targets_are_lower_bounds(emulated):
    """Random shops of one shape: few different times, zeros, equal jobs."""
    rng = np.random.default_rng(7)
    uncut = set()
    for longest in (1, 1, 4, 4, 20, 99):
        times = rng.integers(0, longest + 1, (5, 3))
        times[1] = times[0]
        best, _ = oracle.best_orders(times.tolist())
        problem = FlowShopProblem(FlowShopInstance("tiny", times))
        levels = beam_gpu.GpuLevels(problem, problem.trivial_ub)
        for target in {1, max(best, 1), best + 1, problem.trivial_ub}:
            for width in (1, 4, 20):
                run = levels.run(width, target, 1, lambda: False)
                assert run.value is None or best <= run.value < target
                if run.uncut:
                    assert best >= target if run.value is None else best == run.value
                    uncut.add(run.value is None)
    assert uncut == {False, True}


def test_no_memory_ends_the_search_without_a_proof(emulated, monkeypatch):
    import cupy

    def full(*how):
        raise cupy.cuda.memory.OutOfMemoryError

    search = Search(FlowShopProblem(SMALL), 0)
    start = neh(search)
    begin = beam_gpu.GpuLevels._begin

    def fail(levels, *how):
        monkeypatch.setattr(cupy, "empty", full)
        begin(levels, *how)

    monkeypatch.setattr(beam_gpu.GpuLevels, "_begin", fail)
    found = beam_gpu.beam(search, start)
    assert found.value == start.value
    assert not found.proved
