"""Parts of a tree that are explored again: here, or as tasks anywhere.

Counts of disjoint roots add up, whoever explores them: a node belongs to the owner of
its first leaf. So a part is split as one likes, and its pieces go to any engine.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.base import Clears
from dpbb.engines.driver import explore_to_end
from dpbb.problem import Tightens
from dpbb.tree.branching import bound_children
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpbb.engines.base import Device, Engine, Session, Slice
    from dpbb.engines.driver import Exploration
    from dpbb.options import TreeOptions
    from dpbb.problem import Problem

    Path = Sequence[int]

SLICE_S, LEAST_S, RATE = 0.2, 0.002, {"cpu": 1e8, "cuda": 1e10}
"""Seconds between two looks at the number of nodes; fewer where few are wanted: at so
many nodes a second, by kind of device, they are found."""


@dataclass(frozen=True, slots=True)
class Task:
    """What to explore again.

    Parameters
    ----------
    roots
        Paths, ordered and disjoint.
    ub
        Upper bound.
    most
        Exploring ends when there are more nodes.
    """

    roots: Sequence[Path]
    ub: int
    most: int


@dataclass(frozen=True, slots=True)
class Found:
    """What was found.

    Parameters
    ----------
    decomposed, leaves, closed
        Counts; closed subtrees by depth.
    best
        Value of the best schedule below the upper bound; None: there is none.
    whole
        Whether all of it was explored.
    """

    decomposed: int = 0
    leaves: int = 0
    closed: Counter[int] = field(default_factory=Counter)
    best: int | None = None
    whole: bool = True

    @property
    def nodes(self) -> int:
        """Nodes of both kinds."""
        return self.decomposed + self.leaves

    def plus(self, other: Found) -> Found:
        """Add what was found in another piece."""
        known = [best for best in (self.best, other.best) if best is not None]
        return Found(
            self.decomposed + other.decomposed,
            self.leaves + other.leaves,
            self.closed + other.closed,
            min(known, default=None),
            self.whole and other.whole,
        )


class Explorer:
    """Explores pieces one after the other, in one session as long as that is possible.

    Parameters
    ----------
    problem, tree, all_optima
        Of the claim.
    engine, device
        What explores.
    """

    def __init__(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        all_optima: bool,
        engine: Engine,
        device: Device,
    ) -> None:
        self._problem, self._tree, self._all_optima = problem, tree, all_optima
        self._engine, self._device = engine, device
        self._session: Session | None = None
        self._ub = 0

    def explore(
        self, task: Task, should_stop: Callable[[], bool] = lambda: False
    ) -> Found:
        """Explore a piece."""
        session = self._open(task.ub)

        def enough(_part: Slice, total: Exploration) -> bool:
            return total.counters.nodes > task.most or should_stop()

        try:
            session.load(WorkUnit.from_paths(self._problem.n_jobs, task.roots))
            rate = RATE.get(self._device.kind, RATE["cpu"])
            slice_s = min(SLICE_S, LEAST_S + task.most / rate)
            total = explore_to_end(session, task.ub, slice_s, enough)
        except BaseException:
            self.close()
            raise
        if total.best is not None:
            self.close()  # it prunes at less
        elif not total.exhausted:
            if isinstance(session, Clears):
                session.clear()
            else:
                self.close()
        counts, closed = total.counters, total.counters.closed
        return Found(
            counts.decomposed,
            counts.leaves,
            Counter({int(d): int(closed[d]) for d in np.flatnonzero(closed)}),
            None if total.best is None else total.best.value,
            total.exhausted,
        )

    def close(self) -> None:
        """Free the session."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _open(self, ub: int) -> Session:
        if self._session is None or ub != self._ub:
            self.close()
            self._ub, self._session = (
                ub,
                self._engine.open(
                    self._problem,
                    self._tree,
                    self._device,
                    ub=ub,
                    all_optima=self._all_optima,
                ),
            )
        return self._session


def expanded(
    problem: Problem[Any], tree: TreeOptions, task: Task, wanted: int
) -> list[tuple[int, ...]]:
    """Replace shallow roots by their children until so many are not pruned.

    Only nodes that are not pruned are replaced: what is closed is closed at the depth
    at which any search closes it.
    """
    roots, pruned = grown(problem, tree, task, wanted)
    return sorted(roots + pruned)


def grown(
    problem: Problem[Any], tree: TreeOptions, task: Task, wanted: int
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Replace shallow roots by their children until so many are not pruned.

    Returns
    -------
    tuple of list
        Roots, in order, and what is pruned.
    """
    tightens = problem if isinstance(problem, Tightens) else None
    done: list[tuple[int, ...]] = []
    closed: list[tuple[int, ...]] = []
    number = count()  # states are not compared
    nodes: list[tuple[int, int, tuple[int, ...], Any, Any]] = []

    def children(jobs: Any, state: Any, depth: int) -> tuple[bool, Any]:
        return bound_children(problem, tightens, tree, state, jobs, depth, task.ub)

    def add(path: tuple[int, ...], jobs: Any, state: Any) -> None:
        heapq.heappush(nodes, (len(path), next(number), path, jobs, state))

    for root in task.roots:
        jobs = np.array(tree.root_order or range(problem.n_jobs), np.intp)
        state, pruned = problem.root_state(), False
        for depth, digit in enumerate(root):
            back, bounds = children(jobs, state, depth)
            pruned = bool(bounds[digit] >= task.ub)
            if pruned or len(jobs) <= 2:
                break
            state = problem.extend(state, int(jobs[digit]), back=back)
            jobs = np.delete(jobs, digit)
        path = tuple(map(int, root))
        if pruned:
            closed.append(path)
        elif len(path) > problem.n_jobs - 2:
            done.append(path)
        else:
            add(path, jobs, state)
    while nodes and len(done) + len(nodes) < wanted:
        depth, _, path, jobs, state = heapq.heappop(nodes)
        back, bounds = children(jobs, state, depth)
        for digit, bound in enumerate(bounds):
            child = (*path, digit)
            if bound >= task.ub:
                closed.append(child)
            elif len(jobs) <= 3:
                done.append(child)
            else:
                after = problem.extend(state, int(jobs[digit]), back=back)
                add(child, np.delete(jobs, digit), after)
    return sorted([*done, *(node[2] for node in nodes)]), closed
