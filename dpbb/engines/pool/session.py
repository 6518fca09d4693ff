"""A session of the pool engine: one pool of open nodes, bounded in batches.

Source of the search: Melab, Chakroun, Mezmaz and Tuyttens, IEEE Cluster 2012; Chakroun,
Mezmaz, Melab and Bendjoudi, Concurrency and Computation 25(8), 2013. Best first while
the pool is small, deepest first from POOL_MAX open nodes down to POOL_MIN.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.base import HostSession, Slice
from dpbb.engines.pool.bounding import Brancher
from dpbb.engines.pool.nodes import BACK_BIT, Batch, NodePool
from dpbb.options import Selection, TreeOptions, Tuning
from dpbb.problem import Problem, costs_of, root_bound
from dpbb.tree.work_unit import WorkUnit

logger = logging.getLogger(__name__)

POOL_BYTES = 1 << 30
"""Memory of open nodes from which the search goes deepest first."""

MOST_NODES = 1 << 20
"""As many open nodes, at most: reports and checkpoints hold all of them."""

IN_FLIGHT = 2
"""Batches on their way at a time: the host takes in the children of one while those of
the other are bounded."""

BATCH_S = 0.02, 0.1
"""Where nobody says how large batches are: one that takes less is followed by one twice
as large, one that takes more by half of it. The end of a slice waits for a batch."""

LARGEST = 1 << 18
"""Children of the largest batch then; the founding papers' largest pool."""

ROOTS_AT_A_TIME = 1 << 15
"""Roots that are walked to together."""


Wanted = NDArray[np.bool_]
"""Which children are wanted, by number of the node and digit; shape (nodes, n_jobs)."""


class Bounded(NamedTuple):
    """Open children of a batch: which node of it each is of, and its digit."""

    children: Batch
    parent: NDArray[np.int32]
    digit: NDArray[np.int64]


