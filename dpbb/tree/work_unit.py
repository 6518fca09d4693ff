"""Work units: ordered sets of disjoint roots, held and checked in bulk.

A unit of 16,384 roots is two arrays, never 16,384 objects. Ordered by first leaf is
ordered lexicographically by zero-padded path, so order, disjointness and containment
are array comparisons of digits; and a sum of leaves needs only how many roots there
are at each depth. No leaf index is built on any of these ways.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.tree.counters import closed_leaves
from dpbb.tree.packing import (
    KEYS,
    MANY_ROOTS,
    Narrow,
    Packed,
    column,
    narrow,
    pack,
    row_blocks,
    unpack,
)
from dpbb.tree.root import Root


class WorkUnit:
    """An ordered set of disjoint roots of one tree; it never changes.

    Parameters
    ----------
    depths : ndarray of uint16, shape (r,)
        Depth of each root, 0 <= depth < n (0 allowed for n = 1).
    digits : ndarray of uint16, shape (r, w)
        Paths, padded with zeros to the width w >= every depth, w >= 1.

    Notes
    -----
    The constructor trusts its arguments; ``check`` is for what comes from outside.
    Millions of roots from outside stay packed (``from_arrays``): ``digits`` is made
    whenever somebody asks for it, and the large questions are answered without it.
    """

    __slots__ = ("_digits", "_packed", "_zeros", "depths", "n_jobs")

    def __init__(
        self, n_jobs: int, depths: NDArray[np.uint16], digits: NDArray[np.uint16]
    ) -> None:
        self.n_jobs = n_jobs
        self.depths = depths
        self._digits: NDArray[np.uint16] | None = digits
        self._packed: Packed | None = None
        self._zeros: int | None = None  # trailing zeros, of checked packed paths

    @classmethod
    def of_packed(
        cls, n_jobs: int, depths: Narrow, shared: Narrow, tails: Narrow
    ) -> WorkUnit:
        """Roots in the compact form; they are trusted, as by the constructor."""
        unit = cls.empty(n_jobs)
        unit.depths = depths.astype(np.uint16, copy=False)
        unit._digits = None
        unit._packed = Packed(depths, shared, tails)
        return unit

    @property
    def digits(self) -> NDArray[np.uint16]:
        """Paths, padded with zeros; uint16, shape (r, w)."""
        if self._digits is not None or self._packed is None:
            assert self._digits is not None  # noqa: S101 - one of both is there
            return self._digits
        return self._table(np.arange(len(self)))

    def _table(self, rows: NDArray[np.intp]) -> NDArray[np.uint16]:
        """Paths of some of the packed roots, in ascending order; as ``digits``."""
        from dpbb.tree.packed_paths import spread

        assert self._packed is not None  # noqa: S101 - for mypy
        width = max(1, int(self.depths[rows].max(initial=0)))
        digits = np.empty((len(rows), width), np.uint16)
        spread(self._packed, rows, digits)
        return digits

    # -- construction -----------------------------------------------------------

    @classmethod
    def empty(cls, n_jobs: int) -> WorkUnit:
        """No roots."""
        return cls(n_jobs, np.zeros(0, np.uint16), np.zeros((0, 1), np.uint16))

    @classmethod
    def whole(cls, n_jobs: int) -> WorkUnit:
        """Return the tree's root: all n! leaves."""
        return cls(n_jobs, np.zeros(1, np.uint16), np.zeros((1, 1), np.uint16))

    @classmethod
    def from_paths(cls, n_jobs: int, paths: Iterable[Sequence[int]]) -> WorkUnit:
        """Roots from paths in any order; raises ValueError if they overlap."""
        rows = sorted(tuple(int(v) for v in path) for path in paths)
        lengths = [len(row) for row in rows]
        digits = np.zeros((len(rows), max([1, *lengths])), np.int64)
        try:
            for index, row in enumerate(rows):
                digits[index, : len(row)] = row
        except OverflowError as error:
            raise ValueError(f"expected digits below {n_jobs}") from error
        # checked in 64 bits: in 16 a digit of -1 or 65536 would pass for another
        _check_range(n_jobs, np.array(lengths, np.int64), digits)
        unit = cls(n_jobs, np.array(lengths, np.uint16), digits.astype(np.uint16))
        unit._check_order()
        return unit

    @classmethod
    def concatenate(cls, units: Sequence[WorkUnit]) -> WorkUnit:
        """Roots of several units of one tree, each in order, all put in order.

        They must be disjoint; where they are not, ``check`` says so of the result.
        """
        if not units:
            raise ValueError("expected at least one work unit, got none")
        for unit in units[1:]:
            units[0]._check_same_tree(unit)
        if sum(map(len, units)) >= MANY_ROOTS:
            return cls._merge(units)
        width = max(1, *(int(unit.depths.max(initial=0)) for unit in units))
        depths = np.concatenate([unit.depths for unit in units])
        digits = np.concatenate([unit._padded(width)[:, :width] for unit in units])
        order = np.argsort(sort_keys(units[0].n_jobs, digits), kind="stable")
        return cls(units[0].n_jobs, depths[order], digits[order])

    @classmethod
    def _merge(cls, units: Sequence[WorkUnit]) -> WorkUnit:
        """Put many roots in order, packed: always the two smallest units together."""
        from dpbb.tree.packed_paths import merge

        some = sorted(units, key=len)
        while len(some) > 1:
            one, two, *some = some
            if len(one) + len(two) < MANY_ROOTS:
                both = cls.concatenate([one, two])
            else:
                kind, n_rows = narrow(one.n_jobs), len(one) + len(two)
                # a path may share less with a new neighbour than with its old one
                most = int(one.depths.sum()) + int(two.depths.sum())
                sizes = n_rows, n_rows, most
                merged = Packed(*(np.empty(size, kind) for size in sizes))
                length = merge(one._compact(), two._compact(), merged)
                depths, shared, tails = merged
                both = cls.of_packed(one.n_jobs, depths, shared, tails[:length].copy())
            bisect.insort(some, both, key=len)
        return some[0]

    # -- what it is -------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.depths)

    def __repr__(self) -> str:
        return f"<WorkUnit of {len(self)} roots of {self.n_jobs} jobs>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WorkUnit):
            return NotImplemented
        if self.n_jobs != other.n_jobs or not np.array_equal(self.depths, other.depths):
            return False
        width = max(1, int(self.depths.max(initial=0)))  # beyond, all is zero
        return np.array_equal(
            self._padded(width)[:, :width], other._padded(width)[:, :width]
        )

    __hash__ = None  # type: ignore[assignment]

    def path(self, index: int) -> tuple[int, ...]:
        """Path of one root."""
        row = range(len(self))[index]
        digits = self._digits
        path = self._table(np.array([row]))[0] if digits is None else digits[row]
        return tuple(path[: self.depths[row]].tolist())

    def roots(self) -> list[Root]:
        """All roots as objects: for small units, tests and people."""
        rows = zip(self.digits.tolist(), self.depths.tolist(), strict=True)
        return [Root(tuple(row[:depth])) for row, depth in rows]

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
        if self._packed is not None:
            if self._zeros is None:
                self._survey()
            return self._zeros or 0
        width = self.digits.shape[1]
        total = int(self.depths.sum(dtype=np.int64)) - int(self.digits.size)  # padding
        for rows in row_blocks(len(self)):
            # from the end, so that the first hit is the last digit that is not zero
            is_nonzero = self.digits[rows, ::-1] != 0
            zeros = np.where(is_nonzero.any(axis=1), is_nonzero.argmax(axis=1), width)
            total += int(zeros.sum(dtype=np.int64))
        return total

    # -- checks -----------------------------------------------------------------

    def check(self) -> None:
        """Raise ValueError unless this is an ordered set of disjoint roots."""
        if self._packed is not None:
            self._survey()
            return
        for name, array, ndim in (
            ("depths", self.depths, 1),
            ("digits", self.digits, 2),
        ):
            if array.dtype != np.uint16 or array.ndim != ndim:
                raise ValueError(
                    f"expected {name} as uint16 of {ndim} dimensions, "
                    f"got {array.dtype} of {array.ndim}"
                )
        _check_range(self.n_jobs, self.depths, self.digits)
        self._check_order()

    def _survey(self) -> None:
        """Check packed paths, once; note their trailing zeros."""
        if self._zeros is not None or self._packed is None:
            return
        from dpbb.tree import packed_paths

        verdict, row, zeros = packed_paths.survey(self._packed, self.n_jobs)
        if verdict == packed_paths.OUT_OF_ORDER:
            raise ValueError(
                f"expected roots in leaf order, none inside another, got root {row} "
                "after the one before it"
            )
        if verdict == packed_paths.OUT_OF_RANGE:
            raise ValueError(f"root {row}: expected digits of {self.n_jobs} jobs")
        if verdict == packed_paths.DAMAGED:
            depths, shared, _ = self._packed
            raise ValueError(
                f"root {row}: expected a depth below {self.n_jobs} and a shared prefix "
                f"no longer than either path, got {depths[row]} and {shared[row]}, or "
                "another number of digits"
            )
        self._zeros = int(zeros)

    def _check_order(self) -> None:
        if not self.is_ordered_and_disjoint():
            raise ValueError("expected roots in leaf order, none inside another")

    def _check_same_tree(self, other: WorkUnit) -> None:
        if self.n_jobs != other.n_jobs:
            raise ValueError(
                f"expected a work unit of {self.n_jobs} jobs, got {other.n_jobs}"
            )

    def is_ordered_and_disjoint(self) -> bool:
        """Whether every root ends before the next begins.

        A root of depth d ends before the next begins iff the first digit in which
        the next one's path differs is larger and lies above depth d.
        """
        if self._packed is not None:
            try:
                self._survey()
            except ValueError:
                return False
            return True
        for rows in row_blocks(len(self) - 1):
            before = self.digits[rows]
            after = self.digits[rows.start + 1 : rows.stop + 1]
            differs = before != after
            column = differs.argmax(axis=1)
            row = np.arange(len(before))
            if not (
                np.all(differs[row, column])
                and np.all(after[row, column] > before[row, column])
                and np.all(column < self.depths[rows])
            ):
                return False
        return True

    def covered_by(self, other: WorkUnit) -> NDArray[np.bool_]:
        """For every root of this unit whether it lies inside a root of ``other``."""
        return self._home_in(other) >= 0

    def _home_in(self, other: WorkUnit) -> NDArray[np.intp]:
        """Index of the root of ``other`` that each root lies inside, else -1."""
        self._check_same_tree(other)
        if not len(other) or not len(self):
            return np.full(len(self), -1, np.intp)
        if max(len(self), len(other)) >= MANY_ROOTS:
            from dpbb.tree.packed_paths import find_homes

            homes = np.empty(len(self), np.int64)
            find_homes(self._compact(), other._compact(), homes)
            return homes
        width = max(self.digits.shape[1], other.digits.shape[1])
        mine, theirs = self._padded(width), other._padded(width)
        # the only candidate is the last root that does not begin after mine, as the
        # roots of one unit are disjoint
        theirs_keys = sort_keys(self.n_jobs, theirs)
        home = np.empty(len(self), np.intp)
        for rows in row_blocks(len(self)):
            mine_keys = sort_keys(self.n_jobs, mine[rows])
            at = np.searchsorted(theirs_keys, mine_keys, side="right") - 1
            depths = other.depths[at]  # at -1 is the last root, refused at the end
            below = np.arange(width, dtype=np.uint16) >= depths[:, None]
            inside = np.all((mine[rows] == theirs[at]) | below, axis=1)
            inside &= (depths <= self.depths[rows]) & (at >= 0)
            home[rows] = np.where(inside, at, -1)
        return home

    def covers(self, other: WorkUnit) -> bool:
        """Whether every root of ``other`` lies inside a root of this unit."""
        return bool(np.all(other.covered_by(self)))

    # -- set operations ---------------------------------------------------------

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_] | slice) -> WorkUnit:
        """Return the selected roots, in the order of the index."""
        if self._digits is None:
            rows = np.arange(len(self))[index]
            if np.all(rows[1:] > rows[:-1]):
                if len(rows) >= MANY_ROOTS:
                    return self._select(rows)
                return WorkUnit(self.n_jobs, self.depths[rows], self._table(rows))
        return WorkUnit(self.n_jobs, self.depths[index], self.digits[index])

    def _select(self, rows: NDArray[np.intp]) -> WorkUnit:
        """Return some of the packed roots, packed, in ascending order."""
        from dpbb.tree.packed_paths import select

        packed = self._compact()
        depths = packed.depths[rows]
        shared, tails = np.empty_like(depths), np.empty(int(depths.sum()), depths.dtype)
        length = select(packed, rows, shared, tails)
        return WorkUnit.of_packed(self.n_jobs, depths, shared, tails[:length].copy())

    def subtract(self, other: WorkUnit) -> WorkUnit:
        """Return the maximal roots of what is left of each root.

        Level by level: what ``other`` covers goes, what it does not touch stays, and
        what it touches in part is replaced by its children.
        """
        parts = []
        rest = self
        while len(rest):
            rest = rest.take(~rest.covered_by(other))
            homes = other._home_in(rest)
            touched = np.zeros(len(rest), np.bool_)
            touched[homes[homes >= 0]] = True
            parts.append(rest.take(~touched))
            rest = rest.take(touched)._children()
        return WorkUnit.concatenate([WorkUnit.empty(self.n_jobs), *parts])

    def expand(self, index: int) -> WorkUnit:
        """Replace one root by all its children; by arithmetic alone, nothing visited.

        A root with a single leaf has none and is kept.
        """
        index = range(len(self))[index]
        if self.depths[index] >= self.n_jobs - 1:
            return self
        return WorkUnit.concatenate(
            [
                self.take(slice(0, index)),
                self.take(slice(index, index + 1))._children(),
                self.take(slice(index + 1, None)),
            ]
        )

    def _children(self) -> WorkUnit:
        """Return the children of all roots; none of them may be a leaf."""
        depths = self.depths.astype(np.intp)
        counts = self.n_jobs - depths
        parent = np.repeat(np.arange(len(self)), counts)
        digits = self._padded(int(depths.max(initial=0)) + 1)[parent]
        first_row = np.repeat(np.cumsum(counts) - counts, counts)
        row = np.arange(len(parent))
        digits[row, depths[parent]] = row - first_row
        return WorkUnit(self.n_jobs, self.depths[parent] + np.uint16(1), digits)

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
        shallowest_first = np.argsort(self.depths[index], kind="stable")
        index = index[shallowest_first[: max(max_roots, 0)]]
        given = np.zeros(len(self), np.bool_)
        given[index] = True
        return self.take(~given), self.take(given)

    # -- wire -------------------------------------------------------------------

    def to_arrays(self) -> dict[str, Narrow]:
        """Compact form for messages and checkpoints; see ``dpbb.tree.packing``."""
        return self._compact()._asdict()

    @classmethod
    def from_arrays(cls, n_jobs: int, arrays: Mapping[str, NDArray[Any]]) -> WorkUnit:
        """Inverse of ``to_arrays``; raises ValueError if damaged."""
        unit = cls.from_arrays_unchecked(n_jobs, arrays)
        unit.check()
        return unit

    @classmethod
    def from_arrays_unchecked(
        cls, n_jobs: int, arrays: Mapping[str, NDArray[Any]]
    ) -> WorkUnit:
        """Roots as they came: whoever goes on with them calls ``check`` before."""
        depths, shared, tails = (column(arrays, key) for key in KEYS)
        if len(depths) < MANY_ROOTS:
            return cls(n_jobs, *unpack(n_jobs, arrays))
        if len(shared) != len(depths):
            raise ValueError(
                f"expected {len(depths)} shared lengths, got {len(shared)}"
            )
        return cls.of_packed(n_jobs, depths, shared, tails)

    def _compact(self) -> Packed:
        """Depths, lengths of shared prefixes, and tails."""
        kind = narrow(self.n_jobs)
        if self._packed is not None:
            packed = self._packed
        elif len(self) < MANY_ROOTS:
            packed = pack(self.depths, self.digits)
        else:
            from dpbb.tree.packed_paths import gather

            digits = self.digits
            shared, tails = np.empty(len(self), kind), np.empty(digits.size, kind)
            tails = tails[: gather(self.depths, digits, shared, tails)].copy()
            packed = Packed(self.depths, shared, tails)
        columns: Iterable[Narrow] = (np.asarray(part, kind) for part in packed)
        return Packed(*columns)

    def _padded(self, width: int) -> NDArray[np.uint16]:
        """Digits with at least ``width`` columns."""
        digits = self.digits
        missing = width - digits.shape[1]
        return np.pad(digits, ((0, 0), (0, missing))) if missing > 0 else digits


