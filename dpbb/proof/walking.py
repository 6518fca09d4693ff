"""Walking a tree by a problem's own methods: its nodes, and their children."""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpbb.tree.branching import bound_children
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from dpbb.options import TreeOptions
    from dpbb.problem import Problem

    Path = Sequence[int]
    Digits = tuple[int, ...]


def expanded(
    problem: Problem[Any], tree: TreeOptions, roots: WorkUnit, ub: int, wanted: int
) -> WorkUnit:
    """Replace shallow roots by their children until so many are not pruned."""
    is_open, pruned = opened(problem, tree, roots, ub, wanted)
    return WorkUnit.from_paths(problem.n_jobs, sorted([*is_open, *pruned]))


def opened(
    problem: Problem[Any], tree: TreeOptions, roots: WorkUnit, ub: int, wanted: int
) -> tuple[list[Digits], list[Digits]]:
    """Replace shallow roots by their children until so many are not pruned.

    Only nodes that are not pruned are replaced: what is closed is closed at the depth
    at which any search closes it.

    Returns
    -------
    tuple of list
        Paths of those that are not pruned, and of the others.
    """
    number = count()  # nodes are not compared
    growing = Growing(problem, tree, ub)
    done: list[Digits] = []
    nodes: list[tuple[int, int, Node]] = []

    def add(found: Iterable[Node]) -> None:
        for node in found:
            if node.can_be_cut:
                heapq.heappush(nodes, (len(node.path), next(number), node))
            else:
                done.append(node.path)

    add(growing.walked(map(roots.path, range(len(roots)))))
    while nodes and len(done) + len(nodes) < wanted:
        add(growing.children(heapq.heappop(nodes)[2]))
    return sorted([*done, *(node.path for _, _, node in nodes)]), growing.pruned


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


def trailing_zeros(path: Path) -> int:
    """How many ancestors of a node have the same first leaf."""
    return next((z for z, digit in enumerate(reversed(path)) if digit), len(path))