class PoolSession(HostSession):
    """See ``dpbb.engines.base.Session``.

    Parameters
    ----------
    problem, tree, ub, all_optima
        As of ``HostSession``.
    brancher
        What bounds children.
    threads
        That call it; several batches are on their way at a time.
    """

    def __init__(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        brancher: Brancher,
        tuning: Tuning,
        ub: int,
        *,
        threads: int,
        all_optima: bool,
    ) -> None:
        super().__init__(problem, tree, ub, all_optima=all_optima)
        n_jobs = problem.n_jobs
        self._brancher = brancher
        self._all_threads = self._n_threads = threads
        self._threads = ThreadPoolExecutor(threads, "dpbb-pool")
        self._selection = tuning.selection or Selection.HYBRID
        node_bytes = 2 * n_jobs + 8 * -(-n_jobs // 64) + 16
        self._pool_max = min(MOST_NODES, POOL_BYTES // node_bytes)
        self._pool_min = self._pool_max // 2
        self._is_full = False
        self._size = tuning.pool_size or brancher.first_size * threads
        self._is_given = tuning.pool_size is not None
        self._pool = NodePool(n_jobs, root_bound(problem), ub)
        self._interrupted = threading.Event()

    def interrupt(self) -> None:
        """End the slice under way after the batches that are on their way."""
        self._interrupted.set()

    def advance(
        self, ub: int, max_seconds: float, most_roots: int | None = None
    ) -> Slice:
        """Bound batches for about ``max_seconds``, at least one."""
        deadline = time.perf_counter() + max_seconds
        if ub < self._ub:
            self._lower(ub)
        pending = self._take_pending()
        for begin in range(0, len(pending), ROOTS_AT_A_TIME):
            self._walk(pending.take(slice(begin, begin + ROOTS_AT_A_TIME)))
        flight: deque[tuple[Batch, Callable[[], Bounded]]] = deque()
        shrinks = most_roots is not None
        goes_on = True
        ended = time.perf_counter()
        while True:
            while goes_on and self._pool.size and len(flight) < IN_FLIGHT:
                parents = self._take(shrinks=shrinks)
                flight.append((parents, self._begin(parents, self._ub)))
            if not flight:
                break
            parents, result = flight.popleft()
            bounded = result()
            now = time.perf_counter()
            self._account(parents, bounded)
            self._resize(parents, now - ended)
            ended = now
            is_small = shrinks and self._pool.size <= (most_roots or 0)
            goes_on = now < deadline and not self._interrupted.is_set() and not is_small
        self._interrupted.clear()
        # the root's bound, 0, has not been computed
        return self._slice(self._pool.size, self._pool.least_bound or None)

    def donate(self, max_roots: int) -> WorkUnit:
        """Give every second open root away, shallow ones first if there are many."""
        nodes = self._pool.all()
        unit, order = nodes.unit()
        everything = WorkUnit.concatenate([unit, self._pending])
        _, given = everything.donate(max_roots)
        kept = ~unit.covered_by(given)
        if not kept.all():
            self._pool.clear()
            self._pool.push(nodes.take(order[kept]))
        self._pending = self._pending.take(~self._pending.covered_by(given))
        return given

    def remaining(self) -> WorkUnit:
        """All open roots."""
        unit, _ = self._pool.all().unit()
        return WorkUnit.concatenate([unit, self._pending])

    def use_threads(self, threads: int | None) -> None:
        """Use so many threads from the next slice on."""
        threads = self._all_threads if threads is None else max(1, threads)
        if threads != self._n_threads:
            self._threads.shutdown(wait=True)
            self._n_threads = threads
            self._threads = ThreadPoolExecutor(threads, "dpbb-pool")

    def close(self) -> None:
        """End the threads; memory of a device goes back with the brancher."""
        self._threads.shutdown(wait=True)

    # -- parts of a slice ---------------------------------------------------------

    def _take(self, *, shrinks: bool) -> Batch:
        """Take the next nodes off the pool."""
        size = self._pool.size
        if size >= self._pool_max and not self._is_full:
            self._is_full = True
            if self._selection is Selection.BEST:
                logger.warning(
                    "%d open nodes are as many as the memory for them holds: the "
                    "deepest come first until there are %d",
                    *(size, self._pool_min),
                )
        elif size <= self._pool_min:
            self._is_full = False
        deepest = shrinks or self._is_full or self._selection is Selection.DEPTH
        return self._pool.take(self._size, deepest=deepest)

    def _begin(
        self, parents: Batch, ub: int, wanted: Wanted | None = None
    ) -> Callable[[], Bounded]:
        """Begin with a batch; return what waits for its open children.

        Threads take a part each: small parts would wait for Python's lock. No thread
        waits for the last part, as the next batch is on its way.
        """
        size = max(self._brancher.least_part, -(-parents.size // self._n_threads))
        futures = [
            self._threads.submit(self._part, parents, begin, begin + size, ub, wanted)
            for begin in range(0, max(1, parents.size), size)
        ]

        def result() -> Bounded:
            parts = [part for future in futures for part in future.result()]
            return Bounded(
                Batch.concatenate([part.children for part in parts]),
                np.concatenate([part.parent for part in parts]),
                np.concatenate([part.digit for part in parts]),
            )

        return result

    def _part(
        self, parents: Batch, begin: int, end: int, ub: int, wanted: Wanted | None
    ) -> list[Bounded]:
        """Return the open children of some nodes, by halves where memory is short."""
        nodes = parents.take(slice(begin, end))
        try:
            parent, code, bounds = self._brancher.branch(nodes, ub)
        except MemoryError:
            half = begin + nodes.size // 2
            if half == begin:
                raise
            parts = ((begin, half), (half, end))
            found = [self._part(parents, *part, ub, wanted) for part in parts]
            return [*found[0], *found[1]]
        digit = (code & (BACK_BIT - 1)).astype(np.int64)
        if wanted is not None:
            keep = wanted[begin + parent, digit]
            parent, code, bounds = parent[keep], code[keep], bounds[keep]
            digit = digit[keep]
        children = nodes.children(parent, code, bounds)
        return [Bounded(children, parent + np.int32(begin), digit)]

    def _account(self, parents: Batch, bounded: Bounded) -> None:
        """Count what a batch did; open children go to the pool, leaves are visited."""
        n_jobs = self._problem.n_jobs
        depths, children = parents.depths, bounded.children
        self._decomposed += parents.size
        made = np.bincount(depths + 1, minlength=n_jobs + 1)
        made *= n_jobs + 1 - np.arange(n_jobs + 1)  # children of the depth above
        is_open = np.bincount(children.depths, minlength=n_jobs + 1)
        self._closed += made - is_open
        self._add(children)

    def _add(self, nodes: Batch) -> None:
        """Put open nodes into the pool, or close them; leaves are visited."""
        is_leaf = nodes.depths == self._problem.n_jobs - 1
        if is_leaf.any():
            self._visit(nodes.take(is_leaf))
            nodes = nodes.take(~is_leaf)
        is_late = nodes.bounds >= self._ub  # it has fallen since they were bounded
        if is_late.any():
            late = nodes.take(is_late)
            self._closed += self._count(late.depths)
            nodes = nodes.take(~is_late)
        self._pool.push(nodes)

    def _count(self, depths: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.bincount(depths, minlength=self._problem.n_jobs + 1)

    def _visit(self, leaves: Batch) -> None:
        """Evaluate leaves; take those that are better, or as good as the best."""
        count = leaves.size
        self._leaves += count
        self._closed[self._problem.n_jobs - 1] += count
        rows = self._order[leaves.rows]
        values = costs_of(self._problem, rows)
        for index in np.flatnonzero(values < self._ub).tolist():
            self._take_leaf(int(values[index]), rows[index])

    def _lower(self, ub: int) -> None:
        super()._lower(ub)
        self._closed += self._pool.prune(ub)

    def _resize(self, parents: Batch, seconds: float) -> None:
        """Choose the size of the next batch by the time from the last one's end on."""
        children = parents.size * self._problem.n_jobs - int(parents.depths.sum())
        if self._is_given or children < self._size // 2:
            return
        short, long = BATCH_S
        if seconds < short:
            self._size = min(2 * self._size, LARGEST)
        elif seconds > long:
            self._size = max(1, self._size // 2)

    # -- roots --------------------------------------------------------------------

    def _walk(self, unit: WorkUnit) -> None:
        """Walk to roots, all together from level to level, bounding what is passed."""
        n_jobs = self._problem.n_jobs
        if not len(unit):
            return
        nodes = Batch.root(n_jobs)
        home = np.zeros(len(unit), np.int64)  # node on the path of each root
        depths = unit.depths.astype(np.int64)
        digits = unit.digits.astype(np.int64)
        walking = np.arange(len(unit))
        if depths[0] == 0:
            (self._visit if n_jobs == 1 else self._pool.push)(nodes)
            return
        for level in range(int(depths.max())):
            wanted = np.zeros((nodes.size, n_jobs), bool)
            wanted[home, digits[walking, level]] = True
            bounded = self._begin(nodes, self._ub, wanted)()
            child = np.full((nodes.size, n_jobs), -1)
            child[bounded.parent, bounded.digit] = np.arange(bounded.children.size)
            home = child[home, digits[walking, level]]
            self._prune_roots(unit.take(walking[home < 0]), level + 1)
            walking, home = walking[home >= 0], home[home >= 0]
            there = depths[walking] == level + 1
            self._add(bounded.children.take(home[there]))
            walking, home = walking[~there], home[~there]
            left, home = np.unique(home, return_inverse=True)
            nodes = bounded.children.take(left)
            if not len(walking):
                break

    def _prune_roots(self, unit: WorkUnit, depth: int) -> None:
        """Close roots whose path is pruned at a depth; what they own is not visited."""
        if not len(unit):
            return
        self._closed += unit.depth_counts
        # load() counted all owned ancestors; those from that depth on are not visited
        depths = unit.depths.astype(np.int64)
        after_last = np.arange(1, unit.digits.shape[1] + 1)
        first_owned = np.where(unit.digits != 0, after_last, 0).max(axis=1)
        not_visited = depths - np.maximum(depth, first_owned)
        self._decomposed -= int(np.maximum(not_visited, 0).sum())
