"""The pool of sibling sets between slices."""

import numpy as np

from dpbb.engines.cpu.pool import SiblingPool
from dpbb.engines.cpu.state import TOP
from dpbb.engines.cpu.walk import write_paths


def test_set_without_siblings_writes_no_path():
    """A donation empties sets; their paths once ran over the end of the roots."""
    pool = SiblingPool(5, explorers=1)
    pool._arrays.level[:2] = 2, 3
    pool._arrays.path[:2, :3] = [[2, 4, 0], [0, 2, 6]]
    pool._arrays.mask[:2, 0] = 1 << 6, 0  # job 3 of the first, none of the second
    pool.control[TOP] = 2
    unit, sets, bits = pool.export()
    assert unit.roots()[0] == (1, 1, 1)
    assert (len(unit), sets.tolist(), bits.tolist()) == (1, [0], [6])
    digits = np.full(3 * 4, 99, np.uint16)
    depths, of_set, of_bit = np.zeros(3, np.uint16), np.zeros(3, int), np.zeros(3, int)
    parts = (depths, digits, of_set, of_bit)
    write_paths(5, pool.address, 4, *(part.ctypes.data for part in parts))
    assert digits[:3].tolist() == [1, 1, 1]
    assert set(digits[4:]) == {99}


def test_roots_removed_are_not_exported_again():
    """And the others stay."""
    pool = SiblingPool(4, explorers=1)
    pool._arrays.mask[0, 0] = 0b0101_0101
    pool.control[TOP] = 1
    unit, sets, bits = pool.export()
    assert unit.roots() == [(0,), (1,), (2,), (3,)]
    pool.remove(sets[[1, 3]], bits[[1, 3]])
    assert pool.export()[0].roots() == [(0,), (2,)]
