"""Compiled work on packed paths: what NumPy says of a table of digits."""

import random

import numpy as np
import pytest

from dpbb.coordination import span_map
from dpbb.tree import WorkUnit, n_leaves
from dpbb.tree import work_unit as module
from tests.intervals import unit_between

N = 9


@pytest.fixture
def packed(monkeypatch):
    """Have every unit from outside stay packed."""

    def use(unit):
        monkeypatch.setattr(module, "MANY_ROOTS", 0)
        monkeypatch.setattr(span_map, "MANY_ROOTS", 0)
        found = WorkUnit.from_arrays(unit.n_jobs, unit.to_arrays())
        assert found._digits is None
        return found

    return use


def random_unit(rng, n_jobs=N, cuts=6):
    """Some of the roots of some intervals."""
    ends = sorted(rng.randrange(n_leaves(n_jobs) + 1) for _ in range(2 * cuts))
    parts = [
        unit_between(n_jobs, *pair) for pair in zip(ends[::2], ends[1::2], strict=True)
    ]
    unit = WorkUnit.concatenate(parts)
    return unit.take(np.array([rng.random() < 0.7 for _ in range(len(unit))], bool))


@pytest.mark.parametrize("seed", range(20))
def test_packed_units_are_those_that_were_packed(packed, seed):
    unit = random_unit(random.Random(seed))
    cells = span_map.cells_of(unit)
    other = packed(unit)
    assert other == unit
    assert other.owned_ancestors == unit.owned_ancestors
    assert (other.leaves, len(other)) == (unit.leaves, len(unit))
    assert other.is_ordered_and_disjoint()
    assert span_map.cells_of(other).tolist() == cells.tolist()
    again = WorkUnit.from_arrays(N, WorkUnit(N, unit.depths, unit.digits).to_arrays())
    assert again == unit


@pytest.mark.parametrize("seed", range(10))
def test_some_roots_are_taken_without_a_table_of_all(packed, seed, monkeypatch):
    """A table of 10 million paths takes 600 MB, and is not made to look at a few."""
    rng = random.Random(seed)
    unit = random_unit(rng)
    some = np.array([rng.random() < 0.3 for _ in range(len(unit))], bool)
    indices = [some, np.flatnonzero(some), slice(1, None, 3)]
    expected = [unit.take(index) for index in indices]
    paths = [unit.path(row) for row in (0, 1, -1)]
    given = unit.donate(5)
    roots = unit.roots()
    backwards = unit.take(slice(None, None, -1))
    other = packed(unit)
    assert other.roots() == roots
    assert other.take(slice(None, None, -1)) == backwards
    table = WorkUnit.digits.fget
    monkeypatch.setattr(
        WorkUnit,
        "digits",
        property(
            lambda self: pytest.fail("a table of all") if self is other else table(self)
        ),
    )
    found = [other.take(index) for index in indices]
    assert [other.path(row) for row in (0, 1, -1)] == paths
    assert other.donate(5) == given
    assert found == expected
    with pytest.raises(IndexError):
        other.path(len(other))


@pytest.mark.parametrize("seed", range(30))
def test_homes_are_those_that_a_search_finds(packed, seed):
    rng = random.Random(seed)
    one, two = random_unit(rng), random_unit(rng)
    expected = one._home_in(two), two._home_in(one), one._home_in(one)
    gone = one.subtract(two)
    a, b = packed(one), packed(two)
    found = a._home_in(b), b._home_in(a), a._home_in(a)
    for homes, wanted in zip(found, expected, strict=True):
        assert homes.tolist() == wanted.tolist()
    assert a.subtract(b) == gone


def test_more_than_256_jobs(packed):
    unit = WorkUnit.from_paths(300, [(0, 298, 3), (1, 0, 0), (299,)])
    assert packed(unit) == unit
    assert unit.to_arrays()["tails"].dtype == np.uint16


WHOLE = {"depths": [4, 3, 2, 1], "shared": [0, 2, 1, 0], "tails": [0, 3, 0, 5, 1, 4, 2]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tails": [0, 3, 0, 5, 1, 4]}, "another number of digits"),
        ({"tails": [0, 3, 0, 5, 1, 4, 2, 2]}, "another number of digits"),
        ({"depths": [4, 3, 2, 9]}, "depth below 9"),
        ({"depths": [0, 3, 2, 1]}, "shared prefix"),
        ({"shared": [1, 2, 1, 0]}, "shared prefix"),
        ({"shared": [0, 4, 1, 0]}, "shared prefix"),
        ({"shared": [0, 3, 1, 0]}, "leaf order"),
        ({"shared": [0, 2, 1]}, "expected 4 shared lengths"),
        ({"tails": [0, 3, 0, 5, 0, 4, 2]}, "leaf order"),
        ({"tails": [0, 3, 0, 6, 1, 4, 2]}, "digits of 9 jobs"),
        ({"tails": [0, 3, 0, 5, 1, 4, 9]}, "digits of 9 jobs"),
    ],
)
def test_what_is_no_set_of_disjoint_roots_is_refused(monkeypatch, change, said):
    monkeypatch.setattr(module, "MANY_ROOTS", 0)
    arrays = {key: np.array(v, np.uint8) for key, v in (WHOLE | change).items()}
    with pytest.raises(ValueError, match=said):
        WorkUnit.from_arrays(N, arrays)
    unit = WorkUnit.from_arrays(N, {k: np.array(v, np.uint8) for k, v in WHOLE.items()})
    assert [unit.path(row) for row in range(4)] == [
        (0, 3, 0, 5),
        (0, 3, 1),
        (0, 4),
        (2,),
    ]


def test_damage_is_no_crash(monkeypatch):
    monkeypatch.setattr(module, "MANY_ROOTS", 0)
    rng = np.random.default_rng(0)
    whole = random_unit(random.Random(3)).to_arrays()
    for _ in range(500):
        arrays = {key: array.copy() for key, array in whole.items()}
        array = arrays[rng.choice(list(arrays))]
        array[rng.integers(len(array))] = rng.integers(256)
        try:
            unit = WorkUnit.from_arrays(N, arrays)
        except ValueError:
            continue
        unit.check()
        WorkUnit(N, unit.depths, unit.digits).check()


@pytest.mark.parametrize("seed", range(20))
def test_sets_of_packed_roots_stay_packed(packed, seed):
    """Of what a table says: parts of it, all parts together, and what is left."""
    rng = random.Random(seed)
    whole = random_unit(rng)
    part = np.array([rng.randrange(4) for _ in range(len(whole))])
    parts = [whole.take(part == one) for one in range(4)]
    others = random_unit(rng, cuts=3)
    expected = whole.subtract(others)
    whole, others = packed(whole), packed(others)
    taken = [whole.take(part == one) for one in range(4)]
    assert taken == parts
    again = WorkUnit.concatenate(taken[::-1])
    left = whole.subtract(others)
    assert all(unit._digits is None for unit in (*taken, again))
    assert again == whole
    again.check()
    assert left == expected


def test_roots_that_overlap_are_found_after_they_were_put_together(packed):
    """What comes from outside is put together before it is checked."""
    inside = WorkUnit.from_paths(N, [(0, 3), (1, 2, 0)])
    for other in ([(0, 3)], [(1, 2)], [(1, 2, 0, 4), (3,)]):
        units = [packed(inside), packed(WorkUnit.from_paths(N, other))]
        for both in (units, units[::-1]):
            assert not WorkUnit.concatenate(both).is_ordered_and_disjoint()
