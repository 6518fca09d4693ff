"""Work units: ordered sets of disjoint roots of one tree.

Ordered by first leaf is ordered lexicographically by zero-padded path, so order,
disjointness and containment are comparisons of digits; and a sum of leaves needs only
how many roots there are at each depth. No leaf index is built on any of these ways.

Paths are *packed*: each is without the prefix that it shares with the one before.
Depth-first engines export roots that hang off a few long paths, so a unit of 16,384
roots of 100 jobs takes about a tenth of its digits. The arrays are plain uint8, or
uint16 with more than 256 jobs, and carry no code: they go into messages and
checkpoints as they are. Compiled code (``packed_paths``) goes over them.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.tree.counters import closed_leaves

Narrow = NDArray[np.unsignedinteger[Any]]
"""A column of packed paths: uint8 or uint16, as ``narrow`` says."""


class Packed(NamedTuple):
    """Ordered, disjoint paths, each without the prefix that it shares with the last.

    Parameters
    ----------
    depths, shared : ndarray of uint8 or uint16, shape (r,)
        Length of each path, and of that prefix.
    tails : ndarray of uint8 or uint16, shape (t,)
        The digits from ``shared`` to ``depth`` of all paths, end to end.
    """

    depths: Narrow
    shared: Narrow
    tails: Narrow


KEYS = Packed._fields


def narrow(n_jobs: int) -> type[np.uint8 | np.uint16]:
    """Type of depths and digits of a tree."""
    return np.uint8 if n_jobs <= 256 else np.uint16


def column(arrays: Mapping[str, NDArray[Any]], key: str, n_jobs: int) -> Narrow:
    """Return one array of packed paths that came from outside, in the type of its tree.

    ValueError: it is none, or has numbers that are too large.
    """
    if key not in arrays:
        raise ValueError(f"expected arrays {', '.join(KEYS)}, got no {key!r}")
    array = np.asarray(arrays[key])
    if array.ndim != 1 or array.dtype not in (np.uint8, np.uint16):
        raise ValueError(
            f"expected {key!r} as a uint8 or uint16 array of one dimension, "
            f"got {array.dtype} of {array.ndim}"
        )
    kind = narrow(n_jobs)
    if array.dtype == np.uint16 and np.any(array > np.iinfo(kind).max):
        raise ValueError(f"expected {key!r} of {n_jobs} jobs, got {array.max()}")
    return array.astype(kind, copy=False)


class WorkUnit:
    """An ordered set of disjoint roots of one tree; it never changes.

    Paths are held as they travel: a seat may hold millions of roots, a few bytes each.

    Parameters
    ----------
    n_jobs
        Jobs of the tree.
    paths
        The roots; trusted. ``from_arrays`` is for what comes from outside.
    """

    __slots__ = ("_zeros", "n_jobs", "paths")

    def __init__(self, n_jobs: int, paths: Packed) -> None:
        self.n_jobs = n_jobs
        self.paths = paths
        self._zeros: int | None = None  # trailing zeros, of checked paths

    # -- construction -----------------------------------------------------------

    @classmethod
    def empty(cls, n_jobs: int) -> WorkUnit:
        """No roots."""
        return cls(n_jobs, Packed(*np.zeros((3, 0), narrow(n_jobs))))

    @classmethod
    def whole(cls, n_jobs: int) -> WorkUnit:
        """Return the tree's root: all n! leaves."""
        zero = np.zeros(1, narrow(n_jobs))
        return cls(n_jobs, Packed(zero, zero, zero[:0]))

    @classmethod
    def from_paths(cls, n_jobs: int, paths: Iterable[Sequence[int]]) -> WorkUnit:
        """Roots from paths in any order; raises ValueError if they overlap."""
        depths, shared, tails = list[int](), list[int](), list[int]()
        before: tuple[int, ...] = ()
        for path in sorted(tuple(int(v) for v in path) for path in paths):
            keeps, least = 0, min(len(before), len(path))
            while keeps < least and path[keeps] == before[keeps]:
                keeps += 1
            depths.append(len(path))
            shared.append(keeps)
            tails += path[keeps:]
            before = path
        try:
            columns = [np.array(x, narrow(n_jobs)) for x in (depths, shared, tails)]
        except OverflowError as error:
            raise ValueError(f"expected digits below {n_jobs}: {error}") from error
        return cls.from_arrays(n_jobs, dict(zip(KEYS, columns, strict=True)))

    @classmethod
    def from_table(
        cls, n_jobs: int, depths: NDArray[Any], digits: NDArray[np.uint16]
    ) -> tuple[WorkUnit, NDArray[np.intp]]:
        """Roots from a table of their paths, trusted to be disjoint.

        Parameters
        ----------
        depths : ndarray of integers, shape (r,)
        digits : ndarray of uint16, shape (r, w)
            Paths in any order, padded with zeros.

        Returns
        -------
        unit : WorkUnit
        order : ndarray of intp, shape (r,)
            Row of each root.
        """
        kind = narrow(n_jobs)
        digits = digits[:, : max(1, int(depths.max(initial=0)))]
        order = np.argsort(_sort_keys(digits.astype(kind)), kind="stable")
        depths = np.asarray(depths[order], kind)
        table = np.asarray(digits[order], np.uint16)
        shared, tails = np.empty_like(depths), np.empty(int(depths.sum()), kind)
        length = _compiled().gather(depths, table, shared, tails)
        return cls(n_jobs, Packed(depths, shared, tails[:length].copy())), order

    @classmethod
    def concatenate(cls, units: Sequence[WorkUnit]) -> WorkUnit:
        """Roots of several units of one tree, each in order, all put in order.

        They must be disjoint; where they are not, ``check`` says so of the result.
        """
        if not units:
            raise ValueError("expected at least one work unit, got none")
        for unit in units[1:]:
            units[0]._check_same_tree(unit)
        some = sorted(units, key=len)
        while len(some) > 1:  # always the two smallest ones
            one, two, *some = some
            bisect.insort(some, one._merged(two), key=len)
        return some[0]

    def _merged(self, other: WorkUnit) -> WorkUnit:
        if not len(self):
            return other
        kind, n_rows = narrow(self.n_jobs), len(self) + len(other)
        # a path may share less with a new neighbour than with its old one
        most = int(self.depths.sum()) + int(other.depths.sum())
        both = Packed(*(np.empty(size, kind) for size in (n_rows, n_rows, most)))
        length = _compiled().merge(self.paths, other.paths, both)
        tails = both.tails[:length].copy()
        return WorkUnit(self.n_jobs, both._replace(tails=tails))

    # -- what it is -------------------------------------------------------------

    @property
    def depths(self) -> Narrow:
        """Depth of each root; uint8 or uint16, shape (r,)."""
        return self.paths.depths

    @property
    def digits(self) -> NDArray[np.uint16]:
        """Paths, padded with zeros; a new table, uint16, shape (r, w)."""
        width = max(1, int(self.depths.max(initial=0)))
        table = np.zeros((len(self), width), np.uint16)
        if len(self.paths.tails):
            _compiled().spread(self.paths, table)
        return table

    def __len__(self) -> int:
        return len(self.depths)

    def __repr__(self) -> str:
        return f"<WorkUnit of {len(self)} roots of {self.n_jobs} jobs>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WorkUnit):
            return NotImplemented
        return self.n_jobs == other.n_jobs and all(
            map(np.array_equal, self.paths, other.paths)
        )

    __hash__ = None  # type: ignore[assignment]

    def path(self, index: int) -> tuple[int, ...]:
        """Path of one root."""
        row = range(len(self))[index]
        return tuple(self.take(slice(row, row + 1)).paths.tails.tolist())

    def roots(self) -> list[tuple[int, ...]]:
        """Paths of all roots: for small units, tests and people.

        Entry i is the child taken at depth i: unscheduled jobs are kept in ascending
        root order, and digit v takes the v-th of those left. On which side it is put
        does not enter the digits.
        """
        path: list[int] = []
        found, at = [], 0
        tails = self.paths.tails.tolist()
        for depth, keeps in zip(
            self.depths.tolist(), self.paths.shared.tolist(), strict=True
        ):
            path[keeps:] = tails[at : at + depth - keeps]
            at += depth - keeps
            found.append(tuple(path))
        return found

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
        """Sum over the roots of the trailing zero digits of their paths (law 4)."""
        self.check()
        return self._zeros or 0

    # -- checks -----------------------------------------------------------------

    def check(self) -> None:
        """Raise ValueError unless this is an ordered set of disjoint roots."""
        if self._zeros is not None:
            return
        if len(self) < 2 and not self.depths.any():  # none, or the whole tree
            self._zeros = 0  # at once: loading what is compiled takes a second
            return
        packed_paths = _compiled()
        verdict, row, zeros = packed_paths.survey(self.paths, self.n_jobs)
        if verdict == packed_paths.OUT_OF_ORDER:
            raise ValueError(
                f"expected roots in leaf order, none inside another, got root {row} "
                "after the one before it"
            )
        if verdict == packed_paths.OUT_OF_RANGE:
            raise ValueError(f"root {row}: expected digits of {self.n_jobs} jobs")
        self._zeros = int(zeros)

    def is_ordered_and_disjoint(self) -> bool:
        """Whether every root ends before the next begins; see ``check``."""
        try:
            self.check()
        except ValueError:
            return False
        return True

    def _check_same_tree(self, other: WorkUnit) -> None:
        if self.n_jobs != other.n_jobs:
            raise ValueError(
                f"expected a work unit of {self.n_jobs} jobs, got {other.n_jobs}"
            )

    def covered_by(self, other: WorkUnit) -> NDArray[np.bool_]:
        """For every root of this unit whether it lies inside a root of ``other``."""
        return self._home_in(other) >= 0

    def _home_in(self, other: WorkUnit) -> NDArray[np.int64]:
        """Index of the root of ``other`` that each root lies inside, else -1."""
        self._check_same_tree(other)
        homes = np.zeros(len(self), np.int64)
        whole = len(other) == 1 and not other.depths.any()
        if len(self) and not whole:  # else at once: see ``check``
            _compiled().find_homes(self.paths, other.paths, homes)
        return homes

    # -- set operations ---------------------------------------------------------

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_] | slice) -> WorkUnit:
        """Return the selected roots; numbers have to ascend."""
        rows = np.arange(len(self))[index]
        if np.any(rows[1:] <= rows[:-1]):
            raise ValueError("expected roots to take in leaf order, each once")
        depths = self.depths[rows]
        shared, tails = np.empty_like(depths), np.empty(int(depths.sum()), depths.dtype)
        length = _compiled().select(self.paths, rows, shared, tails)
        return WorkUnit(self.n_jobs, Packed(depths, shared, tails[:length].copy()))

    def subtract(self, other: WorkUnit) -> WorkUnit:
        """Return the maximal roots of what is left of each root.

        Level by level: what ``other`` covers goes, what it does not touch stays, and
        what it touches in part is replaced by its children.
        """
        parts = [WorkUnit.empty(self.n_jobs)]
        rest = self
        while len(rest):
            rest = rest.take(~rest.covered_by(other))
            homes = other._home_in(rest)
            touched = np.zeros(len(rest), np.bool_)
            touched[homes[homes >= 0]] = True
            parts.append(rest.take(~touched))
            rest = rest.take(touched)._children()
        return WorkUnit.concatenate(parts)

    def expand(self, index: int) -> WorkUnit:
        """Replace one root by all its children; by arithmetic alone, nothing visited.

        A root with a single leaf has none and is kept.
        """
        index = range(len(self))[index]
        if self.depths[index] >= self.n_jobs - 1:
            return self
        chosen = np.arange(len(self)) == index
        return WorkUnit.concatenate([self.take(~chosen), self.take(chosen)._children()])

    def _children(self) -> WorkUnit:
        """Return the children of all roots; none of them may be a leaf."""
        depths = self.depths.astype(np.intp)
        counts = self.n_jobs - depths
        parent = np.repeat(np.arange(len(self)), counts)
        digits = np.pad(self.digits, ((0, 0), (0, 1)))[parent]
        first_row = np.repeat(np.cumsum(counts) - counts, counts)
        row = np.arange(len(parent))
        digits[row, depths[parent]] = row - first_row
        return WorkUnit.from_table(self.n_jobs, depths[parent] + 1, digits)[0]

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

    @classmethod
    def from_arrays(cls, n_jobs: int, arrays: Mapping[str, NDArray[Any]]) -> WorkUnit:
        """Return the unit of these paths; raises ValueError if damaged."""
        unit = cls.from_arrays_unchecked(n_jobs, arrays)
        unit.check()
        return unit

    @classmethod
    def from_arrays_unchecked(
        cls, n_jobs: int, arrays: Mapping[str, NDArray[Any]]
    ) -> WorkUnit:
        """Roots of any order and digits: whoever goes on with them calls ``check``.

        Raises
        ------
        ValueError
            The arrays do not fit together, and no paths can be read from them.
        """
        paths = Packed(*(column(arrays, key, n_jobs) for key in KEYS))
        depths, shared, tails = paths
        if len(shared) != len(depths):
            raise ValueError(
                f"expected {len(depths)} shared lengths, got {len(shared)}"
            )
        if np.any(depths >= n_jobs):
            raise ValueError(f"expected depths < {n_jobs}, got {depths.max()}")
        before = np.concatenate([np.zeros(1, depths.dtype), depths[:-1]])
        if np.any(shared > np.minimum(before[: len(depths)], depths)):
            raise ValueError("expected shared prefixes no longer than either path")
        length = int(depths.sum()) - int(shared.sum())
        if length != len(tails):
            raise ValueError(f"expected {length} digits, got {len(tails)}")
        return cls(n_jobs, paths)


def _compiled() -> ModuleType:
    """Return what goes over paths; it imports Numba, when there is a first unit."""
    from dpbb.tree import packed_paths

    return packed_paths


def _sort_keys(digits: Narrow) -> NDArray[np.bytes_]:
    """Rows as byte strings that sort as the rows do.

    Bytes, or big-endian where a digit may need two; NumPy's S dtype compares as if
    padded with zeros, as paths are.
    """
    rows, width = digits.shape
    keys = np.ascontiguousarray(digits, digits.dtype.newbyteorder(">"))
    return keys.view(f"S{keys.itemsize * width}").reshape(rows)
