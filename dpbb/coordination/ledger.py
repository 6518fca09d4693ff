"""The checks of a full report (laws 4 and 5), and what it counts for.

A lease starts with a ``LeaseBasis``: the roots that it explores and the facts that a
report is checked against. ``check_report`` is a pure function of the basis and a
report; it runs in a thread and gives a ``Checked``: the counts that the report stands
for, and the basis of the next one. The coordinator only adds and replaces.

Why a wrong report is found. Roots, remaining, donated and closed subtrees are nodes of
one tree, and closed + remaining + donated must be a partition of the leased leaves. At
each depth d the nodes that are neither were decomposed, D[d] of them, and each gave
n - d children, so

    D[d] = (n - d + 1) D[d - 1] + leased[d] - closed[d] - remaining[d] - donated[d]

with D[d] >= 0, and D[n - 1] = 0, as a leaf is never decomposed. Solved for the leaves
it is the one equation of law 5: closed = leased - remaining - donated. The sum of D
bounds the decomposed nodes that a seat can have counted: it is their number at a fixed
upper bound (law 4), and where that fell, ancestors of what it pruned are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.incumbent import evaluate_candidates
from dpbb.coordination.messages import FullReport, LeaseId, Report
from dpbb.coordination.span_map import cells_of
from dpbb.errors import InvariantError
from dpbb.problem import Problem
from dpbb.tree.counters import Counters, closed_leaves, decomposed_nodes
from dpbb.tree.factoradic import leaves_text
from dpbb.tree.work_unit import WorkUnit


@dataclass(frozen=True, slots=True, eq=False)
class LeaseBasis:
    """All that a full report of a lease is checked against.

    Parameters
    ----------
    problem
        Evaluates optimal permutations.
    roots
        What remained at the last full report; at first what was leased.
    gifts
        Given away since then; some of it may be roots, some lies below them.
    leased, donated : ndarray of int64, shape (n_jobs + 1,)
        Roots at each depth: of what was leased, and of all gifts so far.
    leased_ancestors, donated_ancestors
        Their owned ancestors (law 4).
    counted
        What the last full report counts for: decomposed less exported ancestors,
        leaves, closed.
    """

    lease: LeaseId
    problem: Problem[Any]
    roots: WorkUnit
    leased: NDArray[np.int64]
    leased_ancestors: int
    donated: NDArray[np.int64]
    donated_ancestors: int
    counted: Counters
    gifts: WorkUnit = field(default_factory=lambda: WorkUnit.empty(1))

    @property
    def exported(self) -> int:
        """Owned ancestors to be taken off a raw count of decomposed nodes (law 4)."""
        return self.roots.owned_ancestors + self.donated_ancestors

    @classmethod
    def start(
        cls, lease: LeaseId, problem: Problem[Any], roots: WorkUnit
    ) -> LeaseBasis:
        """Begin a lease: nothing counted, nothing donated."""
        return cls(
            lease=lease,
            problem=problem,
            roots=roots,
            leased=roots.depth_counts,
            leased_ancestors=roots.owned_ancestors,
            donated=np.zeros(roots.n_jobs + 1, np.int64),
            donated_ancestors=0,
            counted=Counters.zero(roots.n_jobs),
            gifts=WorkUnit.empty(roots.n_jobs),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A report with roots that holds.

    Parameters
    ----------
    basis
        What it was checked against.
    next
        What the lease's next full report is to be checked against.
    seq
        The report's number.
    donated_leaves
        Leaves below a gift.
    remaining_leaves
        Leaves below what remains; None of a gift. What the seat counted since its last
        full report is not settled by that: should the lease be lost, what is repeated
        is the roots of that report without the gifts.
    remaining_cells : ndarray of bool
        Of a full report, for the span map.
    """

    basis: LeaseBasis
    next: LeaseBasis
    seq: int
    donated_leaves: int = 0
    remaining_leaves: int | None = None
    remaining_cells: NDArray[np.bool_] | None = None


def check_report(basis: LeaseBasis, report: Report) -> Checked:
    """Check a report that has roots; pure and thread-safe.

    Raises
    ------
    ValueError
        The report is a light one.
    InvariantError
        The report cannot be true; says what was expected and what came.
    """
    try:
        if report.full is not None:
            return _checked_full(basis, report, report.full)
        if report.gift is not None:
            return _checked_gift(basis, report, report.gift)
    except InvariantError as error:
        raise InvariantError(
            f"report {report.seq} of lease {report.lease}: {error}"
        ) from error
    raise ValueError(f"expected a report with roots, got light report {report.seq}")


