from itertools import combinations_with_replacement
from math import factorial

import pytest

from dpbb.tree.interval import Interval, maximal_families

SMALL = [Interval(a, b) for a, b in combinations_with_replacement(range(7), 2)]


def leaves(*intervals):
    return {leaf for i in intervals for leaf in range(i.begin, i.end)}


@pytest.mark.parametrize(("begin", "end"), [(-1, 2), (3, 2)])
def test_an_interval_that_runs_backwards_is_refused(begin, end):
    with pytest.raises(ValueError, match="0 <= begin <= end"):
        Interval(begin, end)


def test_intersect_and_subtract_are_those_of_leaf_sets():
    for a in SMALL:
        assert a.size == len(leaves(a))
        for b in SMALL:
            assert leaves(a.intersect(b)) == leaves(a) & leaves(b)
            parts = a.subtract(b)
            assert all(part.size for part in parts)
            assert sum(part.size for part in parts) == len(leaves(*parts))
            assert leaves(*parts) == leaves(a) - leaves(b)


def maximal_by_definition(n_jobs, begin, end):
    """All nodes inside the interval whose parent is not."""

    def inside(path):
        first = sum(v * factorial(n_jobs - 1 - i) for i, v in enumerate(path))
        return begin <= first and first + factorial(n_jobs - len(path)) <= end

    found = []

    def visit(path):
        if inside(path):
            found.append(path)
        elif len(path) < n_jobs - 1:
            for v in range(n_jobs - len(path)):
                visit((*path, v))

    visit(())
    return found


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 4])
def test_maximal_families_of_every_interval_are_the_maximal_nodes(n_jobs):
    """A maximal root lies in the interval and its parent does not."""
    last = factorial(n_jobs)
    for begin, end in combinations_with_replacement(range(last + 1), 2):
        if 0 < end - begin < last:
            families = maximal_families(n_jobs, Interval(begin, end))
            paths = [(*p, v) for p, start, stop in families for v in range(start, stop)]
            assert paths == maximal_by_definition(n_jobs, begin, end)
