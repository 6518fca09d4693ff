"""A session of the CPU engine: one explorer per thread, a pool between them."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import numpy as np

from dpbb.engines.base import Candidate, Slice
from dpbb.engines.cpu.explore import explore, settle_stack, unload_stack
from dpbb.engines.cpu.sharing import IDLE
from dpbb.engines.cpu.state import (
    CONTROL_SIZE,
    DECOMPOSED,
    DEPTH,
    DONE,
    EXPLORERS,
    HUNGRY,
    LEAVES,
    N_FOUND,
    STOP,
    TOP,
    UB,
    WAITING,
    Explorer,
    Pool,
    make_explorer,
    make_pool,
    make_tables,
)
from dpbb.engines.cpu.walk import close_pruned, export_roots, load_roots, remove_roots
from dpbb.errors import InvariantError
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.flowshop.problem import FlowShopProblem
    from dpbb.options import TreeOptions

SLEEP_S = 0.0005
"""An explorer that found no work for some microseconds looks again after this."""

SPARE_SETS = 64
"""Sibling sets a thread that explorers may leave on the pool for each other."""


def narrowest_dtype(problem: FlowShopProblem, ub: int) -> type[np.signedinteger]:
    """Return the narrowest integers that no bound of the tree can pass.

    Notes
    -----
    A decomposed node other than the root has a bound below the upper bound ``ub``, and
    the root has ``problem.root_bound``. A child's bound exceeds its parent's by at
    most the time of its job; so do the values of lanes of scheduled jobs, and all
    differences of prefix sums are less in size. The largest value itself means "no
    child", so it stays free.
    """
    times = problem.instance.times
    parent = max(problem.root_bound, min(ub, problem.trivial_ub))
    limit = parent + int(times.sum(axis=1).max())
    for dtype in (np.int16, np.int32):
        if limit < np.iinfo(dtype).max:
            return dtype
    raise ValueError(
        f"expected bounds below {np.iinfo(np.int32).max}, they may reach {limit}"
    )


class CpuSession:
    """See ``dpbb.engines.base.Session``.

    Parameters
    ----------
    problem, tree
        What the tree is a function of.
    threads
        Number of explorers, each with a thread of its own.
    ub
        Upper bound before the first call of ``advance``.
    all_optima
        Prune only LB > UB and collect the optimal leaves.
    """

    def __init__(
        self,
        problem: FlowShopProblem,
        tree: TreeOptions,
        threads: int,
        ub: int,
        *,
        all_optima: bool,
    ) -> None:
        n_jobs = problem.n_jobs
        self._order = np.array(
            range(n_jobs) if tree.root_order is None else tree.root_order, np.intp
        )
        dtype = narrowest_dtype(problem, ub)
        self._largest = int(np.iinfo(dtype).max)
        self._tables = make_tables(
            problem.instance.times[self._order],
            tree.branching,
            tree.branching_ub,
            dtype,
            all_optima=all_optima,
        )
        self._ub = ub
        self._all_optima = all_optima
        self._seen: int | None = None  # least cost of a leaf below ub so far
        self._explorers = [make_explorer(self._tables) for _ in range(threads)]
        self._walker = make_explorer(self._tables)
        control = np.zeros(CONTROL_SIZE, np.int64)
        control[EXPLORERS] = threads
        self._pool = make_pool(n_jobs, SPARE_SETS * threads, control)
        self._pending = WorkUnit.empty(n_jobs)
        self._decomposed = 0
        self._n_open = 0
        self._least: int | None = None
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="dpbb-cpu")
        self._compile()

    def load(self, unit: WorkUnit) -> None:
        """Add roots to explore.

        Raises
        ------
        InvariantError
            They overlap what is open: leaves would be explored twice.
        """
        both = WorkUnit.concatenate([self._pending, unit])
        everything = WorkUnit.concatenate([self.remaining(), unit])
        if not everything.is_ordered_and_disjoint():
            raise InvariantError("expected roots disjoint from the session's open ones")
        self._pending = both
        self._decomposed += unit.owned_ancestors

    def advance(self, ub: int, max_seconds: float) -> Slice:
        """Explore for about ``max_seconds``; see the protocol."""
        deadline = time.perf_counter() + max_seconds
        control = self._pool.control
        self._ub = min(self._ub, ub)
        control[UB] = max(0, min(self._ub, self._largest))
        first_ub = int(control[UB])
        self._walk_pending()
        if self._count_open():
            self._explore(deadline)
            self._count_open()
        return self._report(first_ub)

    def donate(self, max_roots: int) -> WorkUnit:
        """Give every second open root away, shallow ones first if there are many."""
        walked, where, place = self._export()
        everything = WorkUnit.concatenate([walked, self._pending])
        _, given = everything.donate(max_roots)
        gone = walked.covered_by(given)
        remove_roots(self._pool, where[gone], place[gone])
        self._n_open -= int(gone.sum())
        self._pending = self._pending.take(~self._pending.covered_by(given))
        return given

    def remaining(self) -> WorkUnit:
        """All open roots."""
        return WorkUnit.concatenate([self._export()[0], self._pending])

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=True)

    # -- parts of a slice ---------------------------------------------------------

    def _compile(self) -> None:
        """Run every kernel once without work, so that no slice waits for Numba."""
        self._pool.control[DONE] = 1
        self._count_open()
        explore(self._tables, self._walker, self._pool)
        unload_stack(self._tables, self._walker, self._pool)
        nothing = WorkUnit.empty(self._tables.n_jobs)
        self._load(nothing)
        self._export()
        remove_roots(self._pool, np.zeros(0, np.int64), np.zeros(0, np.int64))

    def _load(self, unit: WorkUnit) -> None:
        load_roots(
            self._tables,
            self._walker,
            self._pool,
            unit.depths,
            unit.digits,
            int(self._pool.control[UB]),
        )

    def _walk_pending(self) -> None:
        """Walk to the roots loaded since the last slice."""
        if not len(self._pending):
            return
        self._reserve(len(self._pending))
        self._load(self._pending)
        self._pending = WorkUnit.empty(self._tables.n_jobs)

    def _reserve(self, n_sets: int) -> None:
        """Make room on the pool for so many sibling sets more."""
        top = int(self._pool.control[TOP])
        spare = SPARE_SETS * len(self._explorers)
        if self._pool.capacity >= top + n_sets:
            return
        old = self._pool
        new = make_pool(self._tables.n_jobs, top + n_sets + spare, old.control)
        for name in ("level", "least", "path", "mask"):
            getattr(new, name)[:top] = getattr(old, name)[:top]
        self._pool = new

    def _explore(self, deadline: float) -> None:
        """Let all explorers run until the deadline, or until nothing is left."""
        control = self._pool.control
        control[STOP] = control[DONE] = control[HUNGRY] = 0
        for explorer in self._explorers:
            explorer.counts[WAITING] = 0
        futures = [
            self._threads.submit(self._run, explorer) for explorer in self._explorers
        ]
        try:
            wait(futures, timeout=max(0.0, deadline - time.perf_counter()))
        finally:
            control[STOP] = 1
            wait(futures)
        for future in futures:
            future.result()

    def _run(self, explorer: Explorer) -> None:
        """What a thread does in a slice; sleeps when there has been no work a while."""
        while explore(self._tables, explorer, self._pool) == IDLE:
            time.sleep(SLEEP_S)

    def _count_open(self) -> int:
        """Close what a lower ub prunes; note number and least bound of open roots."""
        ub = int(self._pool.control[UB])
        parts = list(
            self._threads.map(
                lambda explorer: settle_stack(self._tables, explorer, ub),
                self._explorers,
            )
        )
        parts.append(close_pruned(self._walker, self._pool, ub))
        self._n_open = sum(n_open for n_open, _ in parts)
        self._least = min((least for n_open, least in parts if n_open), default=None)
        return self._n_open

    def _report(self, first_ub: int) -> Slice:
        """Everything since the last slice; the counters start again."""
        decomposed, leaves = self._decomposed, 0
        self._decomposed = 0
        closed = np.zeros(self._tables.n_jobs + 1, np.int64)
        found: list[Candidate] = []
        for explorer in (*self._explorers, self._walker):
            counts = explorer.counts
            decomposed += int(counts[DECOMPOSED])
            leaves += int(counts[LEAVES])
            closed += explorer.closed
            for row in explorer.found[: counts[N_FOUND]]:
                found.append(Candidate(int(row[0]), self._order[row[1:]]))
            counts[DECOMPOSED] = counts[LEAVES] = counts[N_FOUND] = 0
            explorer.closed[:] = 0
        least_cost = min((leaf.value for leaf in found), default=None)
        found = [leaf for leaf in found if leaf.value == least_cost]
        self._ub = min(self._ub, int(self._pool.control[UB]))
        return Slice(
            decomposed=decomposed,
            leaves=leaves,
            closed=closed,
            best=found[0] if found else None,
            open_roots=self._n_open,
            least_lb=self._least,
            exhausted=self._n_open == 0,
            optima=tuple(found) if self._all_optima else (),
        )

    # -- roots --------------------------------------------------------------------

    def _export(self) -> tuple[WorkUnit, NDArray[np.int64], NDArray[np.int64]]:
        """All walked open roots, and where on the pool each of them is."""
        n_jobs = self._tables.n_jobs
        self._reserve(sum(int(e.counts[DEPTH]) + 1 for e in self._explorers))
        for explorer in self._explorers:
            unload_stack(self._tables, explorer, self._pool)
        top = int(self._pool.control[TOP])
        width = int(self._pool.level[:top].max(initial=0)) + 1
        depths, digits, where, place = export_roots(
            n_jobs, self._pool, self._n_open, width
        )
        return WorkUnit(n_jobs, depths, digits), where, place
