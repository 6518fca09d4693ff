from itertools import permutations
from math import factorial

import pytest

from dpbb.tree.factoradic import digits_of_leaf, leaf_of_path, leaves_text, n_leaves


def test_digits_of_all_leaves_of_four_jobs_are_the_paths_in_order():
    """Leaf i is the i-th path (v_0, v_1, v_2, 0) in lexicographic order."""
    paths = [(a, b, c, 0) for a in range(4) for b in range(3) for c in range(2)]
    assert [digits_of_leaf(4, leaf) for leaf in range(24)] == paths


def test_digits_take_the_jobs_of_the_lexicographic_permutation():
    """Taking the v-th unscheduled job at every level lists the permutations."""
    for leaf, order in enumerate(permutations(range(5))):
        jobs = list(range(5))
        assert tuple(jobs.pop(v) for v in digits_of_leaf(5, leaf)) == order


def test_leaf_of_path_beyond_64_bits_is_exact():
    assert leaf_of_path(30, (29,)) == 29 * factorial(29)
    assert leaf_of_path(800, (799, *[0] * 798)) == 799 * factorial(799)
    last = digits_of_leaf(800, factorial(800) - 1)
    assert last == tuple(range(799, -1, -1))
    assert leaf_of_path(800, last) == factorial(800) - 1


def test_n_leaves_is_a_plain_int():
    assert n_leaves(25) == factorial(25)
    assert type(n_leaves(25)) is type(leaf_of_path(25, (3,))) is int


@pytest.mark.parametrize("leaf", [-1, 6, 10**30])
def test_digits_of_a_leaf_outside_the_tree_are_refused(leaf):
    with pytest.raises(ValueError, match=r"leaf index in \[0, 3!\)"):
        digits_of_leaf(3, leaf)


def test_a_path_longer_than_the_tree_is_refused():
    with pytest.raises(ValueError, match="at most 3 digits, got 4"):
        leaf_of_path(3, (0, 0, 0, 0))


@pytest.mark.parametrize("n_jobs", [0, 20, 1500, 1600])
def test_any_number_of_leaves_has_a_text(n_jobs):
    assert int(leaves_text(n_leaves(n_jobs)), 0) == n_leaves(n_jobs)


def test_a_leaf_that_is_none_is_refused_whatever_its_size():
    with pytest.raises(ValueError, match="expected a leaf index"):
        digits_of_leaf(3, n_leaves(1600))
