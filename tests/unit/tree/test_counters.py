from math import factorial

import numpy as np

from dpbb.tree import Counters, WorkUnit
from dpbb.tree.counters import closed_leaves
from tests.intervals import less_exported


def test_closed_leaves_beyond_64_bits_are_exact():
    closed = np.zeros(41, np.int64)
    closed[[1, 3, 39]] = 39, 2**40, 7
    expected = 39 * factorial(39) + 2**40 * factorial(37) + 7
    assert closed_leaves(closed) == expected
    assert type(closed_leaves(closed)) is int


def test_less_exported_takes_off_the_ancestors_that_roots_own():
    remaining = WorkUnit.from_paths(5, [(0, 0, 0), (1, 0)])
    donated = WorkUnit.from_paths(5, [(2,), (3, 0, 0)])
    counters = Counters.zero(5).plus(10, 1, np.zeros(6, np.int64))
    assert less_exported(counters, remaining, donated).decomposed == 10 - 3 - 1 - 0 - 2
    assert less_exported(counters).decomposed == 10
