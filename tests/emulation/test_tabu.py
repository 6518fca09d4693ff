"""The kernels of tabu search, lane by lane on the host: the CPU's trajectories."""

import numpy as np
import pytest

from dpbb import FlowShopInstance
from dpbb.flowshop.heuristics.tabu.search import make_rules, make_search, make_starts
from dpbb.flowshop.heuristics.tabu.state import State

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def gpu(emulated):
    from dpbb.flowshop.heuristics.tabu import gpu

    return gpu


def shop(n_jobs, n_machines, longest=50):
    times = np.random.default_rng(4).integers(0, longest, (n_jobs, n_machines))
    return FlowShopInstance(f"{n_jobs}x{n_machines}", times)


def same_on_both(instance, shape, generations=12, searches=1, kept=(0, 0), **changes):
    rules = make_rules(instance, kept=kept, **changes)
    starts = make_starts(instance, range(instance.n_jobs), searches, 1)
    states = []
    for device in ("cpu", "gpu"):
        given = None if device == "cpu" else shape
        search = make_search(rules, starts, device, 1, given)
        state = State.of(rules, starts, generations)
        if device == "gpu":  # two launches: the state goes on
            search.run(state, generations // 2)
        search.run(state, generations)
        states.append(state)
    cpu, emulated = states
    assert emulated.moves.tolist() == cpu.moves.tolist()
    assert emulated.history.tolist() == cpu.history.tolist()
    assert emulated.values.tolist() == cpu.values.tolist()
    assert emulated.parents.tolist() == cpu.parents.tolist()
    assert emulated.bests.tolist() == cpu.bests.tolist()


WAYS = [
    *({"sharing": sharing} for sharing in ("none", "prefix", "both")),
    {"neighbourhood": "insert"},
    {"sharing": "none", "objective": "flow-time"},
    {"sharing": "prefix", "objective": "flow-time"},
]


@pytest.mark.parametrize("way", WAYS)
def test_trajectories_are_those_of_the_cpu(gpu, way):
    shape = gpu.Shape(block=64)
    for searches in (1, 3):
        same_on_both(shop(35, 6), shape, searches=searches, **way)
    same_on_both(shop(35, 6), gpu.Shape(block=64, group=2), kept=(3, 9), **way)
    for n_jobs in (1, 2, 3):
        same_on_both(shop(n_jobs, 6), shape, **way)


@pytest.mark.parametrize("neighbourhood", ["swap", "insert"])
@pytest.mark.parametrize("tabu", ["permutations", "positions"])
def test_lists(gpu, tabu, neighbourhood):
    changes = {"tabu": tabu, "tenure": 3, "neighbourhood": neighbourhood}
    same_on_both(shop(17, 4, 3), gpu.Shape(block=64), 20, **changes)


SHAPES = [
    *((40, 9, way) for way in WAYS[:4]),
    *(
        (n_machines, most, way)
        for n_machines, most in ((1, 9), (4, 30_000))
        for way in WAYS[2:4]
    ),
]


@pytest.mark.parametrize(("n_machines", "longest", "way"), SHAPES)
def test_one_machine_many_machines_large_times(gpu, n_machines, longest, way):
    instance = shop(20, n_machines, longest)
    same_on_both(instance, gpu.Shape(block=64), 6, **way)


def test_steps_outside_of_shared_memory(gpu):
    shape = gpu.Shape(block=64, shared_steps=False, group=1)
    same_on_both(shop(20, 5), shape)


@pytest.mark.parametrize("n_machines", [6, 40])
def test_jobs_that_leave_together(gpu, n_machines):
    shape = gpu.Shape(block=64, leaving=4, group=1)
    for kept in ((0, 0), (3, 5)):
        instance = shop(22, n_machines)
        same_on_both(instance, shape, 6, kept=kept, neighbourhood="insert")


def test_values_of_all_neighbours(gpu):
    instance = shop(20, 5)
    rules = make_rules(instance)
    starts = make_starts(instance, range(20), 1, 0)
    on_cpu = make_search(rules, starts, "cpu", 1).neighbours()
    on_gpu = make_search(rules, starts, "gpu").neighbours()
    assert on_gpu.tolist() == on_cpu.tolist()
