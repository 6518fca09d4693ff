"""Named tuples of arrays become named tuples of pointers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from dpbb.kernels.compiling import entry
from dpbb.kernels.pointers import (
    Ints,
    Lanes,
    Words,
    addresses,
    aligned_zeros,
    pointer_of,
    pointers,
)


class Inner(NamedTuple):
    size: int
    lanes: Lanes


class Outer(NamedTuple):
    inner: Inner
    ints: Ints
    words: Words


@entry
def double(outer_in, lane):
    """Double every element."""
    outer = pointers(outer_in, lane)
    for index in range(outer.inner.size):
        outer.inner.lanes[index] *= 2
        outer.ints[index] *= 2
        outer.words[index] *= np.uint64(2)


@entry
def second(array):
    """Return the second element."""
    return pointer_of(array)[1]


@pytest.mark.parametrize("lane", [np.int16, np.int32])
def test_every_field_points_to_its_array(lane):
    outer = Outer(
        Inner(3, np.arange(3, dtype=lane)),
        np.arange(3, 6),
        np.arange(2**63, 2**63 + 3, dtype=np.uint64) - np.uint64(2**62),
    )
    double(addresses(outer), lane(0))
    assert outer.inner.lanes.tolist() == [0, 2, 4]
    assert outer.ints.tolist() == [6, 8, 10]
    assert outer.words.tolist() == [2**63, 2**63 + 2, 2**63 + 4]


def test_pointer_of_an_array():
    assert second(np.array([[3, 5], [7, 9]], np.int16)) == 5


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_arrays_start_on_a_cache_line(dtype):
    for size in (1, 33, 1000):
        array = aligned_zeros(size, dtype)
        assert array.dtype == dtype
        assert len(array) == size
        assert array.ctypes.data % 64 == 0
