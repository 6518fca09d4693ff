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

from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.pool_models import BACK_BIT, Nodes
from dpbb.tree.work_unit import WorkUnit

MOST_LEVELS = 4096
"""Bounds that the pool tells apart; beyond that, some share a level."""

PAGE_BYTES = 4096
"""About the rows of a page: memory is faster where nodes lie side by side."""

FIRST_PAGES = 256
"""Pages that a pool has room for at first."""

NONE = -1
"""End of a list of pages."""


class Batch(NamedTuple):
    """Some nodes of one tree: ``Nodes``, and what the pool has to know of them."""

    rows: NDArray[np.uint16]
    front: NDArray[np.uint16]
    back: NDArray[np.uint16]
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
    def nodes(self) -> Nodes:
        """What a model takes of them."""
        return Nodes(self.rows, self.front, self.back)

    @property
    def depths(self) -> NDArray[np.int64]:
        """Number of scheduled jobs of each node."""
        return self.front.astype(np.int64) + self.back

    def take(self, index: Any) -> Batch:  # numbers, mask or slice
        """Return some of the nodes."""
        return Batch(*(part[index] for part in self))

    def firsts(self, kinds: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which children are no copies: they take the first of equal jobs.

        Parameters
        ----------
        kinds : ndarray of int64, shape (n,)
            Of the jobs in root order, in which equal ones are neighbors.

        Returns
        -------
        ndarray of bool, shape (r, n)
            By number of the node and digit.
        """
        n_jobs = self.rows.shape[1]
        places = self.front[:, None].astype(np.intp) + np.arange(n_jobs)
        jobs = np.take_along_axis(self.rows, places.clip(max=n_jobs - 1), axis=1)
        firsts = np.ones(jobs.shape, bool)
        firsts[:, 1:] = np.diff(kinds[jobs], axis=1) != 0
        return firsts

    def unit(self) -> tuple[WorkUnit, NDArray[np.intp]]:
        """Return the nodes as roots in leaf order, and which node each of them is."""
        n_jobs = self.rows.shape[1]
        depths = self.depths
        digits = np.zeros((self.size, max(1, int(depths.max(initial=0)))), np.uint16)
        _write_digits(self.rows, self.front, self.sides, depths, digits)
        return WorkUnit.from_table(n_jobs, depths, digits)


class _Lists(NamedTuple):
    """The pool's nodes in lists of pages, one for each level of bounds and each depth.

    Slots of page p begin at p * PAGE. Nodes come and go at the first page of a list.
    """

    slots: Batch
    next: NDArray[np.int64]  # (pages,): page after each one in its list
    fill: NDArray[np.int64]  # (pages,): number of nodes
    first: NDArray[np.int64]  # (levels, n): first page of each list
    at_level: NDArray[np.int64]  # (levels,): number of nodes
    at_depth: NDArray[np.int64]  # (n,)
    control: NDArray[np.int64]  # FREE, SIZE, PAGE


FREE, SIZE, PAGE = range(3)
"""First page that is free, number of nodes, slots of a page."""


class NodePool:
    """Open nodes, taken by the least bound or by the greatest depth.

    Parameters
    ----------
    least
        No bound is below it, but for the root's.
    ub
        Every bound is below it.
    """

    def __init__(self, n_jobs: int, least: int, ub: int) -> None:
        self._n_jobs, self._least = n_jobs, least
        self._width = max(1, -(-(ub - least) // MOST_LEVELS))
        levels = max(1, -(-(ub - least) // self._width))
        self._lists = _Lists(
            Batch.empty(n_jobs, 0),
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.full((levels, n_jobs), NONE),
            np.zeros(levels, np.int64),
            np.zeros(n_jobs, np.int64),
            np.array([NONE, 0, max(1, PAGE_BYTES // (2 * n_jobs))], np.int64),
        )

    @property
    def size(self) -> int:
        """Number of nodes."""
        return int(self._lists.control[SIZE])

    @property
    def least_bound(self) -> int | None:
        """Least bound of the nodes, None if there are none."""
        if not self.size:
            return None
        return int(_least_bound(self._lists))

    def push(self, batch: Batch) -> None:
        """Add nodes."""
        done = 0
        while done < batch.size:
            done = int(_push(self._lists, batch, done, self._least, self._width))
            if done < batch.size:
                self._grow()

    def take(self, children: int, *, deepest: bool) -> Batch:
        """Remove nodes that have so many children together, or all.

        Those of the least bound, the deepest of them first; or the deepest, those of
        the least bound first. At least one, if there is one.
        """
        most = min(self.size, max(1, children))
        batch = Batch.empty(self._n_jobs, most)
        count = int(_take(self._lists, batch, children, deepest))
        return batch.take(slice(count))

    def prune(self, ub: int) -> NDArray[np.int64]:
        """Drop the nodes whose bound is not below ``ub``.

        Returns
        -------
        ndarray of int64, shape (n_jobs + 1,)
            How many at each depth.
        """
        closed = np.zeros(self._n_jobs + 1, np.int64)
        first_level = max(0, ub - self._least) // self._width
        _prune(self._lists, first_level, ub, closed)
        return closed

    def all(self) -> Batch:
        """Return all nodes; they stay."""
        batch = Batch.empty(self._n_jobs, self.size)
        _copy_all(self._lists, batch)
        return batch

    def clear(self) -> None:
        """Drop all nodes."""
        _clear(self._lists)

    def _grow(self) -> None:
        """Make room for half as many pages more, as none is free."""
        old = self._lists
        count, page = len(old.next), int(old.control[PAGE])
        larger = max(FIRST_PAGES, count * 3 // 2)
        slots = Batch.empty(self._n_jobs, larger * page)
        for new, part in zip(slots, old.slots, strict=True):
            new[: count * page] = part  # type: ignore[index]
        following = np.arange(1, larger + 1)  # the new ones are free, one after another
        following[:count] = old.next
        following[-1] = NONE
        fill = np.zeros(larger, np.int64)
        fill[:count] = old.fill
        old.control[FREE] = count
        self._lists = old._replace(slots=slots, next=following, fill=fill)


@helper
def _copy(source: Batch, at: int, target: Batch, to: int) -> None:
    for i in range(source.rows.shape[1]):
        target.rows[to, i] = source.rows[at, i]
    for word in range(source.sides.shape[1]):
        target.sides[to, word] = source.sides[at, word]
    target.front[to] = source.front[at]
    target.back[to] = source.back[at]
    target.bounds[to] = source.bounds[at]


@helper
def _free(lists: _Lists, page: int) -> None:
    """Put a page that is in no list any longer among the free ones."""
    lists.next[page] = lists.control[FREE]
    lists.control[FREE] = page


@helper
def _count(lists: _Lists, level: int, depth: int, nodes: int) -> None:
    """Take note that a list has so many nodes more."""
    lists.control[SIZE] += nodes
    lists.at_level[level] += nodes
    lists.at_depth[depth] += nodes


@entry
def _push(lists: _Lists, batch: Batch, begin: int, least: int, width: int) -> int:
    """Add the nodes from ``begin`` on; returns the one that needs a page if none is."""
    levels, size = lists.first.shape[0], lists.control[PAGE]
    for index in range(begin, len(batch.front)):
        depth = int64(batch.front[index]) + int64(batch.back[index])
        level = (int64(batch.bounds[index]) - least) // width
        level = min(max(level, 0), levels - 1)
        page = lists.first[level, depth]
        if page == NONE or lists.fill[page] == size:
            after, page = page, lists.control[FREE]
            if page == NONE:
                return int(index)
            lists.control[FREE] = lists.next[page]
            lists.next[page] = after
            lists.fill[page] = 0
            lists.first[level, depth] = page
        _copy(batch, int64(index), lists.slots, page * size + lists.fill[page])
        lists.fill[page] += 1
        _count(lists, level, depth, int64(1))
    return len(batch.front)


@helper
def _take_list(
    lists: _Lists, batch: Batch, level: int, depth: int, count: int, children: int
) -> int:
    """Move nodes of a list to the batch while it has fewer children than these."""
    unscheduled = lists.first.shape[1] - depth
    before, size = count, lists.control[PAGE]
    page = lists.first[level, depth]
    while page != NONE and children > 0:
        lists.fill[page] -= 1
        _copy(lists.slots, page * size + lists.fill[page], batch, int64(count))
        count += 1
        children -= unscheduled
        if lists.fill[page] == 0:
            lists.first[level, depth] = lists.next[page]
            _free(lists, page)
            page = lists.first[level, depth]
    _count(lists, level, depth, int64(before - count))
    return count


@entry
def _take(lists: _Lists, batch: Batch, children: int, deepest: bool) -> int:
    levels, n_jobs = lists.first.shape
    count = left = int64(0)
    left = int64(children)
    for outer in range(n_jobs if deepest else levels):
        depth = n_jobs - 1 - outer
        if (lists.at_depth[depth] if deepest else lists.at_level[outer]) == 0:
            continue
        for inner in range(levels if deepest else n_jobs):
            level = int64(inner if deepest else outer)
            if not deepest:
                depth = n_jobs - 1 - inner
            before = count
            count = _take_list(lists, batch, level, int64(depth), count, left)
            left -= (count - before) * (n_jobs - depth)
            if left <= 0 or lists.control[SIZE] == 0:
                return int(count)
    return int(count)


@entry
def _prune(lists: _Lists, first_level: int, ub: int, closed: NDArray[np.int64]) -> None:
    """Drop the nodes of bounds that are too high, of the levels from one on."""
    levels, n_jobs = lists.first.shape
    size = lists.control[PAGE]
    for level in range(first_level, levels):
        if lists.at_level[level] == 0:
            continue
        for depth in range(1, n_jobs):  # the root is always decomposed
            page = lists.first[level, depth]
            dropped = int64(0)
            kept = int64(NONE)
            while page != NONE:
                following = lists.next[page]
                begin, fill = page * size, int64(0)
                for node in range(begin, begin + lists.fill[page]):
                    if lists.slots.bounds[node] < ub:
                        _copy(lists.slots, int64(node), lists.slots, begin + fill)
                        fill += 1
                dropped += lists.fill[page] - fill
                lists.fill[page] = fill
                if fill == 0:
                    _free(lists, page)
                else:
                    lists.next[page] = kept
                    kept = page
                page = following
            lists.first[level, depth] = kept
            closed[depth] += dropped
            _count(lists, int64(level), int64(depth), -dropped)


@entry
def _least_bound(lists: _Lists) -> int:
    """Least bound of the first level that has nodes."""
    levels, n_jobs = lists.first.shape
    size = lists.control[PAGE]
    for level in range(levels):
        if lists.at_level[level] == 0:
            continue
        least = int64(np.iinfo(np.int32).max)
        for depth in range(n_jobs):
            page = lists.first[level, depth]
            while page != NONE:
                for node in range(page * size, page * size + lists.fill[page]):
                    least = min(least, int64(lists.slots.bounds[node]))
                page = lists.next[page]
        return int(least)
    return NONE


@entry
def _copy_all(lists: _Lists, batch: Batch) -> None:
    levels, n_jobs = lists.first.shape
    size, count = lists.control[PAGE], int64(0)
    for level in range(levels):
        if lists.at_level[level] == 0:
            continue
        for depth in range(n_jobs):
            page = lists.first[level, depth]
            while page != NONE:
                for node in range(page * size, page * size + lists.fill[page]):
                    _copy(lists.slots, int64(node), batch, count)
                    count += 1
                page = lists.next[page]


@entry
def _clear(lists: _Lists) -> None:
    lists.first[:] = NONE
    lists.at_level[:] = 0
    lists.at_depth[:] = 0
    lists.control[SIZE] = 0
    lists.control[FREE] = NONE
    for page in range(len(lists.next) - 1, -1, -1):
        _free(lists, int64(page))


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


@entry
def make_children(
    parents: Batch,
    parent: NDArray[np.int32],
    code: NDArray[np.uint16],
    bounds: NDArray[np.int32],
    children: Batch,
) -> None:
    """Write children of nodes.

    Parameters
    ----------
    parent, code : shape (r,)
        Number of the node, and digit of the child; ``BACK_BIT`` is added at the back.
    """
    n_jobs = parents.rows.shape[1]
    for child in range(len(parent)):
        node = int64(parent[child])
        _copy(parents, node, children, int64(child))
        children.bounds[child] = bounds[child]
        first, behind = int64(parents.front[node]), int64(parents.back[node])
        place = first + (int64(code[child]) & int64(BACK_BIT - 1))
        job = parents.rows[node, place]
        if int64(code[child]) & int64(BACK_BIT):
            last = n_jobs - 1 - behind
            for i in range(place, last):
                children.rows[child, i] = parents.rows[node, i + 1]
            children.rows[child, last] = job
            children.back[child] = behind + 1
            depth = first + behind
            children.sides[child, depth >> 6] |= np.uint64(1) << np.uint64(depth & 63)
        else:
            for i in range(place, first, -1):
                children.rows[child, i] = parents.rows[node, i - 1]
            children.rows[child, first] = job
            children.front[child] = first + 1
