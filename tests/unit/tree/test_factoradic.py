from itertools import permutations
from math import factorial

import pytest

from dpbb.tree.factoradic import leaves_text, n_leaves
from tests.intervals import leaf_of_path


def test_paths_in_order_take_the_jobs_of_the_permutations_in_order():
    """Taking the v-th unscheduled job at every level lists the permutations (law 2)."""
    paths = [
        (a, b, c, d, 0)
        for a in range(5)
        for b in range(4)
        for c in range(3)
        for d in range(2)
    ]
    for leaf, (path, order) in enumerate(
        zip(paths, permutations(range(5)), strict=True)
    ):
        jobs = list(range(5))
        assert tuple(jobs.pop(v) for v in path) == order
        assert leaf_of_path(5, path) == leaf


def test_n_leaves_is_a_plain_int():
    assert n_leaves(25) == factorial(25)
    assert type(n_leaves(25)) is int


@pytest.mark.parametrize("n_jobs", [0, 20, 1500, 1600])
def test_any_number_of_leaves_has_a_text(n_jobs):
    assert int(leaves_text(n_leaves(n_jobs)), 0) == n_leaves(n_jobs)
