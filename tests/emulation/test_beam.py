"""The beam's kernels, lane by lane on the host: exactly the nodes of the CPU's."""

import pytest

from dpbb.flowshop.heuristics import beam_gpu
from dpbb.flowshop.heuristics.beam import beam
from dpbb.flowshop.heuristics.neh import neh
from dpbb.flowshop.heuristics.search import Search
from tests.parity.beams import SHAPES, SMALL, same_runs

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("name", SHAPES)
def test_the_nodes_are_those_of_the_cpu(emulated, name):
    outcomes = same_runs(beam_gpu.GpuLevels, SHAPES[name], (40, 9, 1))
    if name != "one machine":
        assert {one.uncut for one in outcomes} == {False, True}
        assert len({one.moves.shape for one in outcomes}) > 2


def test_the_nodes_below_a_root_are_those_of_the_cpu(emulated):
    for kept in (((3, 1), (0, 4)), ((), (2,)), ((5,), ())):
        same_runs(beam_gpu.GpuLevels, SMALL, (2, 30), kept)


def test_launches_in_pieces_change_nothing(emulated, monkeypatch):
    monkeypatch.setattr(beam_gpu, "LAUNCH_OPERATIONS", 1)
    same_runs(beam_gpu.GpuLevels, SMALL, (2, 50))


def test_an_uncut_beam_proves_the_optimum(emulated):
    search = Search(SMALL, 0)
    start = neh(search)
    found, other = beam_gpu.beam(search, start), beam(search, start)
    assert found.proved
    assert other.proved
    assert found.value == other.value


def test_memory_limits_the_width(emulated, monkeypatch):
    monkeypatch.setattr(beam_gpu, "MEMORY_SHARE", 2e-5)
    widths = []
    run = beam_gpu.GpuLevels.run

    def noted(levels, width, *arguments):
        widths.append(width)
        assert width <= levels.widest
        return run(levels, width, *arguments)

    monkeypatch.setattr(beam_gpu.GpuLevels, "run", noted)
    search = Search(SMALL, 0)
    beam_gpu.beam(search, neh(search))
    assert 1 <= max(widths) < 32
