"""The kernels of tabu search, lane by lane on the host: the CPU's trajectories."""

import numpy as np
import pytest

from dpbb import FlowShopInstance
from dpbb.flowshop.heuristics import tabu_gpu
from dpbb.flowshop.heuristics.tabu import make_searches, make_starts, swap_makespans
from tests.emulation import cupy_on_host

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Have blocks of two warps: the host goes through them lane by lane."""
    monkeypatch.setattr(tabu_gpu, "BLOCKS", (64,))


def shop(n_jobs, n_machines, longest=50):
    times = np.random.default_rng(4).integers(0, longest, (n_jobs, n_machines))
    return FlowShopInstance(f"{n_jobs}x{n_machines}", times)


def same_on_both(instance, generations=12, searches=1, **how):
    starts = make_starts(instance, range(instance.n_jobs), searches, 1)
    runs = []
    for device in ("cpu", "gpu"):
        run = make_searches(instance, starts, generations, device, threads=1, **how)
        run.part = -(-generations // 2)  # two launches: the state goes on
        run.run()
        runs.append(run)
    cpu, emulated = runs
    assert emulated.moves.tolist() == cpu.moves.tolist()
    assert emulated.history.tolist() == cpu.history.tolist()
    assert emulated.values.tolist() == cpu.values.tolist()
    assert emulated.parents.tolist() == cpu.parents.tolist()
    assert emulated.bests.tolist() == cpu.bests.tolist()


@pytest.fixture(params=["no column is shared", "all are"])
def sharing(request, monkeypatch):
    pays = 0 if request.param == "all are" else 2**62
    monkeypatch.setattr(tabu_gpu, "SHARING_PAYS", pays)


def test_trajectories_are_those_of_the_cpu(sharing):
    for searches in (1, 3):
        same_on_both(shop(35, 6), searches=searches)
    same_on_both(shop(35, 6), kept=(3, 9))
    for n_jobs in (1, 2, 3):
        same_on_both(shop(n_jobs, 6))


def test_a_short_tenure_and_many_equal_values(sharing):
    same_on_both(shop(17, 4, 3), 20, tenure=3)


@pytest.mark.parametrize(("n_machines", "longest"), [(1, 9), (4, 30_000), (40, 9)])
def test_one_machine_many_machines_large_times(n_machines, longest, sharing):
    same_on_both(shop(20, n_machines, longest), 6)


def test_steps_outside_of_shared_memory(monkeypatch):
    monkeypatch.setattr(cupy_on_host, "SHARED_BYTES", 200)
    same_on_both(shop(20, 5))


def test_values_of_all_neighbours():
    instance = shop(20, 5)
    on_cpu, on_gpu = (
        swap_makespans(instance, range(20), device=device).tolist()
        for device in ("cpu", "gpu")
    )
    assert on_gpu == on_cpu
