"""Packed paths: what they leave out, and what is none."""

import random

import numpy as np
import pytest

from dpbb.tree import WorkUnit, n_leaves
from tests.intervals import unit_between

PATHS = [(0, 3, 0, 5), (0, 3, 1), (0, 4), (2,)]


def u16(*values):
    return np.array(values, np.uint16)


def whole_message():
    return WorkUnit.from_paths(9, PATHS).paths._asdict()


def test_shared_prefixes_are_left_out():
    arrays = whole_message()
    assert arrays["depths"].tolist() == [4, 3, 2, 1]
    assert arrays["shared"].tolist() == [0, 2, 1, 0]
    assert arrays["tails"].tolist() == [0, 3, 0, 5, 1, 4, 2]
    unit = WorkUnit.from_arrays(9, arrays)
    assert unit.roots() == PATHS
    assert [unit.path(row) for row in range(4)] == PATHS
    with pytest.raises(IndexError):
        unit.path(4)


def test_an_interval_of_long_paths_travels_without_most_of_its_digits():
    unit = unit_between(60, 1, n_leaves(60) - 1)
    arrays = unit.paths._asdict()
    assert len(arrays["tails"]) < int(unit.depths.sum()) / 10


def test_numbers_of_more_than_256_jobs_have_two_bytes():
    unit = WorkUnit.from_paths(300, [(0, 298, 3), (1, 0, 0), (299,)])
    arrays = unit.paths._asdict()
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.uint16)}
    assert WorkUnit.from_arrays(300, arrays) == unit


@pytest.mark.parametrize("unit", [WorkUnit.empty(5), WorkUnit.whole(5)])
def test_units_without_digits_make_the_round_trip(unit):
    arrays = unit.paths._asdict()
    assert len(arrays["tails"]) == 0
    assert WorkUnit.from_arrays(5, arrays) == unit


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"depths": u16(4, 3, 2)}, "expected 3 shared lengths, got 4"),
        ({"shared": u16(0, 2, 1)}, "expected 4 shared lengths, got 3"),
        ({"tails": u16(0, 3, 0, 5, 1, 4)}, "expected 7 digits, got 6"),
        ({"depths": u16(65535, 3, 2, 1)}, "expected 'depths' of 9 jobs, got 65535"),
        ({"depths": u16(0, 3, 2, 1)}, "shared prefixes no longer"),
        ({"shared": u16(0, 4, 1, 0)}, "shared prefixes no longer"),
        ({"shared": u16(0, 3, 2, 0), "depths": u16(4, 3, 2, 3)}, "leaf order"),
        ({"tails": u16(0, 3, 0, 5, 1, 4, 9)}, "root 3: expected digits of 9 jobs"),
        ({"tails": u16(0, 3, 1, 5, 1, 4, 2)}, "leaf order, none inside another"),
        ({"depths": np.array([4, 3, 2, 1])}, "'depths' as a uint8 or"),
        ({"tails": np.array([0.0, 3, 0, 5, 1, 4, 2])}, "'tails' as a uint8 or"),
        ({"tails": None}, "'tails' as a uint8 or"),
    ],
)
def test_damaged_arrays_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        WorkUnit.from_arrays(9, whole_message() | change)


def test_a_missing_array_is_refused():
    arrays = whole_message()
    del arrays["shared"]
    with pytest.raises(ValueError, match="got no 'shared'"):
        WorkUnit.from_arrays(9, arrays)


def test_roots_of_a_larger_tree_are_refused():
    unit = WorkUnit.from_paths(9, [(8,)])
    with pytest.raises(ValueError, match="expected digits of 8 jobs"):
        WorkUnit.from_arrays(8, unit.paths._asdict())


def test_what_is_not_checked_yet_is_no_crash():
    """Reports are put together before they are checked: nothing is read beyond them."""
    random_ = random.Random(0)
    other = unit_between(9, 1000, 200_000)
    whole = unit_between(9, 1, n_leaves(9) - 1).paths._asdict()
    for _ in range(300):
        arrays = {key: array.copy() for key, array in whole.items()}
        array = arrays[random_.choice(list(arrays))]
        array[random_.randrange(len(array))] = random_.randrange(256)
        try:
            unit = WorkUnit.from_arrays_unchecked(9, arrays)
        except ValueError:
            continue
        assert unit.digits.shape == (len(unit), 8)
        both = WorkUnit.concatenate([unit, other])
        assert len(both) == len(unit) + len(other)
        assert not both.is_ordered_and_disjoint()
        unit.covered_by(other)
