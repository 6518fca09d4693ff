"""Exact counts of explored nodes (laws 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import InvariantError
from dpbb.tree.factoradic import n_leaves


def closed_leaves(closed: NDArray[np.int64]) -> int:
    """Leaves below the closed subtrees: sum of closed[d] (n - d)!.

    Parameters
    ----------
    closed : ndarray of int64, shape (n_jobs + 1,)
        Number of depth-d subtrees that were pruned or visited as a leaf.
    """
    n_jobs = len(closed) - 1
    return sum(
        int(closed[depth]) * n_leaves(n_jobs - int(depth))
        for depth in np.flatnonzero(closed)
    )


def decomposed_nodes(begun: NDArray[np.int64], *ended: NDArray[np.int64]) -> int:
    """Return how many nodes were decomposed, which roots and ends determine.

    At each depth d the nodes that did not end were decomposed, D[d] of them, and each
    gave n - d children, so D[d] = (n - d + 1) D[d - 1] + begun[d] - ended[d].

    Parameters
    ----------
    begun, *ended : ndarray of int64, shape (n_jobs + 1,)
        Roots at each depth, and the subtrees that were closed, remain or left.

    Raises
    ------
    InvariantError
        They are not of one tree: some D[d] < 0, or a leaf would be decomposed.
    """
    n_jobs = len(begun) - 1
    here = total = 0  # Python ints: a lie may be near 2**63, where arrays would wrap
    rows = zip(begun.tolist(), *(some.tolist() for some in ended), strict=True)
    for depth, (first, *rest) in enumerate(rows):
        here = here * (n_jobs - depth + 1) + first - sum(rest)
        total += here
        if here < 0 or (here and depth >= n_jobs - 1):
            raise InvariantError(
                f"expected subtrees of one tree, got {here} decomposed nodes at depth "
                f"{depth} of {n_jobs} jobs"
            )
    return total


@dataclass(frozen=True, slots=True, eq=False)
class Counters:
    """What was explored: decomposed nodes, visited leaves, closed subtrees a depth.

    Parameters
    ----------
    decomposed, leaves
        Nodes by the rules of law 4.
    closed : ndarray of int64, shape (n_jobs + 1,)
        See ``closed_leaves``.
    """

    decomposed: int
    leaves: int
    closed: NDArray[np.int64]

    @classmethod
    def zero(cls, n_jobs: int) -> Counters:
        """Nothing explored yet."""
        return cls(0, 0, np.zeros(n_jobs + 1, np.int64))

    @property
    def n_jobs(self) -> int:
        """Number of jobs of the tree."""
        return len(self.closed) - 1

    @property
    def nodes(self) -> int:
        """Decomposed nodes and leaves."""
        return self.decomposed + self.leaves

    @property
    def closed_leaves(self) -> int:
        """Leaves proved not to be better than the incumbent, exactly."""
        return closed_leaves(self.closed)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counters):
            return NotImplemented
        return (self.decomposed, self.leaves) == (
            other.decomposed,
            other.leaves,
        ) and np.array_equal(self.closed, other.closed)

    __hash__ = None  # type: ignore[assignment]

    def plus(self, decomposed: int, leaves: int, closed: NDArray[np.int64]) -> Counters:
        """Add the counts of a further slice."""
        return Counters(
            self.decomposed + decomposed, self.leaves + leaves, self.closed + closed
        )

    def __add__(self, other: Counters) -> Counters:
        return self.plus(other.decomposed, other.leaves, other.closed)
