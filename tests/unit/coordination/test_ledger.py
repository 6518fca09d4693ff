"""Honest full reports hold; each kind of lie is found."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.coordination.ledger import LeaseBasis, check_report
from dpbb.coordination.messages import FullReport, LeaseId, Report
from dpbb.engines import explore_to_end
from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError
from dpbb.tree.counters import Counters
from dpbb.tree.work_unit import WorkUnit
from tests.intervals import unchecked
from tests.unit.coordination.world import ENGINE, spec_of, tiny

LEASE = LeaseId("run/1.1")
PROBLEM = tiny(5, slack=100)  # nothing is pruned: 5 levels, 120 leaves
UB = PROBLEM.trivial_ub


class Honest:
    """A lease that is explored by the reference engine, node by node."""

    def __init__(self, paths=((),), all_optima=False):
        self.basis = LeaseBasis.start(LEASE, PROBLEM, WorkUnit.from_paths(5, paths))
        tree = spec_of(PROBLEM).tree
        self.session = ENGINE.open(PROBLEM, tree, None, all_optima=all_optima)
        self.session.load(self.basis.roots)
        self.counters = Counters.zero(5)
        self.seq = 0

    def report(self, n_nodes, *, gift=False):
        for _ in range(n_nodes):
            part = self.session.advance(UB, 0.0)
            self.counters = self.counters.plus(
                part.decomposed, part.leaves, part.closed
            )
        self.seq += 1
        counts = self.counters.decomposed, self.counters.leaves
        if gift:
            given = self.session.donate(99)
            return Report(LEASE, self.seq, *counts, 99, 0, None, 0.0, gift=given)
        remaining = self.session.remaining()
        full = FullReport(self.counters.closed, remaining, last=False)
        return Report(LEASE, self.seq, *counts, len(remaining), 0, None, 0.0, full)


@settings(max_examples=40)
@given(
    st.sampled_from([[()], [(1,), (3, 0)], [(0, 0), (0, 2), (4,)]]),
    st.lists(st.tuples(st.integers(1, 25), st.booleans()), min_size=1, max_size=6),
)
def test_honest_reports_hold_and_count_each_node_once(paths, steps):
    honest = Honest(paths)
    basis, given_away = honest.basis, [WorkUnit.empty(5)]
    for n_nodes, gives in steps:
        if gives:
            gift = honest.report(0, gift=True)
            given_away.append(gift.gift)
            checked = check_report(basis, gift)
            assert checked.donated_leaves == gift.gift.leaves
            basis = checked.next
        report = honest.report(n_nodes)
        checked = check_report(basis, report)
        assert checked.basis is basis
        basis = checked.next
        assert checked.remaining_leaves == report.full.remaining.leaves
    # the same tree in the hands of others: what was given away, and what remains
    rest = [explored(unit) for unit in (*given_away, basis.roots)]
    total, whole = sum(rest, basis.counted), explored(honest.basis.roots)
    assert total.decomposed == whole.decomposed
    assert total.leaves == whole.leaves
    assert total.closed_leaves == honest.basis.roots.leaves


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 25), st.booleans()), max_size=6))
def test_what_was_given_away_is_neither_repeated_nor_lost(steps):
    """Whenever the lease is lost: its last full report less the gifts, and these."""
    honest = Honest()
    basis, given_away = honest.basis, [WorkUnit.empty(5)]
    for n_nodes, gift in steps:
        report = honest.report(n_nodes, gift=gift)
        basis = check_report(basis, report).next
        if gift:
            given_away.append(report.gift)
    rest = [explored(unit) for unit in (*given_away, basis.roots.subtract(basis.gifts))]
    total, whole = sum(rest, basis.counted), explored(honest.basis.roots)
    assert total.decomposed == whole.decomposed
    assert total.leaves == whole.leaves
    assert total.closed_leaves == honest.basis.roots.leaves


def test_lies_about_gifts_are_found():
    """Not the seat's to give, given twice, kept all the same, another tree's."""
    honest = Honest(paths=[(1,), (3,)])
    report = honest.report(3, gift=True)
    gifted = check_report(honest.basis, report).next
    assert len(gifted.gifts) == len(report.gift) > 0
    for gift, message in (
        (WorkUnit.from_paths(5, [(2,)]), "lies outside the lease"),
        (WorkUnit.from_paths(6, [(1,)]), "expected given roots of 5 jobs, got 6"),
        (unchecked(5, [report.gift.path(0)] * 2), "in leaf order"),
    ):
        with pytest.raises(InvariantError, match=message):
            check_report(honest.basis, replace(report, gift=gift))
    with pytest.raises(InvariantError, match="not given away before"):
        check_report(gifted, report)
    honest.session.load(report.gift)  # and goes on with what it gave
    with pytest.raises(InvariantError, match="given away before"):
        check_report(gifted, honest.report(0))


def explored(unit):
    """Return the counts of a unit's whole exploration."""
    session = ENGINE.open(PROBLEM, spec_of(PROBLEM).tree, None, all_optima=True)
    session.load(unit)
    return explore_to_end(session, UB).counters


def honest_report():
    """Return the basis after a report and a gift, and the next report."""
    honest = Honest()
    basis = check_report(honest.basis, honest.report(7)).next
    return check_report(basis, honest.report(9, gift=True)).next, honest.report(0)


def lie(report, **changes):
    full = {k: v for k, v in changes.items() if k in FullReport.__slots__}
    rest = {k: v for k, v in changes.items() if k in Report.__slots__}
    return replace(report, full=replace(report.full, **full), **rest)


def closed_plus(report, depth, count):
    closed = report.full.closed.copy()
    closed[depth] += count
    return {"closed": closed}


def without(unit, index):
    return unit.take(np.arange(len(unit)) != index)


