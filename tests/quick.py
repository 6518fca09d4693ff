"""Parameters of tests: of many that show the same some are quick, the others slow."""

from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

import pytest


def some_slow(values: Iterable[Any], slow: Collection[Any]) -> list[Any]:
    """Return parameters for values, or tuples of them, those in ``slow`` marked."""
    marks = {True: pytest.mark.slow, False: ()}
    tuples = [(one, one if isinstance(one, tuple) else (one,)) for one in values]
    return [pytest.param(*several, marks=marks[one in slow]) for one, several in tuples]


def one_in(n: int, *values: Collection[Any]) -> list[Any]:
    """Return parameters for all combinations, of n neighbours in a place one quick."""
    each, places = [*product(*values)], product(*map(range, map(len, values)))
    slow = {one for one, at in zip(each, places, strict=True) if sum(at) % n}
    return some_slow(each, slow)
