import pickle

import numpy as np
import pytest

from dpbb.tree import WorkUnit, n_leaves
from tests.intervals import Interval, intervals_of, unchecked


def unit_of(*paths, n_jobs=6):
    return WorkUnit.from_paths(n_jobs, paths)


def paths(unit):
    return unit.roots()


def test_from_paths_puts_roots_in_leaf_order():
    unit = unit_of((3,), (0, 2, 1), (0, 1), (0, 2, 0))
    assert paths(unit) == [(0, 1), (0, 2, 0), (0, 2, 1), (3,)]
    assert unit.path(2) == (0, 2, 1)
    assert unit.roots()[3] == (3,)
    assert unit.depth_counts.tolist() == [0, 1, 1, 2, 0, 0, 0]
    assert unit.leaves == 120 + 24 + 2 * 6


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([(0,), (0, 0)], "none inside another"),
        ([(0, 1), (0,)], "none inside another"),
        ([(1,), (1,)], "none inside another"),
        ([(), (0,)], "none inside another"),
        ([(6,)], "root 0: expected digits of 6 jobs"),
        ([(0,), (1, 5)], "root 1: expected digits of 6 jobs"),
        ([(-1,)], "expected digits below 6"),
        ([(65536,)], "expected digits below 6"),
        ([(2**70,)], "expected digits below 6"),
        ([(0,) * 6], "expected depths < 6, got 6"),
        ([(0,) * 65537], "expected digits below 6"),
    ],
)
def test_from_paths_refuses_what_is_no_set_of_disjoint_roots(wrong, message):
    with pytest.raises(ValueError, match=message):
        WorkUnit.from_paths(6, wrong)


def test_a_table_in_any_order_is_sorted():
    digits = np.array([[3, 0, 0, 9], [0, 2, 1, 9], [0, 1, 0, 9]], np.uint16)
    digits[:, 3] = 0  # wider than any path
    unit, order = WorkUnit.from_table(6, np.array([1, 3, 2]), digits)
    assert unit == unit_of((0, 1), (0, 2, 1), (3,))
    assert order.tolist() == [2, 1, 0]
    assert unit.digits.tolist() == [[0, 1, 0], [0, 2, 1], [3, 0, 0]]
    deep = unit_of((255, 1), (256, 0), (3,), n_jobs=300)  # of two bytes
    again, order = WorkUnit.from_table(300, deep.depths[::-1], deep.digits[::-1])
    assert (again, order.tolist()) == (deep, [2, 1, 0])


@pytest.mark.parametrize("index", [[1, 0], [0, 0], slice(None, None, -1)])
def test_roots_are_taken_in_their_order_each_once(index):
    with pytest.raises(ValueError, match="in leaf order"):
        unit_of((0,), (1,)).take(index)


@pytest.mark.parametrize("n_jobs", [1, 2, 6, 800])
def test_whole_and_empty(n_jobs):
    whole, empty = WorkUnit.whole(n_jobs), WorkUnit.empty(n_jobs)
    for unit, size in ((whole, 1), (empty, 0)):
        unit.check()
        assert len(unit) == size
        assert unit.leaves == size * n_leaves(n_jobs)
        assert unit.owned_ancestors == 0
        assert unit.covers(empty)
        assert unit.subtract(empty) == unit
        assert unit.subtract(whole) == empty
        assert empty.subtract(unit) == empty
        assert unit.donate(10) == (unit, empty)
        assert pickle.loads(pickle.dumps(unit)) == unit  # noqa: S301
    assert empty.split(3) == []
    assert whole != empty
    assert intervals_of(whole) == [Interval(0, n_leaves(n_jobs))]


def test_one_job_is_one_leaf():
    whole = WorkUnit.whole(1)
    assert paths(whole) == [()]
    assert whole.split(4) == [whole]
    assert whole.expand(0) == whole


