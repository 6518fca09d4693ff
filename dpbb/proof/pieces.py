"""Parts of a tree that are explored again: here, or as tasks anywhere.

Counts of disjoint roots add up, whoever explores them: a node belongs to the owner of
its first leaf. So a part is split as one likes, and its pieces go to any engine.
"""

from __future__ import annotations

import heapq
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import count
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpbb.engines.base import Clears
from dpbb.engines.driver import explore_to_end
from dpbb.tree.branching import bound_children
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from numpy.typing import NDArray

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
            about = self._problem, self._tree, self._device
            self._session = self._engine.open(
                *about, ub=ub, all_optima=self._all_optima
            )
            self._ub = ub
        return self._session


def side_by_side(
    explorers: Sequence[Explorer], tasks: Sequence[Task]
) -> Generator[tuple[int, Found]]:
    """Explore tasks, a thread for each explorer.

    Yields the number of each and what was found, in any order.
    """
    if min(len(explorers), len(tasks)) == 1:
        for index, task in enumerate(tasks):
            yield index, explorers[0].explore(task)
        return
    free: SimpleQueue[Explorer] = SimpleQueue()
    for explorer in explorers:
        free.put(explorer)
    over = Event()

    def explore(task: Task) -> Found:
        explorer = free.get()
        try:
            return explorer.explore(task, over.is_set)
        finally:
            free.put(explorer)

    with ThreadPoolExecutor(len(explorers), "dpbb-again") as pool:
        futures = {pool.submit(explore, task): at for at, task in enumerate(tasks)}
        try:
            for future in as_completed(futures):
                yield futures.pop(future), future.result()
        finally:
            over.set()
            pool.shutdown(cancel_futures=True)


def expanded(
    problem: Problem[Any], tree: TreeOptions, task: Task, wanted: int
) -> list[tuple[int, ...]]:
    """Replace shallow roots by their children until so many are not pruned.

    Only nodes that are not pruned are replaced: what is closed is closed at the depth
    at which any search closes it.
    """
    number = count()  # nodes are not compared
    growing = Growing(problem, tree, task.ub)
    done: list[tuple[int, ...]] = []
    nodes: list[tuple[int, int, Node]] = []

    def add(found: Iterable[Node]) -> None:
        for node in found:
            if node.can_be_cut:
                heapq.heappush(nodes, (len(node.path), next(number), node))
            else:
                done.append(node.path)

    add(growing.walked(task.roots))
    while nodes and len(done) + len(nodes) < wanted:
        add(growing.children(heapq.heappop(nodes)[2]))
    open_nodes = (node.path for _, _, node in nodes)
    return sorted([*done, *open_nodes, *growing.pruned])


class Node(NamedTuple):
    """A node that is not pruned.

    Attributes
    ----------
    path
        Digits.
    jobs : ndarray of intp, shape (r,)
        Unscheduled jobs, in root order.
    above
        State of its parent, the job that leads here, and its side; none of the root.
    """

    path: tuple[int, ...]
    jobs: NDArray[np.intp]
    above: tuple[Any, int, bool] | None

    @property
    def can_be_cut(self) -> bool:
        """Whether more than two jobs are left: with fewer it has no inner child."""
        return len(self.jobs) > 2


class Growing:
    """Nodes of a tree, and their children.

    Attributes
    ----------
    pruned
        Paths of all children that were.

    Parameters
    ----------
    problem, tree, ub
        Of the tree.
    """

    def __init__(self, problem: Problem[Any], tree: TreeOptions, ub: int) -> None:
        self.pruned: list[tuple[int, ...]] = []
        self._problem, self._tree, self._ub = problem, tree, ub

    def walked(self, roots: Iterable[Path]) -> list[Node]:
        """Walk to roots; those that are pruned on the way are in ``pruned`` instead."""
        order = np.array(self._tree.root_order or range(self._problem.n_jobs), np.intp)
        found, bounded = [], {}  # neighbors have most of what is above in common
        for root in roots:
            path = tuple(map(int, root))
            node: Node | None = Node((), order, None)
            for depth, digit in enumerate(path):
                if node is None or (depth and not node.can_be_cut):
                    break
                if node.path not in bounded:
                    bounded[node.path] = self._bounded(node)
                state, back, bounds = bounded[node.path]
                is_open = bounds[digit] < self._ub
                node = _below(node, digit, state, back) if is_open else None
            if node is None:
                self.pruned.append(path)
            else:
                found.append(node._replace(path=path))
        return found

    def children(self, node: Node) -> list[Node]:
        """Children that are not pruned; the others are in ``pruned`` afterwards."""
        state, back, bounds = self._bounded(node)
        found = []
        for digit, bound in enumerate(bounds):
            if bound < self._ub:
                found.append(_below(node, digit, state, back))
            else:
                self.pruned.append((*node.path, digit))
        return found

    def _bounded(self, node: Node) -> tuple[Any, bool, NDArray[Any]]:
        """Return a node's state, the side that it takes, and its children's bounds."""
        if node.above is None:
            state = self._problem.root_state()
        else:
            before, job, side = node.above
            state = self._problem.extend(before, job, back=side)
        about = self._problem, self._tree, state, node.jobs
        return state, *bound_children(*about, len(node.path), self._ub)


def _below(node: Node, digit: int, state: Any, back: bool) -> Node:
    job = int(node.jobs[digit])
    return Node((*node.path, digit), np.delete(node.jobs, digit), (state, job, back))
