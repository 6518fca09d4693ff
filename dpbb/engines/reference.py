"""The reference engine: the textbook IVM on any problem; slow, obvious, correct.

One explorer, one node at a time, in leaf order. It takes every problem with the
``Problem`` protocol at any size, and is what the fast engines are compared with.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.base import Candidate, Device, Engine, Session, Slice, check_disjoint
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.engines.ivm import Ivm
from dpbb.options import TreeOptions, Tuning
from dpbb.problem import Problem
from dpbb.tree.branching import refusal
from dpbb.tree.work_unit import WorkUnit


class ReferenceEngine(Engine):
    """See ``dpbb.engines.base.Engine``."""

    name = "reference"

    def supports(self, problem: Problem[Any], tree: TreeOptions) -> str | None:
        """None unless the problem has no such tree."""
        return refusal(problem, tree)

    def devices(self, threads: int | None = None) -> list[Device]:
        """Return one device: this process, whatever the number of threads."""
        return CpuEngine().devices(1)

    def _session(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        device: Device,
        ub: int,
        all_optima: bool,
        tuning: Tuning,
    ) -> ReferenceSession:
        return ReferenceSession(problem, tree, ub, all_optima=all_optima)


class ReferenceSession(Session):
    """See ``dpbb.engines.base.Session``.

    ``all_optima``: prune only LB > UB and collect the optimal leaves.
    """

    def __init__(
        self, problem: Problem[Any], tree: TreeOptions, ub: int, *, all_optima: bool
    ) -> None:
        self._problem = problem
        self._ivm = Ivm(problem, tree)
        self._ub = ub
        self._all_optima = all_optima
        # loaded roots that were not started yet; roots of one session are disjoint
        self._pending: deque[tuple[int, ...]] = deque()
        self._found: list[Candidate] = []

    def load(self, unit: WorkUnit) -> None:
        """Add roots to explore.

        Raises
        ------
        ValueError
            The unit is of another number of jobs.
        InvariantError
            It overlaps what is open: leaves would be explored twice.
        """
        check_disjoint(self, unit)
        self._pending.extend(unit.roots())
        self._ivm.decomposed += unit.owned_ancestors

    def advance(
        self, ub: int, max_seconds: float, most_roots: int | None = None
    ) -> Slice:
        """Visit nodes in leaf order, at least one, until the time is over."""
        deadline = perf_counter() + max_seconds
        ivm = self._ivm
        if ub < self._ub:
            self._ub = ub
            ivm.prune(ub)
        self._found = []
        while (has_open := ivm.go_up()) or self._pending:
            if has_open:
                leaf = ivm.visit_next(self._ub)
            else:
                leaf = self._start(self._pending.popleft())
            if leaf is not None:
                self._evaluate(leaf)
            if perf_counter() >= deadline:
                break
        return self._report()

    def donate(self, max_roots: int) -> WorkUnit:
        """Give every second open root away, shallow ones first if there are many."""
        _, given = self.remaining().donate(max_roots)
        gone = set(given.roots())
        self._ivm.remove(gone.difference(self._pending))
        self._pending = deque(root for root in self._pending if root not in gone)
        return given

    def remaining(self) -> WorkUnit:
        """All open roots."""
        return WorkUnit.concatenate([self._ivm.open_roots(), self._pending_unit()])

    def _pending_unit(self) -> WorkUnit:
        return WorkUnit.from_paths(self._problem.n_jobs, self._pending)

    def _start(self, root: tuple[int, ...]) -> NDArray[np.intp] | None:
        """Go down to a root and visit it, unless its path is pruned on the way."""
        depth = len(root)
        pruned_at = self._ivm.walk_to(root, self._ub)
        if pruned_at is None:
            return self._ivm.visit(depth, self._ub)
        # load() counted all owned ancestors, those of the trailing zero digits; those
        # from pruned_at on are not visited
        first_owned = max((at + 1 for at, digit in enumerate(root) if digit), default=0)
        self._ivm.decomposed -= depth - max(pruned_at, first_owned)
        return None

    def _evaluate(self, permutation: NDArray[np.intp]) -> None:
        """Take the leaf if it is better, or, for all optima, as good as the best."""
        value = self._problem.evaluate(permutation)
        if value >= self._ub:
            return
        candidate = Candidate(value, permutation)
        ub = value + 1 if self._all_optima else value
        if ub < self._ub:
            self._ub = ub
            self._found = []
            self._ivm.prune(ub)
        self._found.append(candidate)

    def _report(self) -> Slice:
        """Everything since the last slice; the counters start again."""
        ivm = self._ivm
        open_roots = ivm.n_open + len(self._pending)
        part = Slice(
            decomposed=ivm.decomposed,
            leaves=ivm.leaves,
            closed=ivm.closed,
            best=self._found[0] if self._found else None,
            open_roots=open_roots,
            least_lb=None if self._pending else ivm.least_bound,
            exhausted=open_roots == 0,
            optima=tuple(self._found) if self._all_optima else (),
        )
        ivm.decomposed = ivm.leaves = 0
        ivm.closed = np.zeros_like(ivm.closed)
        return part
