"""Half-open intervals of leaf indices."""

from __future__ import annotations

from dataclasses import dataclass

from dpbb.tree.factoradic import digits_of_leaf, n_leaves

Family = tuple[tuple[int, ...], int, int]
"""Siblings: the path of their parent, the first digit, the end digit."""


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """Leaves ``begin`` to ``end - 1``; Python ints, as 21! passes 64 bits."""

    begin: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.begin <= self.end:
            raise ValueError(
                f"expected 0 <= begin <= end, got [{self.begin}, {self.end})"
            )

    @property
    def size(self) -> int:  # not __len__: len() stops at 2**63 - 1
        """Number of leaves."""
        return self.end - self.begin

    def intersect(self, other: Interval) -> Interval:
        """Leaves in both; an empty interval when there are none."""
        begin = max(self.begin, other.begin)
        return Interval(begin, max(begin, min(self.end, other.end)))

    def subtract(self, other: Interval) -> tuple[Interval, ...]:
        """Leaves of this interval outside ``other``: none, one or two intervals."""
        common = self.intersect(other)
        if not common.size:
            return (self,) if self.size else ()
        parts = (Interval(self.begin, common.begin), Interval(common.end, self.end))
        return tuple(part for part in parts if part.size)


def maximal_families(n_jobs: int, interval: Interval) -> list[Family]:
    """Maximal roots of an interval, in leaf order, found from its digits alone.

    They are the nodes to the right of the path of ``begin``, deepest level first, the
    nodes between both paths at the level where these part, and the nodes to the left
    of the path of ``end``, deepest level last: at most n a level and side.

    Parameters
    ----------
    n_jobs
        Number of jobs n.
    interval
        Neither empty nor the whole tree, whose root has no siblings.

    Raises
    ------
    ValueError
        If the interval ends after n!.
    """
    first = digits_of_leaf(n_jobs, interval.begin)
    if interval.end == n_leaves(n_jobs):  # n! has no path: one past the last child
        last = (n_jobs, *[0] * (n_jobs - 1))
    else:
        last = digits_of_leaf(n_jobs, interval.end)
    parting = next(i for i in range(n_jobs) if first[i] != last[i])
    # depth of the shallowest node whose first leaf is begin
    aligned = max((i + 1 for i in range(n_jobs) if first[i]), default=0)
    families = [
        # that node itself, then, above it, only what lies to the right of the path
        (first[:level], first[level] + (level < aligned - 1), n_jobs - level)
        for level in range(aligned - 1, parting, -1)
    ]
    start = first[parting] + (parting < aligned - 1)
    families.append((first[:parting], start, last[parting]))
    families += [(last[:level], 0, last[level]) for level in range(parting + 1, n_jobs)]
    return [family for family in families if family[1] < family[2]]