def test_units_are_equal_if_tree_and_roots_are():
    unit = unit_of((1, 2))
    assert unit == unit_of((1, 2), (3,)).take([0])
    assert unit != unit_of((1, 2), n_jobs=7)
    assert unit != unit_of((1, 2, 0))
    assert unit != (1, 2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(unit)


def test_covers_roots_of_equal_first_leaf():
    """(0, 0, 0) begins where (0, 0) begins, and is padded to the same digits."""
    outer, inner = unit_of((0, 0), (2,)), unit_of((0, 0, 0), (2, 0), (2, 1, 3))
    assert outer.covers(inner)
    assert not inner.covers(outer)
    assert inner.covered_by(outer).all()
    assert outer.covered_by(inner).tolist() == [False, False]
    assert not outer.covers(unit_of((0, 0), (1,)))
    assert not outer.covers(unit_of((0, 1)))
    assert not unit_of((1,)).covers(unit_of((0,)))


@pytest.mark.parametrize(
    "operation",
    [
        WorkUnit.covers,
        WorkUnit.covered_by,
        WorkUnit.subtract,
        lambda *units: WorkUnit.concatenate(units),
    ],
)
def test_units_of_different_trees_are_refused(operation):
    one, other = unit_of((1,)), unit_of((1,), n_jobs=7)
    with pytest.raises(ValueError, match=r"expected a work unit of \d jobs, got \d"):
        operation(one, other)


def test_concatenate_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        WorkUnit.concatenate([])


def test_expand_replaces_a_root_by_its_children():
    unit = unit_of((1,), (2, 2), (3, 0, 1), n_jobs=4)
    assert paths(unit.expand(0)) == [(1, 0), (1, 1), (1, 2), (2, 2), (3, 0, 1)]
    assert paths(unit.expand(1)) == [(1,), (2, 2, 0), (2, 2, 1), (3, 0, 1)]
    assert unit.expand(2) == unit.expand(-1) == unit  # a leaf has no children
    with pytest.raises(IndexError):
        unit.expand(3)


def test_split_cuts_the_largest_roots_first():
    parts = unit_of((0, 1), (2,), n_jobs=4).split(3)
    assert [paths(part) for part in parts] == [[(0, 1), (2, 2)], [(2, 0)], [(2, 1)]]


def test_split_into_more_parts_than_leaves_gives_the_leaves():
    parts = WorkUnit.whole(3).split(100)
    assert [part.leaves for part in parts] == [1] * 6


def test_split_into_no_parts_is_refused():
    with pytest.raises(ValueError, match="at least 1 part, got 0"):
        WorkUnit.whole(3).split(0)


def test_donate_gives_the_shallowest_when_there_are_too_many():
    unit = unit_of((0,), (1, 0), (1, 1), (2,), (3, 0), (3, 1, 2))
    kept, given = unit.donate(1)
    assert paths(given) == [(2,)]
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
    assert WorkUnit.from_arrays(n_jobs, unit.to_arrays()) == unit


def check_disjoint(units):
    """Raise ValueError unless no root lies inside another, of whichever unit."""
    for unit in units:
        unit.check()
    WorkUnit.concatenate([WorkUnit.empty(14), *units]).check()


def random_units(rng, n_units):
    """Disjoint units of all depths, dealt out from a tree that was opened at random."""
    whole = WorkUnit.whole(14)
    for _ in range(12):
        whole = whole.expand(int(rng.integers(len(whole))))
    for _ in range(8):  # some deep ones
        whole = whole.expand(int(whole.depths.argmax()))
    homes = rng.integers(n_units, size=len(whole))
    homes[:n_units] = np.arange(n_units)  # none is empty
    return [whole.take(homes == number) for number in range(n_units)]


def with_root(unit, path):
    """Put a root where it belongs by its first leaf, overlapping or not."""
    return unchecked(14, sorted([*paths(unit), path]))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_units", [1, 2, 5])
def test_disjoint_units_pass_and_any_other_root_is_found(seed, n_units):
    rng = np.random.default_rng(seed)
    units = random_units(rng, n_units)
    check_disjoint(units)
    for _ in range(20):
        # all leaves are there, so every further root lies in one or around some
        path = tuple(int(rng.integers(14 - level)) for level in range(rng.integers(14)))
        chosen = int(rng.integers(n_units))
        more = [*units]
        more[chosen] = with_root(units[chosen], path)
        with pytest.raises(ValueError, match="expected roots in leaf order"):
            check_disjoint(more)


def test_other_damage_is_found():
    one, two = random_units(np.random.default_rng(0), 2)
    check_disjoint([])
    with pytest.raises(ValueError, match="expected roots in leaf order"):
        check_disjoint([unchecked(14, paths(one)[::-1]), two])
    with pytest.raises(ValueError, match="expected digits of 14 jobs"):
        check_disjoint([one, unchecked(14, [*paths(two)[:-1], (14,)])])
    with pytest.raises(ValueError, match="expected a work unit of 14 jobs"):
        check_disjoint([one, WorkUnit.whole(13)])
