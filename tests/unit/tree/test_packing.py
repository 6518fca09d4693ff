import numpy as np
import pytest

from dpbb.tree import WorkUnit, n_leaves
from dpbb.tree.packing import pack, unpack
from tests.intervals import unit_between


def u16(*values):
    return np.array(values, np.uint16)


def test_pack_leaves_out_shared_prefixes():
    unit = WorkUnit.from_paths(9, [(0, 3, 0, 5), (0, 3, 1), (0, 4), (2,)])
    arrays = pack(unit.depths, unit.digits)._asdict()
    assert arrays["depths"].tolist() == [4, 3, 2, 1]
    assert arrays["shared"].tolist() == [0, 2, 1, 0]
    assert arrays["tails"].tolist() == [0, 3, 0, 5, 1, 4, 2]
    depths, digits = unpack(9, arrays)
    assert WorkUnit(9, depths, digits) == unit


def test_an_interval_of_long_paths_travels_without_most_of_its_digits():
    unit = unit_between(60, 1, n_leaves(60) - 1)
    arrays = unit.to_arrays()
    assert len(arrays["tails"]) < int(unit.depths.sum()) / 10


@pytest.mark.parametrize("unit", [WorkUnit.empty(5), WorkUnit.whole(5)])
def test_units_without_digits_make_the_round_trip(unit):
    arrays = unit.to_arrays()
    assert len(arrays["tails"]) == 0
    assert WorkUnit.from_arrays(5, arrays) == unit


def whole_message():
    unit = WorkUnit.from_paths(9, [(0, 3, 0, 5), (0, 3, 1), (0, 4), (2,)])
    return dict(unit.to_arrays())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"depths": u16(4, 3, 2)}, "expected 3 shared lengths, got 4"),
        ({"shared": u16(0, 2, 1)}, "expected 4 shared lengths, got 3"),
        ({"tails": u16(0, 3, 0, 5, 1, 4)}, "expected 7 digits, got 6"),
        ({"tails": u16(*range(8))}, "expected 7 digits, got 8"),
        ({"depths": u16(4, 3, 2, 9)}, "expected depths < 9"),
        ({"depths": u16(65535, 3, 2, 1)}, "expected depths < 9"),
        ({"shared": u16(1, 2, 1, 0)}, "shared prefixes no longer"),
        ({"shared": u16(0, 4, 1, 0)}, "shared prefixes no longer"),
        ({"shared": u16(0, 3, 2, 0), "depths": u16(4, 3, 2, 3)}, "leaf order"),
        ({"tails": u16(0, 3, 0, 5, 1, 4, 9)}, "digit below 9, got 9"),
        ({"tails": u16(0, 3, 0, 6, 1, 4, 2)}, "digit below 6, got 6"),
        ({"tails": u16(0, 3, 1, 5, 1, 4, 2)}, "leaf order, none inside another"),
        ({"tails": u16(3, 3, 0, 5, 1, 4, 2)}, "leaf order, none inside another"),
        ({"depths": u16(), "shared": u16()}, "expected 0 digits, got 7"),
        ({"depths": np.array([4, 3, 2, 1])}, "'depths' as a uint8 or"),
        ({"tails": np.array([0.0, 3, 0, 5, 1, 4, 2])}, "'tails' as a uint8 or"),
        ({"shared": u16(0, 2, 1, 0).reshape(2, 2)}, "'shared' as a uint8 or"),
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
    with pytest.raises(ValueError, match="digit below 8, got 8"):
        WorkUnit.from_arrays(8, unit.to_arrays())
