"""Beams on a device: the nodes of the CPU's to the last one; proofs; wide beams."""

import time

import numpy as np
import pytest

from dpbb.flowshop import FlowShopProblem, taillard_instance
from dpbb.flowshop.heuristics import beam_gpu
from dpbb.heuristics import Search
from dpbb.problem import Incumbent
from tests.parity.beams import SHAPES, same_runs, shop

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cupy")]


@pytest.mark.parametrize("name", SHAPES)
def test_the_nodes_are_those_of_the_cpu(name):
    same_runs(beam_gpu.GpuLevels, SHAPES[name], (1, 3, 20, 150, 3000))


@pytest.mark.parametrize(
    ("name", "width"), [("ta051", 4096), ("ta081", 2048), ("ta101", 512), ("ta111", 64)]
)
def test_the_nodes_of_large_shops_are_those_of_the_cpu(name, width):
    same_runs(beam_gpu.GpuLevels, taillard_instance(name), (width,))


@pytest.mark.parametrize("n_machines", [40, 60])
@pytest.mark.parametrize("longest", [99, 3000])
def test_many_machines(n_machines, longest):
    same_runs(beam_gpu.GpuLevels, shop(60, n_machines, longest), (300,))


def test_the_nodes_between_given_ends_are_those_of_the_cpu():
    for ends in (((3, 1), (0, 4)), ((), (2,)), ((5,), ())):
        same_runs(beam_gpu.GpuLevels, taillard_instance("ta021"), (2, 300), ends)


def test_launches_in_pieces_change_nothing(monkeypatch):
    monkeypatch.setattr(beam_gpu, "LAUNCH_OPERATIONS", 10_000)
    same_runs(beam_gpu.GpuLevels, taillard_instance("ta021"), (2, 500))


@pytest.mark.parametrize("name", ["ta001", "ta031", "ta061", "ta091"])
def test_optima_of_shops_with_few_machines_are_found_and_proved(name):
    instance = taillard_instance(name)
    start = Incumbent(10**4 * 5, np.arange(instance.n_jobs), "initial")
    search = Search(
        FlowShopProblem(instance), 0, deadline=time.monotonic() + 60, threads=2
    )
    found = beam_gpu.beam(search, start)
    assert found.proved
    assert found.value == instance.best_known.upper_bound


def test_a_beam_of_a_quarter_of_a_million_nodes():
    problem = FlowShopProblem(taillard_instance("ta051"))
    levels = beam_gpu.GpuLevels(problem, problem.trivial_ub)
    assert levels.widest >= 2**18
    run = levels.run(2**18, problem.trivial_ub, 256, lambda: False)
    assert run.moves.shape == (256, 50)
    narrow = levels.run(2**10, problem.trivial_ub, 1, lambda: False)
    values = [makespan_of(problem, one.moves[0]) for one in (run, narrow)]
    assert values[0] < values[1]


def makespan_of(problem, moves):
    jobs, back = moves % 2**15, moves >= 2**15
    order = np.concatenate([jobs[~back], jobs[back][::-1]]).astype(np.intp)
    return problem.evaluate(order)


def test_a_stop_ends_a_beam_soon():
    instance = taillard_instance("ta111")
    asked = []

    def should_stop():
        asked.append(time.monotonic())
        return len(asked) > 3000

    start = Incumbent(10**6, np.arange(500), "initial")
    search = Search(FlowShopProblem(instance), 0, should_stop=should_stop)
    beam_gpu.beam(search, start)
    assert len(asked) < 3100
