"""Open nodes in bulk: batches of them, and the pool that they wait in.

A node is a permutation of all jobs (numbers in root order) whose first ``front`` and
last ``back`` jobs are fixed; those between are unscheduled, ascending. One bit a level
says on which side it took its job, so that its path can be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.kernels.compiling import entry, int64
from dpbb.tree.work_unit import WorkUnit

MOST_LEVELS = 4096
"""Bounds that the pool tells apart; beyond that, some share a level."""

BACK_BIT = 1 << 15
"""In the code of a child: it takes its job at the back. Its digit is below."""


class Batch(NamedTuple):
    """Some nodes of one tree, and what the pool has to know of them."""

    rows: NDArray[np.uint16]  # (r, n_jobs): permutations, jobs in root order
    front: NDArray[np.uint16]  # (r,): how many of the first jobs are fixed
    back: NDArray[np.uint16]  # (r,): and of the last
    sides: NDArray[np.uint64]  # (r, words): bit d is set if level d took the back
    bounds: NDArray[np.int32]  # (r,)

    @classmethod
    def empty(cls, n_jobs: int, count: int = 0) -> Batch:
        """Room for nodes."""
        return cls(
            np.empty((count, n_jobs), np.uint16),
            np.empty(count, np.uint16),
            np.empty(count, np.uint16),
            np.empty((count, -(-n_jobs // 64)), np.uint64),
            np.empty(count, np.int32),
        )

    @classmethod
    def root(cls, n_jobs: int) -> Batch:
        """Return the tree's root, with the bound 0: it is always decomposed."""
        batch = cls.empty(n_jobs, 1)
        batch.rows[0] = np.arange(n_jobs)
        for part in batch[1:]:
            part[:] = 0
        return batch

    @classmethod
    def concatenate(cls, batches: Sequence[Batch]) -> Batch:
        """Nodes of several batches, one batch after the other."""
        if len(batches) == 1:
            return batches[0]
        return cls(*(np.concatenate(parts) for parts in zip(*batches, strict=True)))

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.front)

    @property
    def depths(self) -> NDArray[np.int64]:
        """Number of scheduled jobs of each node."""
        return self.front.astype(np.int64) + self.back

    def take(self, index: Any) -> Batch:  # numbers, mask or slice
        """Return some of the nodes."""
        return Batch(*(part[index] for part in self))

    def children(
        self,
        parent: NDArray[np.integer[Any]],
        code: NDArray[np.uint16],
        bounds: NDArray[np.int32],
    ) -> Batch:
        """Return children of the nodes.

        Parameters
        ----------
        parent, code, bounds : shape (r,)
            Number of the node; digit of the child, with ``BACK_BIT`` if it takes its
            job at the back; its bound.
        """
        found = self.take(parent)._replace(bounds=bounds)
        _move_jobs(found, code)
        return found

    def unit(self) -> tuple[WorkUnit, NDArray[np.intp]]:
        """Return the nodes as roots in leaf order, and which node each of them is."""
        n_jobs = self.rows.shape[1]
        depths = self.depths
        digits = np.zeros((self.size, max(1, int(depths.max(initial=0)))), np.uint16)
        _write_digits(self.rows, self.front, self.sides, depths, digits)
        return WorkUnit.from_table(n_jobs, depths, digits)