def _checked_full(basis: LeaseBasis, report: Report, full: FullReport) -> Checked:
    _check_roots(basis, "remaining", full.remaining)
    decomposed = _check_conservation(basis, full)
    visited = int(full.closed[-2])  # at depth n - 1; more leaves cannot have been
    if not basis.counted.leaves <= report.leaves <= visited:
        raise InvariantError(
            f"expected {basis.counted.leaves} to {visited} leaves, got {report.leaves}"
        )
    if report.decomposed < 0:
        raise InvariantError(f"expected decomposed >= 0, got {report.decomposed}")
    exported = full.remaining.owned_ancestors + basis.donated_ancestors
    counted = Counters(report.decomposed - exported, report.leaves, full.closed)
    most = decomposed + basis.leased_ancestors - exported
    if not basis.counted.decomposed <= counted.decomposed <= most:
        raise InvariantError(
            f"expected {basis.counted.decomposed} to {most} decomposed nodes less "
            f"{exported} exported ancestors, got {counted.decomposed}"
        )
    evaluate_candidates(basis.problem, full.optima, "an optimum")
    return Checked(
        basis=basis,
        next=replace(
            basis,
            roots=full.remaining,
            gifts=WorkUnit.empty(full.remaining.n_jobs),
            counted=counted,
        ),
        seq=report.seq,
        remaining_leaves=full.remaining.leaves,
        remaining_cells=cells_of(full.remaining),
    )


def _checked_gift(basis: LeaseBasis, report: Report, gift: WorkUnit) -> Checked:
    """Check roots that are given away.

    They must lie inside what remained at the last full report, outside of what was
    given away since. That the seat really left them to others shows in its next full
    report, when closed, remaining and donated leaves must be those that were leased.
    """
    gifts = _check_roots(basis, "given", gift)
    return Checked(
        basis=basis,
        next=replace(
            basis,
            gifts=gifts,
            donated=basis.donated + gift.depth_counts,
            donated_ancestors=basis.donated_ancestors + gift.owned_ancestors,
        ),
        seq=report.seq,
        donated_leaves=gift.leaves,
    )


def _check_roots(basis: LeaseBasis, name: str, roots: WorkUnit) -> WorkUnit:
    """Check roots that remain, or are given away; return them and all given before.

    They are of the right tree, ordered and disjoint, inside what remained last, and
    were not given away since.
    """
    if roots.n_jobs != basis.roots.n_jobs:
        raise InvariantError(
            f"expected {name} roots of {basis.roots.n_jobs} jobs, got {roots.n_jobs}"
        )
    try:
        roots.check()
    except ValueError as error:
        raise InvariantError(f"{name} roots: {error}") from error
    inside = roots.covered_by(basis.roots)
    if not np.all(inside):
        path = roots.path(int(np.argmin(inside)))
        raise InvariantError(f"{name} root {path} lies outside the lease")
    if not len(basis.gifts):
        return roots
    together = WorkUnit.concatenate([basis.gifts, roots])
    if not together.is_ordered_and_disjoint():
        raise InvariantError(f"expected {name} roots that were not given away before")
    return together


def _check_conservation(basis: LeaseBasis, full: FullReport) -> int:
    """Check law 5 in exact integers; return the decomposed nodes (see the module)."""
    n_jobs = basis.roots.n_jobs
    closed = full.closed
    if closed.dtype != np.int64 or closed.shape != (n_jobs + 1,):
        raise InvariantError(
            f"expected closed subtrees at {n_jobs + 1} depths, "
            f"got {closed.dtype} of shape {closed.shape}"
        )
    if np.any(closed < basis.counted.closed):
        raise InvariantError(
            f"expected closed subtrees to grow from {basis.counted.closed.tolist()}, "
            f"got {closed.tolist()}"
        )
    remaining, donated = full.remaining.depth_counts, basis.donated
    # Each sum in Python ints: a lie may be near 2**63, where arrays would wrap.
    expected = (
        closed_leaves(basis.leased) - closed_leaves(remaining) - closed_leaves(donated)
    )
    if closed_leaves(closed) != expected:
        raise InvariantError(
            f"expected {leaves_text(expected)} closed leaves (leased less remaining "
            f"less donated), got {leaves_text(closed_leaves(closed))}"
        )
    return decomposed_nodes(basis.leased, closed, remaining, donated)
