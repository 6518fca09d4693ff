"""The reference engine: depth-first search on any problem; slow, obvious, correct.

One explorer, one node at a time, in leaf order. It takes every problem with the
``Problem`` protocol at any size, and is what the fast engines are compared with.

Its state is the textbook IVM's: the path from the root down, and of every node on it
the unscheduled jobs, the side, and which children are open. Source: Mezmaz, Leroy,
Melab and Tuyttens, IPDPS 2014. Differences: bounds and an open flag stand beside each
child instead of a sign in a matrix, so that siblings can be exported and pruned again
when the upper bound falls, and there is no end of an interval, as the work is a root.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.base import Device, Engine, HostSession, Slice
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.options import TreeOptions, Tuning
from dpbb.problem import Problem, evaluated
from dpbb.tree.branching import bound_children, refusal
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


@dataclass(slots=True, eq=False)
class Level:
    """A node of the current path, and its children on the side that it takes.

    Parameters
    ----------
    state, jobs
        Of the node: as the problem has it, and its unscheduled jobs.
    back, bounds
        The side, and the lower bounds of the children there.
    is_open : ndarray of bool
        Children that are bounded, not pruned and not visited.
    """

    state: Any
    jobs: NDArray[np.intp]
    back: bool
    bounds: NDArray[np.int64]
    is_open: NDArray[np.bool_]


class ReferenceSession(HostSession):
    """See ``dpbb.engines.base.Session``."""

    def __init__(
        self, problem: Problem[Any], tree: TreeOptions, ub: int, *, all_optima: bool
    ) -> None:
        super().__init__(problem, tree, ub, all_optima=all_optima)
        self._tree, self._root = tree, problem.root_state()
        # the path from the root down, and the child taken at each level but the last
        self._levels: list[Level] = []
        self._path: list[int] = []
        self._waiting: deque[tuple[int, ...]] = deque()  # roots to be started

    def advance(
        self, ub: int, max_seconds: float, most_roots: int | None = None
    ) -> Slice:
        """Visit nodes in leaf order, at least one, until the time is over."""
        deadline = perf_counter() + max_seconds
        if ub < self._ub:
            self._lower(ub)
        self._waiting.extend(self._take_pending().roots())
        while self._go_up() or self._waiting:
            if self._levels:
                child = int(self._levels[-1].is_open.argmax())
                self._levels[-1].is_open[child] = False
                self._visit(*self._take(child))
            else:
                self._start(self._waiting.popleft())
            if perf_counter() >= deadline:
                break
        least = [int(level.bounds[path[-1]]) for path, level in self._open()]
        known = None if self._waiting else min(least, default=None)
        return self._slice(len(least) + len(self._waiting), known)

    def donate(self, max_roots: int) -> WorkUnit:
        """Give every second open root away, shallow ones first if there are many."""
        _, given = self.remaining().donate(max_roots)
        gone = set(given.roots())
        for path, level in self._open():
            level.is_open[path[-1]] = path not in gone
        self._waiting = deque(root for root in self._waiting if root not in gone)
        self._pending = self._pending.take(~self._pending.covered_by(given))
        return given

    def remaining(self) -> WorkUnit:
        """All open roots."""
        paths = [path for path, _ in self._open()]
        begun = WorkUnit.from_paths(self._problem.n_jobs, [*paths, *self._waiting])
        return WorkUnit.concatenate([begun, self._pending])

    def _open(self) -> Iterator[tuple[tuple[int, ...], Level]]:
        """Yield the paths of all open nodes, each with its parent."""
        for depth, level in enumerate(self._levels):
            for child in np.flatnonzero(level.is_open).tolist():
                yield (*self._path[:depth], child), level

    def _start(self, root: tuple[int, ...]) -> None:
        """Go down to a root and visit it, unless its path is pruned on the way."""
        node = self._root, self._order
        for depth, child in enumerate(root):
            level = self._bound(*node)
            if level.bounds[child] >= self._ub:
                self._closed[len(root)] += 1
                # load() counted all owned ancestors, those of the trailing zero
                # digits; those below this node are not visited
                owned = max((at + 1 for at, one in enumerate(root) if one), default=0)
                self._decomposed -= len(root) - max(depth + 1, owned)
                return
            node = self._take(child)
        self._visit(*node)

    def _bound(self, state: Any, jobs: NDArray[np.intp]) -> Level:
        """Make a node the end of the path, with no child open yet."""
        depth = len(self._levels)
        back, bounds = bound_children(
            self._problem, self._tree, state, jobs, depth, self._ub
        )
        own = np.array(bounds, np.int64)
        level = Level(state, jobs, back, own, np.zeros(len(jobs), np.bool_))
        self._levels.append(level)
        return level

    def _take(self, child: int) -> tuple[Any, NDArray[np.intp]]:
        """Go on to a child of the path's end; return its state and jobs."""
        level = self._levels[-1]
        self._path[len(self._levels) - 1 :] = [child]
        job = int(level.jobs[child])
        state = self._problem.extend(level.state, job, back=level.back)
        return state, np.delete(level.jobs, child)

    def _visit(self, state: Any, jobs: NDArray[np.intp]) -> None:
        """Evaluate a leaf, or decompose the node: children below the UB are open."""
        if len(jobs) == 1:
            self._leaves += 1
            self._closed[self._problem.n_jobs - 1] += 1
            self._evaluate(jobs)
            return
        self._decomposed += 1
        level = self._bound(state, jobs)
        level.is_open = level.bounds < self._ub
        self._closed[len(self._levels)] += np.count_nonzero(~level.is_open)

    def _go_up(self) -> bool:
        """Go up to the deepest level with open children; False if there is none."""
        while self._levels and not self._levels[-1].is_open.any():
            self._levels.pop()
        return bool(self._levels)

    def _lower(self, ub: int) -> None:
        """Close the open children whose bound is not below an UB that has fallen."""
        super()._lower(ub)
        for depth, level in enumerate(self._levels, 1):
            pruned = level.is_open & (level.bounds >= ub)
            self._closed[depth] += np.count_nonzero(pruned)
            level.is_open &= ~pruned

    def _evaluate(self, last: NDArray[np.intp]) -> None:
        """Evaluate the leaf at the path's end."""
        ends: tuple[list[int], list[int]] = [], []
        for level, child in zip(self._levels, self._path, strict=True):
            ends[level.back].append(int(level.jobs[child]))
        permutation = np.array([*ends[0], *last, *ends[1][::-1]], np.intp)
        self._take_leaf(evaluated(self._problem, permutation), permutation)