class NodePool:
    """Open nodes, taken by the least bound or by the greatest depth.

    They lie in one batch, in any order. For each level of bounds and each depth there
    is a list of their places.

    Parameters
    ----------
    least
        No bound is below it, but for the root's.
    ub
        Every bound is below it.
    """

    def __init__(self, n_jobs: int, least: int, ub: int) -> None:
        self._least = least
        self._width = max(1, -(-(ub - least) // MOST_LEVELS))
        levels = max(1, -(-(ub - least) // self._width))
        self._nodes = Batch.empty(n_jobs)
        self._free = np.empty(0, np.int64)  # places; the first n_free are free
        self._n_free = 0
        self._counts = np.zeros((levels, n_jobs), np.int64)
        self._lists: dict[tuple[int, int], list[NDArray[np.int64]]] = {}

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self._free) - self._n_free

    @property
    def least_bound(self) -> int | None:
        """Least bound of the nodes, None if there are none."""
        if not self.size:
            return None
        level = int(self._counts.any(axis=1).argmax())
        depths = np.flatnonzero(self._counts[level]).tolist()
        places = np.concatenate([p for d in depths for p in self._lists[level, d]])
        return int(self._nodes.bounds[places].min())

    def push(self, batch: Batch) -> None:
        """Add nodes."""
        if not batch.size:
            return
        places = self._reserve(batch.size)
        for own, new in zip(self._nodes, batch, strict=True):
            own[places] = new  # type: ignore[index]
        levels = (batch.bounds.astype(np.int64) - self._least) // self._width
        levels = levels.clip(0, len(self._counts) - 1)
        depths = batch.depths
        order = np.lexsort((depths, levels))
        places, levels, depths = places[order], levels[order], depths[order]
        is_next = [np.diff(part, prepend=-1) != 0 for part in (levels, depths)]
        firsts = np.flatnonzero(is_next[0] | is_next[1])
        keys = zip(levels[firsts].tolist(), depths[firsts].tolist(), strict=True)
        for key, some in zip(keys, np.split(places, firsts[1:]), strict=True):
            self._put(*key, some)

    def take(self, children: int, *, deepest: bool) -> Batch:
        """Remove nodes that have so many children together, or all.

        Those of the least bound, the deepest of them first; or the deepest, those of
        the least bound first. At least one, if there is one.
        """
        n_jobs = self._counts.shape[1]
        backwards = self._counts[:, ::-1]  # the deepest first
        if deepest:
            unscheduled, levels = np.nonzero(backwards.T)
        else:
            levels, unscheduled = np.nonzero(backwards)
        depths = n_jobs - 1 - unscheduled
        in_order, left = list[NDArray[np.int64]](), max(1, children)
        for level, depth in zip(levels.tolist(), depths.tolist(), strict=True):
            each = n_jobs - depth
            places = self._remove(level, depth, -(-left // each))
            in_order.append(places)
            left -= each * len(places)
            if left <= 0:
                break
        return self._released(in_order)

    def prune(self, ub: int) -> NDArray[np.int64]:
        """Drop the nodes whose bound is not below ``ub``, but never the root.

        Returns
        -------
        ndarray of int64, shape (n_jobs + 1,)
            How many at each depth.
        """
        n_jobs = self._counts.shape[1]
        closed = np.zeros(n_jobs + 1, np.int64)
        first = max(0, ub - self._least) // self._width
        for level, depth in [key for key in self._lists if key[0] >= first and key[1]]:
            places = self._remove(level, depth, int(self._counts[level, depth]))
            is_open = self._nodes.bounds[places] < ub
            if is_open.any():
                self._put(level, depth, places[is_open])
            gone = places[~is_open]
            closed[depth] += len(gone)
            self._release(gone)
        return closed

    def all(self) -> Batch:
        """Return all nodes; they stay."""
        every = [places for some in self._lists.values() for places in some]
        return self._nodes.take(np.concatenate([np.zeros(0, np.int64), *every]))

    def clear(self) -> None:
        """Drop all nodes."""
        self._n_free = len(self._free)
        self._free = np.arange(self._n_free)
        self._counts[:] = 0
        self._lists.clear()

    def _put(self, level: int, depth: int, places: NDArray[np.int64]) -> None:
        self._lists.setdefault((level, depth), []).append(places)
        self._counts[level, depth] += len(places)

    def _remove(self, level: int, depth: int, most: int) -> NDArray[np.int64]:
        """Take places off a list that has some, those added last."""
        places = np.concatenate(self._lists.pop((level, depth)))
        kept = max(0, len(places) - most)
        self._counts[level, depth] = 0
        if kept:
            self._put(level, depth, places[:kept])
        return places[kept:]

    def _reserve(self, count: int) -> NDArray[np.int64]:
        """Return places for nodes; half as many more where none are left."""
        missing, had = count - self._n_free, len(self._free)
        if missing > 0:
            more = max(missing, had // 2)
            n_jobs = self._counts.shape[1]
            self._nodes = Batch.concatenate([self._nodes, Batch.empty(n_jobs, more)])
            self._free = np.concatenate([np.arange(had, had + more), self._free])
            self._n_free += more
        self._n_free -= count
        return self._free[self._n_free : self._n_free + count].copy()

    def _release(self, places: NDArray[np.int64]) -> None:
        self._free[self._n_free : self._n_free + len(places)] = places
        self._n_free += len(places)

    def _released(self, lists: list[NDArray[np.int64]]) -> Batch:
        """Return the nodes at some places, which are free from now on."""
        places = np.concatenate([np.zeros(0, np.int64), *lists])
        self._release(places)
        return self._nodes.take(places)


@entry
def _move_jobs(children: Batch, code: NDArray[np.uint16]) -> None:
    """Have every node, which is a copy of its parent, take the job of a code."""
    n_jobs = children.rows.shape[1]
    for child in range(len(code)):
        row = children.rows[child]
        first, behind = int64(children.front[child]), int64(children.back[child])
        place = first + (int64(code[child]) & int64(BACK_BIT - 1))
        job = row[place]
        if int64(code[child]) & int64(BACK_BIT):
            last = n_jobs - 1 - behind
            for i in range(place, last):
                row[i] = row[i + 1]
            row[last] = job
            children.back[child] = behind + 1
            depth = first + behind
            children.sides[child, depth >> 6] |= np.uint64(1) << np.uint64(depth & 63)
        else:
            for i in range(place, first, -1):
                row[i] = row[i - 1]
            row[first] = job
            children.front[child] = first + 1


@entry
def _write_digits(
    rows: NDArray[np.uint16],
    front: NDArray[np.uint16],
    sides: NDArray[np.uint64],
    depths: NDArray[np.int64],
    digits: NDArray[np.uint16],
) -> None:
    """Write the path of each node: the rank of every job among those then left."""
    n_jobs = rows.shape[1]
    taken = np.zeros(n_jobs, np.bool_)
    for node in range(len(depths)):
        taken[:] = False
        ahead = behind = int64(0)
        for level in range(depths[node]):
            word = sides[node, level >> 6] >> np.uint64(level & 63)
            if word & np.uint64(1):
                behind += 1
                job = int64(rows[node, n_jobs - behind])
            else:
                job = int64(rows[node, ahead])
                ahead += 1
            rank = job
            for other in range(job):
                if taken[other]:
                    rank -= 1
            taken[job] = True
            digits[node, level] = rank
