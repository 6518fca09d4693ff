"""The kernels of tabu search, lane by lane on the host: the CPU's trajectories."""

import pytest

from dpbb.flowshop.heuristics import tabu_gpu
from dpbb.flowshop.heuristics.tabu import swap_makespans
from tests.emulation import cupy_on_host
from tests.parity.tabu import same_on_both, sharing, shop

__all__ = ["sharing"]

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Have blocks of two warps: the host goes through them lane by lane."""
    monkeypatch.setattr(tabu_gpu, "BLOCKS", (64,))


@pytest.mark.usefixtures("sharing")
def test_trajectories_are_those_of_the_cpu():
    for searches in (1, 3):
        same_on_both(shop(35, 6), searches=searches)
    same_on_both(shop(35, 6), kept=(3, 9))
    for n_jobs in (1, 2, 3):
        same_on_both(shop(n_jobs, 6))


@pytest.mark.usefixtures("sharing")
def test_a_short_tenure_and_many_equal_values():
    same_on_both(shop(17, 4, 3), 20, tenure=3)


@pytest.mark.usefixtures("sharing")
@pytest.mark.parametrize(("n_machines", "longest"), [(1, 9), (4, 30_000), (40, 9)])
def test_one_machine_many_machines_large_times(n_machines, longest):
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