def sort_keys(n_jobs: int, digits: NDArray[np.uint16]) -> NDArray[np.bytes_]:
    """Rows as byte strings that sort as the rows do.

    Bytes, or big-endian where a digit may need two; NumPy's S dtype compares as if
    padded with zeros, as paths are. All of one tree get keys of one kind.
    """
    rows, width = digits.shape
    kind = "u1" if n_jobs <= 256 else ">u2"
    keys = np.ascontiguousarray(digits, kind)
    return keys.view(f"S{keys.itemsize * width}").reshape(rows)


def _check_range(n_jobs: int, depths: NDArray[Any], digits: NDArray[Any]) -> None:
    """Raise ValueError unless every path is one of the tree's."""
    rows, width = digits.shape
    if len(depths) != rows:
        raise ValueError(f"expected {rows} depths, got {len(depths)}")
    deepest = int(depths.max(initial=0))
    if deepest > min(width, n_jobs - 1):
        raise ValueError(f"expected depths < {n_jobs} and <= {width}, got {deepest}")
    columns = np.arange(width, dtype=depths.dtype)  # no wider: it takes half the time
    limits = np.maximum(n_jobs - np.arange(width), 1).astype(digits.dtype)
    for block in row_blocks(rows):
        some = digits[block]
        inside = columns < depths[block, None]
        wrong = some >= limits
        wrong |= (some != 0) & ~inside  # beyond the depth: zero
        if digits.dtype.kind == "i":
            wrong |= some < 0
        if np.any(wrong):
            limit = np.where(inside, limits, digits.dtype.type(1))
            row, column = np.argwhere(wrong)[0]
            raise ValueError(
                f"root {block.start + row}, level {column}: expected a digit below "
                f"{limit[row, column]}, got {some[row, column]}"
            )
