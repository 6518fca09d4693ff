"""Laws of leaf indices, intervals and work units, far beyond 64 bits."""

from itertools import pairwise
from math import factorial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpbb.tree import WorkUnit, n_leaves
from tests.intervals import (
    Interval,
    interval_of,
    intervals_of,
    leaf_of_path,
    unchecked,
    unit_between,
)

N_JOBS = st.one_of(st.integers(1, 8), st.integers(9, 40), st.integers(41, 800))


@st.composite
def leaf_bounds(draw, n_jobs):
    """Draw a leaf index or n!: any one, or of a large tree the first of a shallow node.

    Random digits at every level of 800 would give an interval of 300,000 roots.
    """
    if n_jobs <= 40 and draw(st.booleans()):
        return draw(st.integers(0, n_leaves(n_jobs)))
    depth = draw(st.integers(0, min(n_jobs, 4)))
    path = [draw(st.integers(0, n_jobs - 1 - level)) for level in range(depth)]
    end = draw(st.booleans())
    return (
        n_leaves(n_jobs) - leaf_of_path(n_jobs, path)
        if end
        else leaf_of_path(n_jobs, path)
    )


@st.composite
def intervals(draw, n_jobs):
    bounds = draw(leaf_bounds(n_jobs)), draw(leaf_bounds(n_jobs))
    return Interval(min(bounds), max(bounds))


@st.composite
def paths(draw, n_jobs, max_depth=12):
    depth = draw(st.integers(0, min(n_jobs - 1, max_depth)))
    # few different digits, so that paths share prefixes and end in zeros
    return tuple(
        draw(st.integers(0, min(n_jobs - 1 - level, 2)) | st.just(n_jobs - 1 - level))
        for level in range(depth)
    )


@st.composite
def units(draw, n_jobs, max_roots=12):
    """Draw disjoint roots: random nodes, less those inside one drawn before."""
    kept = []
    for path in draw(st.lists(paths(n_jobs), max_size=max_roots)):
        if not any(path[: len(k)] == k or k[: len(path)] == path for k in kept):
            kept.append(path)
    return WorkUnit.from_paths(n_jobs, kept)


@st.composite
def with_n_jobs(draw, *strategies, n_jobs=N_JOBS):
    n = draw(n_jobs)
    return n, *(draw(strategy(n)) for strategy in strategies)


def merged(parts):
    """Merge intervals, given in any order, that must be disjoint."""
    result = []
    for part in sorted(part for part in parts if part.size):
        if result and result[-1].end >= part.begin:
            assert result[-1].end == part.begin
            result[-1] = Interval(result[-1].begin, part.end)
        else:
            result.append(part)
    return result


@given(with_n_jobs(intervals))
def test_interval_to_roots_and_back(drawn):
    """Maximal roots cover exactly the interval; no siblings are all there."""
    n_jobs, interval = drawn
    unit = unit_between(n_jobs, interval.begin, interval.end)
    unit.check()
    assert unit.leaves == interval.size
    if len(unit) <= 2000:  # the rest costs Python integers for each root
        assert intervals_of(unit) == ([interval] if interval.size else [])
    level_sizes = unit.depth_counts
    assert np.all(level_sizes[1:] <= 2 * (n_jobs - np.arange(n_jobs)))
    # maximal: of the n - d children of a node at most n - d - 1 are roots
    if interval.size < n_leaves(n_jobs):
        parents = [path[:-1] for path in unit.roots()[:2000]]
        for parent in set(parents):
            assert parents.count(parent) < n_jobs - len(parent)


@given(with_n_jobs(lambda n: st.lists(paths(n), max_size=8)))
def test_ordered_and_disjoint_is_what_the_intervals_say(drawn):
    """The comparison of digits agrees with exact leaf indices, for any rows."""
    n_jobs, rows = drawn
    spans = [interval_of(row, n_jobs) for row in rows]
    expected = all(a.end <= b.begin for a, b in pairwise(spans))
    assert unchecked(n_jobs, rows).is_ordered_and_disjoint() == expected


@given(with_n_jobs(units))
def test_facts_of_a_unit_are_those_of_its_roots(drawn):
    n_jobs, unit = drawn
    roots = unit.roots()
    assert unit.leaves == sum(interval_of(root, n_jobs).size for root in roots)
    owned = sum(  # ancestors whose first leaf is the root's
        leaf_of_path(n_jobs, root[:depth]) == leaf_of_path(n_jobs, root)
        for root in roots
        for depth in range(len(root))
    )
    assert unit.owned_ancestors == owned
    assert unit.depth_counts.sum() == len(unit) == len(roots)
    assert merged(interval_of(root, n_jobs) for root in roots) == intervals_of(unit)


