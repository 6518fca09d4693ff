import pytest

from dpbb.tree import WorkUnit, n_leaves
from tests.intervals import Interval, intervals_of


def unit_of(*paths, n_jobs=6):
    return WorkUnit.from_paths(n_jobs, paths)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([(0,), (0, 0)], "none inside another"),
        ([(0, 1), (0,)], "none inside another"),
        ([(), (0,)], "none inside another"),
        ([(6,)], "root 0: expected digits of 6 jobs"),
        ([(0,), (1, 5)], "root 1: expected digits of 6 jobs"),
        ([(2**70,)], "expected digits below 6"),
        ([(0,) * 6], "expected depths < 6, got 6"),
    ],
)
def test_from_paths_refuses_what_is_no_set_of_disjoint_roots(wrong, message):
    with pytest.raises(ValueError, match=message):
        WorkUnit.from_paths(6, wrong)


def test_donate_gives_the_shallowest_when_there_are_too_many():
    unit = unit_of((0,), (1, 0), (1, 1), (2,), (3, 0), (3, 1, 2))
    kept, given = unit.donate(1)
    assert given.roots() == [(2,)]
    assert len(kept) == 5
    for max_roots in (0, -1):
        assert unit.donate(max_roots) == (unit, WorkUnit.empty(6))


def test_the_deepest_roots_of_the_largest_tree():
    """Largest digits at every level, and all roots after them."""
    n_jobs = 800
    last_leaf = tuple(range(n_jobs - 1, 0, -1))
    unit = unit_of((0,) * (n_jobs - 1), last_leaf, n_jobs=n_jobs)
    assert intervals_of(unit) == [
        Interval(0, 1),
        Interval(n_leaves(n_jobs) - 1, n_leaves(n_jobs)),
    ]
    assert unit.owned_ancestors == n_jobs - 1
    assert WorkUnit.from_arrays(n_jobs, unit.paths._asdict()) == unit
