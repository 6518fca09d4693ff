"""A root: a tree node named by its path, that is, a node-aligned leaf interval.

Roots one at a time are for people and tests; engines, messages and checkpoints hold
them in bulk, as the rows of a ``WorkUnit``.
"""

from dataclasses import dataclass

from dpbb.tree.factoradic import leaf_of_path, n_leaves
from dpbb.tree.interval import Interval


@dataclass(frozen=True, slots=True, order=True)
class Root:
    """The node reached by taking child ``path[i]`` at depth i.

    Unscheduled jobs are kept in ascending root order, and digit v takes the v-th of
    those left; front or back insertion does not enter the digits (invariant I2).
    """

    path: tuple[int, ...] = ()

    @property
    def depth(self) -> int:
        """Number of scheduled jobs."""
        return len(self.path)

    @property
    def owned_ancestors(self) -> int:
        """Ancestors whose first leaf is this root's: trailing zero digits (I4)."""
        count = 0
        for digit in reversed(self.path):
            if digit:
                break
            count += 1
        return count

    def interval(self, n_jobs: int) -> Interval:
        """Leaves below the node in the tree of ``n_jobs`` jobs."""
        begin = leaf_of_path(n_jobs, self.path)
        return Interval(begin, begin + n_leaves(n_jobs - self.depth))