@given(with_n_jobs(units, units))
def test_covered_by_is_containment_of_roots(drawn):
    n_jobs, one, other = drawn
    outer = [interval_of(root, n_jobs) for root in one.roots()]
    inner = [interval_of(root, n_jobs) for root in other.roots()]
    inside = [any(o.intersect(i) == i for o in outer) for i in inner]
    assert other.covered_by(one).tolist() == inside
    assert one.covered_by(one).all()


@given(with_n_jobs(units, units))
def test_subtract_is_that_of_leaf_sets(drawn):
    n_jobs, one, other = drawn
    rest = one.subtract(other)
    rest.check()
    spans = intervals_of(other)
    left = intervals_of(one)
    for taken in spans:
        left = [
            Interval(*ends)
            for interval in left
            for ends in (
                (interval.begin, min(interval.end, taken.begin)),
                (max(interval.begin, taken.end), interval.end),
            )
            if ends[0] < ends[1]
        ]
    assert merged(intervals_of(rest)) == merged(left)
    # maximal: a root that is new is the child of one that holds leaves of the other
    new = [root for root in rest.roots()[:300] if root not in one.roots()]
    if new:
        parents = sorted({root[:-1] for root in new})
        assert all(
            any(interval_of(parent, n_jobs).intersect(taken).size for taken in spans)
            for parent in parents
        )


@given(with_n_jobs(units), st.integers(1, 9))
def test_split_deals_out_everything(drawn, parts):
    _, unit = drawn
    dealt = unit.split(parts)
    assert len(dealt) == min(parts, max(unit.leaves, 0))
    sizes = [len(part) for part in dealt]
    assert not sizes or max(sizes) - min(sizes) <= 1
    if dealt:
        together = WorkUnit.concatenate(dealt)
        together.check()
        assert intervals_of(together) == intervals_of(unit)
        assert together.covered_by(unit).all()


@given(with_n_jobs(units), st.integers(0, 8))
def test_donate_gives_about_half_and_loses_nothing(drawn, max_roots):
    _, unit = drawn
    kept, given_ = unit.donate(max_roots)
    assert len(given_) == min(len(unit) // 2, max_roots)
    assert WorkUnit.concatenate([kept, given_]) == unit
    kept.check()
    given_.check()


@given(with_n_jobs(units), st.data())
def test_expand_keeps_the_leaves(drawn, data):
    n_jobs, unit = drawn
    if len(unit):
        index = data.draw(st.integers(0, len(unit) - 1))
        grown = unit.expand(index)
        grown.check()
        assert intervals_of(grown) == intervals_of(unit)
        depth = int(unit.depths[index])
        new = n_jobs - depth if depth < n_jobs - 1 else 1
        assert len(grown) == len(unit) - 1 + new


@given(with_n_jobs(units))
def test_wire_round_trip(drawn):
    n_jobs, unit = drawn
    arrays = unit.paths._asdict()
    kind = np.uint8 if n_jobs <= 256 else np.uint16
    assert {array.dtype for array in arrays.values()} == {np.dtype(kind)}
    assert WorkUnit.from_arrays(n_jobs, arrays) == unit


@given(with_n_jobs(units), st.data())
def test_damaged_wire_arrays_are_refused_or_are_a_unit(drawn, data):
    """No damage gets through as anything but ordered, disjoint roots of the tree."""
    n_jobs, unit = drawn
    arrays = {
        key: array.astype(np.uint16) for key, array in unit.paths._asdict().items()
    }
    key = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[key]
    value = data.draw(st.integers(0, 3) | st.integers(0, 65535))
    if len(array) and data.draw(st.booleans()):
        array[data.draw(st.integers(0, len(array) - 1))] = value
    elif len(array) and data.draw(st.booleans()):
        arrays[key] = array[:-1]
    else:
        arrays[key] = np.append(array, np.uint16(value))
    try:
        received = WorkUnit.from_arrays(n_jobs, arrays)
    except ValueError:
        return
    received.check()
    spans = [interval_of(root, n_jobs) for root in received.roots()]
    assert all(a.end <= b.begin for a, b in pairwise(spans))
    assert all(span.end <= n_leaves(n_jobs) for span in spans)


@given(st.data())
def test_every_inner_node_is_owned_by_one_part(data):
    """Nodes below the roots plus their owned ancestors add up to the whole tree's."""
    n_jobs = data.draw(st.integers(1, 7))
    points = data.draw(st.lists(st.integers(0, n_leaves(n_jobs)), max_size=5))
    ends = [0, *sorted(points), n_leaves(n_jobs)]
    parts = [unit_between(n_jobs, a, b) for a, b in pairwise(ends)]

    def owned_nodes(unit):
        """Nodes with two or more unscheduled jobs."""
        below = sum(
            factorial(n_jobs - len(root)) // factorial(n_jobs - depth)
            for root in unit.roots()
            for depth in range(len(root), n_jobs - 1)
        )
        return below + unit.owned_ancestors

    assert sum(map(owned_nodes, parts)) == owned_nodes(WorkUnit.whole(n_jobs))
