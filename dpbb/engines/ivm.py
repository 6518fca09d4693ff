"""The textbook IVM: depth-first search held as integer, vector, matrix, directions.

The *integer* is the level, the depth of the node that was decomposed last on the
current path; the *vector* holds the child taken at each level, which is a factoradic
digit; row d of the *matrix* holds the unscheduled jobs of the path's node at depth d;
the *direction array* says whether that node's children go to the back. Source: Mezmaz,
Leroy, Melab and Tuyttens, IPDPS 2014. Differences: bounds and an open flag stand beside
each matrix cell instead of a sign in it, so that siblings can be exported and pruned
again when the upper bound falls, and there is no end vector, as the work is a root and
not any interval.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.options import TreeOptions
from dpbb.problem import Problem
from dpbb.tree.branching import bound_children, order_of
from dpbb.tree.work_unit import WorkUnit


class Ivm:
    """One explorer: the state of a depth-first search below one root at a time."""

    def __init__(self, problem: Problem[Any], tree: TreeOptions) -> None:
        n_jobs = problem.n_jobs
        self._problem = problem
        self._tree = tree
        self.n_jobs = n_jobs
        self.decomposed = 0
        self.leaves = 0
        self.closed = np.zeros(n_jobs + 1, np.int64)
        self._level = -1
        self._vector = np.zeros(n_jobs, np.intp)
        self._matrix = np.zeros((n_jobs, n_jobs), np.intp)
        self._to_back = np.zeros(n_jobs, np.bool_)
        # of the children of the path's node at each depth, as columns of its row
        self._bounds = np.zeros((n_jobs, n_jobs), np.int64)
        self._open = np.zeros((n_jobs, n_jobs), np.bool_)
        self._states = [problem.root_state()] * n_jobs
        self._matrix[0] = order_of(tree, n_jobs)

    @property
    def n_open(self) -> int:
        """Number of open nodes: bounded, not pruned, not visited."""
        return int(np.count_nonzero(self._open[: self._level + 1]))

    @property
    def least_bound(self) -> int | None:
        """Least lower bound of the open nodes, None when there are none."""
        bounds = self._bounds[self._open]
        return int(bounds.min()) if len(bounds) else None

    def go_up(self) -> bool:
        """Raise the level to the deepest one with open nodes; False if none is."""
        while self._level >= 0 and not self._open[self._level].any():
            self._level -= 1
        return self._level >= 0

    def walk_to(self, path: Sequence[int], ub: int) -> int | None:
        """Go down to a root, bounding the nodes on its path as the search would.

        Returns depth of the first node on the path, the root included, that is pruned:
        the root is closed then. None if none is.
        """
        for depth, digit in enumerate(path):
            self._bound_children(depth, ub)
            if self._bounds[depth, digit] >= ub:
                self.closed[len(path)] += 1
                return depth + 1
            self._take(depth, digit)
        return None

    def visit(self, depth: int, ub: int) -> NDArray[np.intp] | None:
        """Visit the path's node at this depth; no child below it is open.

        Returns
        -------
        ndarray of intp, shape (n_jobs,), or None
            The permutation, if the node is a leaf; a node that is none is decomposed
            and the children with a bound below ``ub`` are open.
        """
        if depth == self.n_jobs - 1:
            self.leaves += 1
            self.closed[depth] += 1
            return self._permutation()
        self.decomposed += 1
        self._bound_children(depth, ub)
        n_children = self.n_jobs - depth
        self._open[depth, :n_children] = True
        self._level = depth
        self._prune_level(depth, ub)
        return None

    def visit_next(self, ub: int) -> NDArray[np.intp] | None:
        """Visit the first open node of the deepest open level, after ``go_up``."""
        depth = self._level
        digit = int(self._open[depth].argmax())
        self._open[depth, digit] = False
        self._take(depth, digit)
        return self.visit(depth + 1, ub)

    def prune(self, ub: int) -> None:
        """Close all open nodes whose bound is not below a ub that has fallen."""
        for depth in range(self._level + 1):
            self._prune_level(depth, ub)

    def open_roots(self) -> WorkUnit:
        """Return the open nodes as roots."""
        paths = [
            (*self._vector[:depth], digit) for depth, digit in np.argwhere(self._open)
        ]
        return WorkUnit.from_paths(self.n_jobs, paths)

    def remove(self, paths: Iterable[Sequence[int]]) -> None:
        """Forget open nodes, as they were given away."""
        for *above, digit in paths:
            self._open[len(above), digit] = False

    def _prune_level(self, depth: int, ub: int) -> None:
        pruned = self._open[depth] & (self._bounds[depth] >= ub)
        self.closed[depth + 1] += np.count_nonzero(pruned)
        self._open[depth] &= ~pruned

    def _bound_children(self, depth: int, ub: int) -> None:
        """Choose the side of the path's node at this depth; bound its children."""
        jobs = self._matrix[depth, : self.n_jobs - depth]
        self._to_back[depth], self._bounds[depth, : len(jobs)] = bound_children(
            self._problem, self._tree, self._states[depth], jobs, depth, ub
        )

    def _take(self, depth: int, digit: int) -> None:
        """Make a child of the path's node at this depth the path's next node."""
        jobs = self._matrix[depth, : self.n_jobs - depth]
        back = bool(self._to_back[depth])
        self._vector[depth] = digit
        self._states[depth + 1] = self._problem.extend(
            self._states[depth], int(jobs[digit]), back=back
        )
        self._matrix[depth + 1, : len(jobs) - 1] = np.delete(jobs, digit)

    def _permutation(self) -> NDArray[np.intp]:
        """Return the permutation of the path's leaf."""
        last = self.n_jobs - 1
        taken = self._matrix[np.arange(last), self._vector[:last]]
        back = self._to_back[:last]
        middle = self._matrix[last, :1]
        return np.concatenate([taken[~back], middle, taken[back][::-1]])
