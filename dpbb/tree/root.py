"""A root: a tree node named by its path.

Roots one at a time are for the reference engine, people and tests; engines, messages
and checkpoints hold them in bulk, as the rows of a ``WorkUnit``.
"""

from dataclasses import dataclass


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
