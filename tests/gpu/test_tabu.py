"""Tabu search on a device: the golden values, and the CPU's trajectories."""

import pytest

from tests.parity.tabu import check_golden, same_on_both, sharing, shop

__all__ = ["sharing"]

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cupy", "sharing")]


def test_golden_values_and_trajectories():
    check_golden("gpu")


@pytest.mark.parametrize("searches", [1, 3, 300])
def test_trajectories_are_those_of_the_cpu(searches):
    same_on_both(shop(35, 12), 20, searches=searches, threads=4)


@pytest.mark.parametrize(
    ("n_jobs", "n_machines"), [(2, 3), (3, 1), (9, 2), (150, 40), (64, 61), (300, 20)]
)
def test_any_shape(n_jobs, n_machines):
    same_on_both(shop(n_jobs, n_machines, 99), 10)


def test_large_times_take_wide_columns():
    same_on_both(shop(50, 10, 99_000), 10)
