"""A checkpoint: the state of a run, to be written down and gone on from.

As of the last full reports: the ledger, and the open roots of every unit, wherever it
was. Taking it copies references only, so the coordinator may do it on its own thread;
what is laborious (subtracting gifts, encoding, checking) happens elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.journal import Journal
from dpbb.coordination.messages import RunSpec, UnitId
from dpbb.coordination.outcome import Standing
from dpbb.coordination.units import Unit
from dpbb.errors import CheckpointError, InvariantError, OptionError, shown
from dpbb.problem import Problem, cost_of, jobs_of
from dpbb.tree.counters import Counters, closed_leaves, decomposed_nodes
from dpbb.tree.factoradic import leaves_text, n_leaves
from dpbb.tree.work_unit import WorkUnit


@dataclass(frozen=True, slots=True, eq=False)
class SavedUnit:
    """An open unit, by its id: ``roots`` without ``gifts``, which left them since.

    ``least_lb`` is a lower bound of all of it; ``fresh``: no engine has seen it.
    """

    id: UnitId
    roots: WorkUnit
    gifts: tuple[WorkUnit, ...]
    least_lb: int
    fresh: bool

    @classmethod
    def of(cls, unit: Unit) -> SavedUnit:
        """Take what is to be saved of a unit."""
        return cls(
            unit.id, unit.last_roots, tuple(unit.gifts), unit.least_lb, unit.fresh
        )

    @property
    def open_roots(self) -> WorkUnit:
        """What is open; takes a while after gifts."""
        if not self.gifts:
            return self.roots
        return self.roots.subtract(WorkUnit.concatenate(self.gifts))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checkpoint(Standing):
    """A run at one moment; its totals have the ledger's nodes.

    Parameters
    ----------
    spec
        What the run is; its ``upper_bound`` and ``permutation`` are those of its start.
    cutoff
        The upper bound while no better permutation is known.
    optima, first_optimum
        With all optima: those held, and the number of the first of them: those before
        it are in a file alone.
    closed : ndarray of int64, shape (n_jobs + 1,)
        Closed subtrees at each depth, as of the ledger.
    units
        The open units; empty at the end of a run that was exhausted.
    covered_s
        What was explored until then, in such seconds, is in it, whatever the seat.
    journal
        For a certificate; None without one.
    left_s
        Seconds that were left of the time limit; None without one.
    """

    spec: RunSpec
    cutoff: int
    optima: NDArray[np.uint16]
    first_optimum: int = 0
    closed: NDArray[np.int64]
    units: tuple[SavedUnit, ...]
    covered_s: float
    journal: Journal | None = None
    left_s: float | None = None

    @property
    def counters(self) -> Counters:
        """The ledger."""
        return Counters(self.totals.decomposed, self.totals.leaves, self.closed)

    @property
    def ub(self) -> int:
        """Upper bound: prune LB >= ub."""
        if self.value is None:
            return self.cutoff
        return min(self.cutoff, self.value + self.spec.options.all_optima)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to explore."""
        return not self.units

    def check(self) -> None:
        """Check all that can be checked without exploring (laws 5 and 6).

        CheckpointError: says what was expected and what came.
        """
        problem = self.spec.problem
        n_jobs = problem.n_jobs
        if len(self.closed) != n_jobs + 1 or np.any(self.closed < 0):
            raise CheckpointError(
                f"expected closed subtrees at {n_jobs + 1} depths, got "
                f"{self.closed.tolist()}"
            )
        ids = {unit.id for unit in self.units}
        if len(ids) < len(self.units) or max(ids, default=0) > self.totals.units:
            raise CheckpointError(
                f"expected units of different numbers up to {self.totals.units}, got "
                f"{shown(sorted(ids))}"
            )
        open_units = [unit.open_roots for unit in self.units]
        for unit in open_units:
            if unit.n_jobs != n_jobs or not len(unit):
                raise CheckpointError(
                    f"expected units with roots of {n_jobs} jobs, got {len(unit)} "
                    f"roots of {unit.n_jobs}"
                )
        try:
            for unit in open_units:
                unit.check()
            WorkUnit.concatenate([WorkUnit.empty(n_jobs), *open_units]).check()
        except ValueError as error:
            raise CheckpointError(f"open roots: {error}") from error
        closed = closed_leaves(self.closed)
        remaining = sum(unit.leaves for unit in open_units)
        if closed + remaining != n_leaves(n_jobs):
            raise CheckpointError(
                f"expected {leaves_text(n_leaves(n_jobs))} leaves, got "
                f"{leaves_text(closed)} closed and {leaves_text(remaining)} open"
            )
        self._check_decomposed(open_units)
        check_incumbent(problem, self.value, self.permutation)
        if np.any(np.sort(self.optima, axis=1) != np.arange(n_jobs)):
            raise CheckpointError("expected optima that are permutations")
        if not 0 <= self.first_optimum <= self.n_optima - len(self.optima):
            raise CheckpointError(
                f"expected {self.n_optima} optimal permutations, got "
                f"{self.first_optimum} in a file and {len(self.optima)} here"
            )

    def _check_decomposed(self, open_units: list[WorkUnit]) -> None:
        """Check the decomposed nodes against closed and open subtrees (law 4).

        Where the upper bound has fallen, ancestors of roots that it pruned before they
        were begun are not counted.
        """
        try:
            decomposed = decomposed_nodes(
                WorkUnit.whole(self.spec.problem.n_jobs).depth_counts,
                self.closed,
                *(unit.depth_counts for unit in open_units),
            )
        except InvariantError as error:
            raise CheckpointError(f"closed and open subtrees: {error}") from error
        # an ancestor of open roots counts where the first of its leaves is explored
        decomposed -= sum(unit.owned_ancestors for unit in open_units)
        fixed = self.journal is not None and len(self.journal.bounds) == 1
        got = self.totals.decomposed
        if not 0 <= got <= decomposed or (fixed and got < decomposed):
            raise CheckpointError(
                f"expected {decomposed} decomposed nodes{'' if fixed else ' at most'}, "
                f"as the closed and open subtrees say, got {got}"
            )
        most = int(self.closed[-2])  # depth n - 1
        if self.totals.leaves > most:
            raise CheckpointError(
                f"expected at most {most} leaves visited, got {self.totals.leaves}"
            )


def check_incumbent(
    problem: Problem[Any], value: int | None, permutation: tuple[int, ...] | None
) -> None:
    """Raise CheckpointError unless the permutation costs what is claimed (law 6)."""
    if permutation is None and value is None:
        return
    try:
        found = cost_of(problem, jobs_of(problem, permutation or ()))
    except OptionError as error:
        raise CheckpointError(f"incumbent: {error}") from error
    if found != value:
        raise CheckpointError(
            f"incumbent: expected a permutation of cost {value}, got one of {found}"
        )
