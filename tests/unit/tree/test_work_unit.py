import numpy as np
import pytest

from dpbb.tree import WorkUnit, n_leaves
from tests.intervals import Interval, intervals_of, unchecked


def unit_of(*paths, n_jobs=6):
    return WorkUnit.from_paths(n_jobs, paths)


def paths(unit):
    return unit.roots()


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
