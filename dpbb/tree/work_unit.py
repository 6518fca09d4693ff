"""Work units: ordered sets of disjoint roots, held and checked in bulk.

A unit of 16,384 roots is two arrays, never 16,384 objects. Ordered by first leaf is
ordered lexicographically by zero-padded path, so order, disjointness and containment
are array comparisons of digits; and a sum of leaves needs only how many roots there
are at each depth. No leaf index is built on any of these ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpbb.tree.counters import closed_leaves
from dpbb.tree.factoradic import digits_of_leaf, n_leaves
from dpbb.tree.interval import Interval
from dpbb.tree.root import Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class WorkUnit:
    """An ordered set of disjoint roots of one tree.

    Parameters
    ----------
    n_jobs
        Number of jobs n of the tree.
    depths : ndarray of uint16, shape (r,)
        Depth of each root, 0 <= depth < n (0 allowed for n = 1).
    digits : ndarray of uint16, shape (r, w)
        Paths, padded with zeros to the width w >= every depth, w >= 1.

    Notes
    -----
    The constructor trusts its arguments; ``check`` is for what comes from outside.
    """

    n_jobs: int
    depths: NDArray[np.uint16]
    digits: NDArray[np.uint16]

    # -- construction -----------------------------------------------------------

    @classmethod
    def empty(cls, n_jobs: int) -> WorkUnit:
        """No roots."""
        return cls(n_jobs, np.zeros(0, np.uint16), np.zeros((0, 1), np.uint16))

    @classmethod
    def whole(cls, n_jobs: int) -> WorkUnit:
        """The tree's root: all n! leaves."""
        return cls(n_jobs, np.zeros(1, np.uint16), np.zeros((1, 1), np.uint16))

    @classmethod
    def from_paths(cls, n_jobs: int, paths: Iterable[Sequence[int]]) -> WorkUnit:
        """Roots from paths in any order; raises ValueError if they overlap."""
        rows = sorted(tuple(int(v) for v in path) for path in paths)
        if not rows:
            return cls.empty(n_jobs)
        depths = np.array([len(row) for row in rows], np.uint16)
        digits = np.zeros((len(rows), max(1, int(depths.max()))), np.uint16)
        for i, row in enumerate(rows):
            digits[i, : len(row)] = row
        unit = cls(n_jobs, depths, digits)
        unit.check()
        return unit

    @classmethod
    def from_interval(cls, n_jobs: int, interval: Interval) -> WorkUnit:
        """Return the maximal roots of a leaf interval, found from its digits alone.

        At most n roots a level and side: the nodes to the right of the path of
        ``begin``, the nodes between both paths at the level where they part, and
        the nodes to the left of the path of ``end``.
        """
        if interval.end > n_leaves(n_jobs):
            raise ValueError(f"expected an end <= {n_jobs}!, got {interval.end}")
        if not interval.size:
            return cls.empty(n_jobs)
        if interval.size == n_leaves(n_jobs):
            return cls.whole(n_jobs)
        first = np.array(digits_of_leaf(n_jobs, interval.begin), np.uint16)
        if interval.end == n_leaves(n_jobs):  # n! has no path: one past the last child
            last = np.zeros(n_jobs, np.uint16)
            last[0] = n_jobs
        else:
            last = np.array(digits_of_leaf(n_jobs, interval.end), np.uint16)
        parting = int(np.flatnonzero(first != last)[0])
        nonzero = np.flatnonzero(first)
        aligned = int(nonzero[-1]) + 1 if len(nonzero) else 0  # depth of begin's node
        families = []  # (path of the parent, first digit, end digit)
        if aligned > parting + 1:
            # begin's own node, then what lies to its right, deepest level first
            start = int(first[aligned - 1])
            families.append((first[: aligned - 1], start, n_jobs - aligned + 1))
            families += [
                (first[:level], int(first[level]) + 1, n_jobs - level)
                for level in range(aligned - 2, parting, -1)
            ]
            start = int(first[parting]) + 1
        else:
            start = int(first[parting])
        families.append((first[:parting], start, int(last[parting])))
        families += [
            (last[:level], 0, int(last[level])) for level in range(parting + 1, n_jobs)
        ]
        return cls._from_families(n_jobs, families)

    @classmethod
    def _from_families(
        cls, n_jobs: int, families: list[tuple[NDArray[np.uint16], int, int]]
    ) -> WorkUnit:
        """Roots from (parent path, first digit, end digit), in order."""
        families = [family for family in families if family[1] < family[2]]
        width = max(1, *(len(parent) + 1 for parent, _, _ in families))
        count = sum(end - start for _, start, end in families)
        depths = np.empty(count, np.uint16)
        digits = np.zeros((count, width), np.uint16)
        row = 0
        for parent, start, end in families:
            rows = slice(row, row + end - start)
            level = len(parent)
            depths[rows] = level + 1
            digits[rows, :level] = parent
            digits[rows, level] = np.arange(start, end)
            row = rows.stop
        return cls(n_jobs, depths, digits)

    @classmethod
    def concatenate(cls, units: Sequence[WorkUnit]) -> WorkUnit:
        """Roots of several units, put in order; they must be disjoint."""
        if not units:
            raise ValueError("expected at least one work unit, got none")
        width = max(unit.digits.shape[1] for unit in units)
        depths = np.concatenate([unit.depths for unit in units])
        digits = np.concatenate([unit._padded(width) for unit in units])
        order = np.argsort(_sort_keys(digits), kind="stable")
        return cls(units[0].n_jobs, depths[order], digits[order])

    # -- what it is -------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.depths)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WorkUnit):
            return NotImplemented
        width = max(self.digits.shape[1], other.digits.shape[1])
        return (
            self.n_jobs == other.n_jobs
            and np.array_equal(self.depths, other.depths)
            and np.array_equal(self._padded(width), other._padded(width))
        )

    __hash__ = None  # type: ignore[assignment]

    def path(self, index: int) -> tuple[int, ...]:
        """Path of one root."""
        return tuple(int(v) for v in self.digits[index, : self.depths[index]])

    def roots(self) -> list[Root]:
        """All roots as objects: for small units, tests and people."""
        return [Root(self.path(index)) for index in range(len(self))]

    @property
    def depth_counts(self) -> NDArray[np.int64]:
        """Number of roots at each depth; int64, shape (n_jobs + 1,)."""
        return np.bincount(self.depths, minlength=self.n_jobs + 1).astype(np.int64)

    @property
    def leaves(self) -> int:
        """Leaves below all roots, exactly."""
        return closed_leaves(self.depth_counts)

    @property
    def owned_ancestors(self) -> int:
        """Sum over the roots of the trailing zero digits of their paths (I4)."""
        columns = np.arange(1, self.digits.shape[1] + 1)
        last_nonzero = np.max((self.digits != 0) * columns, axis=1, initial=0)
        return int(self.depths.sum(dtype=np.int64) - last_nonzero.sum(dtype=np.int64))

    def intervals(self) -> list[Interval]:
        """Leaf intervals, adjoining ones merged: for small units and certificates."""
        merged: list[Interval] = []
        for root in self.roots():
            interval = root.interval(self.n_jobs)
            if merged and merged[-1].end == interval.begin:
                interval = Interval(merged.pop().begin, interval.end)
            merged.append(interval)
        return merged

    # -- checks -----------------------------------------------------------------

    def check(self) -> None:
        """Raise ValueError unless this is an ordered set of disjoint roots."""
        n_jobs, (rows, width) = self.n_jobs, self.digits.shape
        if len(self.depths) != rows:
            raise ValueError(f"expected {rows} depths, got {len(self.depths)}")
        if not rows:
            return
        deepest = int(self.depths.max())
        if deepest > min(width, max(0, n_jobs - 1)):
            raise ValueError(
                f"expected depths < {n_jobs} and <= {width}, got {deepest}"
            )
        columns = np.arange(width)
        inside = columns < self.depths[:, None]
        limit = np.where(inside, np.maximum(n_jobs - columns, 1), 1)
        if np.any(self.digits >= limit):
            row, column = np.argwhere(self.digits >= limit)[0]
            raise ValueError(
                f"root {row}, level {column}: expected a digit below "
                f"{limit[row, column]}, got {self.digits[row, column]}"
            )
        if not self.is_ordered_and_disjoint():
            raise ValueError("expected roots in leaf order, none inside another")

    def is_ordered_and_disjoint(self) -> bool:
        """Whether every root ends before the next begins.

        A root of depth d ends before the next begins iff the first digit in which
        the next one's path differs is larger and lies above depth d.
        """
        if len(self) < 2:
            return True
        before, after = self.digits[:-1], self.digits[1:]
        differs = before != after
        column = differs.argmax(axis=1)
        row = np.arange(len(before))
        return bool(
            np.all(differs[row, column])
            and np.all(after[row, column] > before[row, column])
            and np.all(column < self.depths[:-1])
        )

    def covered_by(self, other: WorkUnit) -> NDArray[np.bool_]:
        """For every root of this unit whether it lies inside a root of ``other``."""
        if not len(other) or not len(self):
            return np.zeros(len(self), np.bool_)
        width = max(self.digits.shape[1], other.digits.shape[1])
        mine, theirs = self._padded(width), other._padded(width)
        # the only candidate is the last root that does not begin after mine; of two
        # that begin together the shallower comes first only if they are disjoint
        at = np.searchsorted(_sort_keys(theirs), _sort_keys(mine), side="right") - 1
        found = at >= 0
        at = np.maximum(at, 0)
        above = np.arange(width) >= other.depths[at][:, None]
        same = np.all((mine == theirs[at]) | above, axis=1)
        return found & same & (other.depths[at] <= self.depths)

    def covers(self, other: WorkUnit) -> bool:
        """Whether every root of ``other`` lies inside a root of this unit."""
        return bool(np.all(other.covered_by(self)))

    # -- set operations ---------------------------------------------------------

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_] | slice) -> WorkUnit:
        """Return the selected roots."""
        return WorkUnit(self.n_jobs, self.depths[index], self.digits[index])

    def intersect(self, other: WorkUnit) -> WorkUnit:
        """Return the roots of the leaves in both units: of two nested, the deeper."""
        mine = self.take(self.covered_by(other))
        theirs = other.take(other.covered_by(self))
        return WorkUnit.concatenate(
            [mine, theirs.take(~theirs.covered_by(mine))] if len(mine) else [theirs]
        )

    def subtract(self, other: WorkUnit) -> WorkUnit:
        """Return the maximal roots of what is left of each root."""
        outside = ~self.covered_by(other)
        inner = other.take(other.covered_by(self))
        if not len(inner):
            return self.take(outside)
        parts = [self.take(outside & ~inner._inside_counts(self).astype(np.bool_))]
        broken = outside & inner._inside_counts(self).astype(np.bool_)
        for index in np.flatnonzero(broken):
            one = self.take(slice(index, index + 1))
            gap = one.roots()[0].interval(self.n_jobs)
            for taken in inner.take(inner.covered_by(one)).intervals():
                before, gap = (
                    Interval(gap.begin, taken.begin),
                    Interval(taken.end, gap.end),
                )
                parts.append(WorkUnit.from_interval(self.n_jobs, before))
            parts.append(WorkUnit.from_interval(self.n_jobs, gap))
        return WorkUnit.concatenate(parts)

    def _inside_counts(self, other: WorkUnit) -> NDArray[np.int64]:
        """For every root of ``other`` how many of this unit's roots lie inside it."""
        width = max(self.digits.shape[1], other.digits.shape[1])
        inside = self.covered_by(other)
        keys = _sort_keys(self._padded(width))[inside]
        at = np.searchsorted(_sort_keys(other._padded(width)), keys, side="right") - 1
        return np.bincount(at, minlength=len(other)).astype(np.int64)

    def expand(self, index: int) -> WorkUnit:
        """Replace one root by all its children; by arithmetic alone, nothing visited."""
        depth = int(self.depths[index])
        if depth >= self.n_jobs - 1:
            return self
        parent = self.digits[index, :depth]
        children = WorkUnit._from_families(
            self.n_jobs, [(parent, 0, self.n_jobs - depth)]
        )
        before, after = self.take(slice(0, index)), self.take(slice(index + 1, None))
        return WorkUnit.concatenate([before, children, after])

    def split(self, parts: int) -> list[WorkUnit]:
        """Cut into at most ``parts`` units of nearly the same number of roots.

        With fewer roots than parts, the largest roots are first replaced by their
        children. Neighbours in leaf order go to different units, as the sizes of
        neighbouring subtrees are alike.
        """
        if parts < 1:
            raise ValueError(f"expected at least 1 part, got {parts}")
        unit = self
        while 0 < len(unit) < parts:
            shallowest = int(unit.depths.argmin())
            if unit.depths[shallowest] >= unit.n_jobs - 1:
                break
            unit = unit.expand(shallowest)
        return [unit.take(slice(i, None, parts)) for i in range(min(parts, len(unit)))]

    def donate(self, max_roots: int) -> tuple[WorkUnit, WorkUnit]:
        """Give away every second root, the shallowest first when there are too many.

        Returns
        -------
        kept, given : WorkUnit
            ``given`` is empty when there are fewer than two roots.
        """
        index = np.arange(1, len(self), 2)
        if len(index) > max_roots:
            index = index[np.argsort(self.depths[index], kind="stable")[:max_roots]]
        given = np.zeros(len(self), np.bool_)
        given[index] = True
        return self.take(~given), self.take(given)

    # -- wire -------------------------------------------------------------------

    def to_arrays(self) -> dict[str, NDArray[np.uint16]]:
        """Compact form: every path without the prefix that it shares with the last.

        Returns
        -------
        dict
            ``depths`` and ``shared`` (uint16, shape (r,)) and ``tails`` (uint16,
            the digits from ``shared`` to ``depth`` of all roots on end).
        """
        shared = np.zeros(len(self), np.uint16)
        if len(self) > 1:
            differs = self.digits[:-1] != self.digits[1:]
            shared[1:] = np.minimum(differs.argmax(axis=1), self.depths[:-1])
        columns = np.arange(self.digits.shape[1])
        kept = (columns >= shared[:, None]) & (columns < self.depths[:, None])
        return {"depths": self.depths, "shared": shared, "tails": self.digits[kept]}

    @classmethod
    def from_arrays(cls, n_jobs: int, arrays: dict[str, NDArray[np.uint16]]) -> WorkUnit:
        """Inverse of ``to_arrays``; raises ValueError if damaged."""
        depths, shared, tails = (
            np.asarray(arrays[key], np.uint16) for key in ("depths", "shared", "tails")
        )
        if not len(depths):
            return cls.empty(n_jobs)
        lengths = depths.astype(np.int64) - shared
        if len(shared) != len(depths) or np.any(lengths < 0) or shared[0] != 0:
            raise ValueError("expected 0 <= shared <= depth for every root")
        if lengths.sum() != len(tails):
            raise ValueError(f"expected {lengths.sum()} digits, got {len(tails)}")
        if np.any(shared[1:] > depths[:-1]):
            raise ValueError("expected no longer shared prefix than the last root has")
        width = max(1, int(depths.max()))
        columns = np.arange(width)
        kept = (columns >= shared[:, None]) & (columns < depths[:, None])
        digits = np.zeros((len(depths), width), np.uint16)
        digits[kept] = tails
        # a digit not kept is that of the nearest root above that kept its level
        source = np.where(kept, np.arange(len(depths))[:, None], 0)
        np.maximum.accumulate(source, axis=0, out=source)
        digits = np.take_along_axis(digits, source, axis=0)
        digits[columns >= depths[:, None]] = 0
        unit = cls(n_jobs, depths, digits)
        unit.check()
        return unit

    def _padded(self, width: int) -> NDArray[np.uint16]:
        """Digits with at least ``width`` columns."""
        missing = width - self.digits.shape[1]
        return np.pad(self.digits, ((0, 0), (0, missing))) if missing > 0 else self.digits


def _sort_keys(digits: NDArray[np.uint16]) -> NDArray[np.bytes_]:
    """Rows as byte strings that sort as the rows do (big-endian; NumPy's S dtype
    compares as if padded with zeros, as paths are).
    """
    rows, width = digits.shape
    big_endian = np.ascontiguousarray(digits, ">u2")
    return big_endian.view(f"S{2 * width}").reshape(rows)