LIES = {
    "a finished leaf remains":
        ("outside the lease", lambda r: {"remaining": WorkUnit.concatenate(
            [WorkUnit.from_paths(5, [(0, 0, 0, 0)]), r.full.remaining])}),
    "another lease's root":
        ("remaining roots of 5 jobs, got 6",
         lambda _: {"remaining": WorkUnit.from_paths(6, [(5,)])}),
    "a root above the remainder":
        (r"root \(\) lies outside the lease",
         lambda _: {"remaining": WorkUnit.whole(5)}),
    "roots out of order":
        ("leaf order",
         lambda r: {"remaining": unchecked(5, r.full.remaining.roots()[::-1])}),
    "one more leaf closed": ("closed leaves", lambda r: closed_plus(r, 4, 1)),
    "closed falls":
        ("to grow", lambda r: closed_plus(r, 4, -int(r.full.closed[4]))),
    "closed of another shape": ("6 depths", lambda r: {"closed": r.full.closed[:-1]}),
    "closed wraps around": ("closed leaves", lambda r: closed_plus(r, 4, 2**62)),
    "leaves fall": ("leaves, got 0", lambda _: {"leaves": 0}),
    "leaves beyond the closed": ("leaves, got 1000000", lambda _: {"leaves": 10**6}),
    "decomposed falls": ("decomposed nodes less", lambda _: {"decomposed": 1}),
    "decomposed negative": ("expected decomposed >= 0", lambda _: {"decomposed": -1}),
    "one more decomposed":
        ("decomposed nodes less", lambda r: {"decomposed": r.decomposed + 1}),
    "an optimum of another value among others":
        ("was claimed", lambda _: {"optima": tuple(
            Candidate(PROBLEM.evaluate(order) + (i == 7), order)
            for i, order in enumerate(map(np.array, permutations(range(5)))))}),
    "an optimum of fewer jobs among others":
        ("expected", lambda _: {"optima": (
            Candidate(PROBLEM.evaluate(np.arange(5)), np.arange(5)),
            Candidate(3, np.arange(4)))}),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_lie_is_found(name):
    basis, report = honest_report()
    check_report(basis, report)
    said, changes = LIES[name]
    with pytest.raises(InvariantError, match=said) as caught:
        check_report(basis, lie(report, **changes(report)))
    assert "report 3 of lease run/1.1" in str(caught.value)


@given(st.data())
def test_any_lost_leaf_is_found(data):
    """Whichever root, or part of one, is missing from a report."""
    basis, report = honest_report()
    roots = report.full.remaining
    index = data.draw(st.integers(0, len(roots) - 1))
    if data.draw(st.booleans()):
        roots = roots.expand(index)
        index += data.draw(st.integers(0, len(roots) - len(report.full.remaining)))
    with pytest.raises(InvariantError, match="closed leaves"):
        check_report(basis, lie(report, remaining=without(roots, index)))


def test_giving_back_before_loading_is_found():
    """A seat that counts nothing for loading may not take its ancestors off."""
    basis = LeaseBasis.start(LEASE, PROBLEM, WorkUnit.from_paths(5, [(0, 0)]))
    full = FullReport(np.zeros(6, np.int64), basis.roots, last=True)
    with pytest.raises(InvariantError, match="decomposed"):
        check_report(basis, Report(LEASE, 1, 0, 0, 1, 0, None, 0.0, full))
    checked = check_report(basis, Report(LEASE, 1, 2, 0, 1, 0, None, 0.0, full))
    assert checked.next.counted.decomposed == 0


def test_closed_subtree_above_the_lease_is_found():
    """The sum of leaves is right, but the four roots do not make up their parent."""
    roots = WorkUnit.from_paths(5, [(0, digit) for digit in range(4)])
    basis = LeaseBasis.start(LEASE, PROBLEM, roots)
    closed = np.array([0, 1, 0, 0, 0, 0], np.int64)
    full = FullReport(closed, WorkUnit.empty(5), last=True)
    with pytest.raises(InvariantError, match="-1 decomposed nodes at depth 1"):
        check_report(basis, Report(LEASE, 1, 2, 0, 0, None, None, 0.0, full))


def test_single_job():
    """The tree of one job is one leaf."""
    problem = tiny(1)
    basis = LeaseBasis.start(LEASE, problem, WorkUnit.whole(1))
    full = FullReport(np.array([1, 0], np.int64), WorkUnit.empty(1), last=True)
    checked = check_report(basis, Report(LEASE, 1, 0, 1, 0, None, None, 0.0, full))
    assert checked.remaining_leaves == 0
    with pytest.raises(InvariantError):
        check_report(basis, Report(LEASE, 1, 1, 1, 0, None, None, 0.0, full))


def test_sixteen_thousand_roots_beyond_64_bits():
    """Large reports are exact: one leaf too many among 100! is found."""
    zeros = (0,) * 60
    unit = WorkUnit.from_paths(
        100,
        [(*zeros, i, j, k) for i in range(32) for j in range(32) for k in range(16)],
    )
    problem = tiny(5)
    basis = LeaseBasis.start(LEASE, problem, unit)
    kept, given_away = unit.donate(4096)
    closed = np.zeros(101, np.int64)
    full = FullReport(closed, kept, last=False)
    counts = unit.owned_ancestors, 0, len(kept), 0, None, 0.0
    gift = check_report(basis, Report(LEASE, 1, *counts, gift=given_away))
    basis, report = gift.next, Report(LEASE, 2, *counts, full)
    checked = check_report(basis, report)
    assert checked.remaining_leaves + gift.donated_leaves == unit.leaves
    closed[99] = 1
    with pytest.raises(InvariantError, match="closed leaves"):
        check_report(basis, report)
