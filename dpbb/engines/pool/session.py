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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.base import SLICE_S, Beginning, Candidate, Slice, best_completions
from dpbb.engines.pool.bounding import IN_FLIGHT, Bounded, Bounding, PoolSize, Wanted
from dpbb.engines.pool.nodes import Batch, NodePool
from dpbb.errors import InvariantError
from dpbb.kernels.pairs import EqualJobs
from dpbb.kernels.pool_models import PoolModel
from dpbb.options import Selection, TreeOptions, Tuning
from dpbb.problem import Problem, costs_of
from dpbb.tree.work_unit import WorkUnit

logger = logging.getLogger(__name__)

POOL_BYTES = 1 << 30
"""Memory of open nodes from which the search goes deepest first."""

MOST_NODES = 1 << 20
"""As many open nodes, at most: reports and checkpoints hold all of them."""

LONGEST_BATCH_S = 0.1
"""No batch is tuned to take longer: the end of a slice waits for it."""

ROOTS_AT_A_TIME = 1 << 15
"""Roots that are walked to together."""

IN_HAND = 64
"""Nodes of the last batch that are completed for heuristics."""


class PoolSession:
    """See ``dpbb.engines.base.Session``.

    ``statistics``: what the bench shows: sums over all batches.

    ``bounding``: where children are bounded; the session closes it.
    """

    def __init__(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        model: PoolModel,
        bounding: Bounding,
        tuning: Tuning,
        ub: int,
        *,
        threads: int,
        all_optima: bool,
    ) -> None:
        n_jobs = problem.n_jobs
        order = range(n_jobs) if tree.root_order is None else tree.root_order
        self.statistics = dict.fromkeys(
            ("batches", "bounded", "bounding_s", "waiting_s", "most_open"), 0.0
        )
        self._problem, self._bounding = problem, bounding
        self._order = np.array(order, np.intp)
        self._equal = EqualJobs.of(problem, tree)
        self._ub, self._all_optima = ub, all_optima
        self._all_threads = threads
        self._selection = tuning.selection or Selection.HYBRID
        node_bytes = 2 * n_jobs + 8 * -(-n_jobs // 64) + 16
        self._pool_max = min(MOST_NODES, POOL_BYTES // node_bytes)
        self._pool_min = self._pool_max // 2
        self._is_full = False
        self.size = PoolSize(bounding.first_size, tuning.pool_size, LONGEST_BATCH_S)
        self._pool = NodePool(n_jobs, model.root_bound, ub)
        self._pending = WorkUnit.empty(n_jobs)
        self._decomposed = self._leaves = 0
        self._closed = np.zeros(n_jobs + 1, np.int64)
        self._found: list[Candidate] = []
        self._in_hand = Batch.empty(n_jobs)
        self._interrupted = threading.Event()

    slice_s = SLICE_S

    def interrupt(self) -> None:
        """End the slice under way after the batches that are on their way."""
        self._interrupted.set()

    def load(self, unit: WorkUnit) -> None:
        """Add roots; they are walked to at the next slice.

        InvariantError: they overlap what is open: leaves would be explored twice.
        """
        everything = WorkUnit.concatenate([self.remaining(), unit])
        if not everything.is_ordered_and_disjoint():
            raise InvariantError("expected roots disjoint from the session's open ones")
        self._pending = WorkUnit.concatenate([self._pending, unit])
        self._decomposed += unit.owned_ancestors

    def advance(
        self, ub: int, max_seconds: float, most_roots: int | None = None
    ) -> Slice:
        """Bound batches for about ``max_seconds``, at least one."""
        deadline = time.perf_counter() + max_seconds
        self._found = []
        if ub < self._ub:
            self._lower(ub)
        pending, self._pending = self._pending, WorkUnit.empty(self._problem.n_jobs)
        for begin in range(0, len(pending), ROOTS_AT_A_TIME):
            self._walk(pending.take(slice(begin, begin + ROOTS_AT_A_TIME)))
        flight: deque[tuple[Batch, Callable[[], Bounded]]] = deque()
        shrinks = most_roots is not None
        goes_on = True
        ended = time.perf_counter()
        while True:
            while goes_on and self._pool.size and len(flight) < IN_FLIGHT:
                parents = self._take(shrinks=shrinks)
                flight.append((parents, self._begin(parents)))
            if not flight:
                break
            parents, result = flight.popleft()
            waits = time.perf_counter()
            bounded = result()
            now = time.perf_counter()
            self._account(parents, bounded)
            self._measure(parents, bounded, now - ended, now - waits)
            ended = now
            is_small = shrinks and self._pool.size <= (most_roots or 0)
            goes_on = now < deadline and not self._interrupted.is_set() and not is_small
        self._interrupted.clear()
        return self._report()

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

    def current(self, most: int) -> list[Beginning]:
        """Complete nodes of the last batch."""
        hand, n_jobs = self._in_hand, self._problem.n_jobs
        jobs = self._order[hand.rows]
        ends = enumerate(zip(hand.front.tolist(), hand.back.tolist(), strict=True))
        nodes = [
            (jobs[i, :front].tolist(), jobs[i, n_jobs - back :].tolist())
            for i, (front, back) in ends
            if front + back
        ]
        return best_completions(self._problem, self._order, nodes, most)

    def use_threads(self, threads: int | None) -> None:
        """Use so many threads from the next slice on."""
        self._bounding.use_threads(
            self._all_threads if threads is None else max(1, threads)
        )

    def close(self) -> None:
        """End threads, free memory."""
        self._bounding.close()

    # -- parts of a slice ---------------------------------------------------------

    def _take(self, *, shrinks: bool) -> Batch:
        """Take the next nodes off the pool."""
        size = self._pool.size
        self.statistics["most_open"] = max(self.statistics["most_open"], size)
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
        parents = self._pool.take(self.size.now, deepest=deepest)
        self._in_hand = parents.take(slice(IN_HAND))
        return parents

    def _begin(
        self, nodes: Batch, wanted: Wanted | None = None
    ) -> Callable[[], Bounded]:
        """Begin with a batch; of equal jobs the first alone is wanted."""
        if self._equal is not None:
            firsts = nodes.firsts(self._equal.kinds)
            wanted = firsts if wanted is None else firsts & wanted
        return self._bounding.begin(nodes, self._ub, wanted)

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
            value = int(values[index])
            if value >= self._ub:
                continue
            ub = value + 1 if self._all_optima else value
            if ub < self._ub:
                self._found = []
                self._lower(ub)
            self._found.append(Candidate(value, rows[index]))

    def _lower(self, ub: int) -> None:
        self._ub = ub
        self._closed += self._pool.prune(ub)

    def _measure(
        self, parents: Batch, bounded: Bounded, seconds: float, waited: float
    ) -> None:
        """Tell the tuner, and add up what the bench shows."""
        n_jobs = self._problem.n_jobs
        children = parents.size * n_jobs - int(parents.depths.sum())
        if bounded.halved:
            self.size.shrink()
        self.size.note(children, seconds, children / parents.size)
        sums = self.statistics
        sums["batches"] += 1
        sums["bounded"] += bounded.bounded
        sums["bounding_s"] += bounded.seconds
        sums["waiting_s"] += waited

    def _report(self) -> Slice:
        """Everything since the last slice; the counters start again."""
        least = self._pool.least_bound
        if not self._pool.size:
            self._in_hand = Batch.empty(self._problem.n_jobs)
        part = Slice(
            decomposed=self._decomposed,
            leaves=self._leaves,
            closed=self._closed,
            best=self._found[0] if self._found else None,
            open_roots=self._pool.size,
            least_lb=least or None,  # the root's has not been computed
            exhausted=self._pool.size == 0,
            optima=tuple(self._found) if self._all_optima else (),
        )
        self._decomposed = self._leaves = 0
        self._closed = np.zeros_like(self._closed)
        return part

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
            bounded = self._begin(nodes, wanted)()
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
