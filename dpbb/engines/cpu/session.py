"""A session of the CPU engine: two explorers per thread, a pool between all."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.base import Candidate, Session, Slice, check_disjoint
from dpbb.engines.cpu.explore import (
    MOST_JOBS_BY_TURNS,
    explore,
    settle_stack,
    unload_stack,
)
from dpbb.engines.cpu.pool import SiblingPool
from dpbb.engines.cpu.sharing import IDLE
from dpbb.engines.cpu.state import (
    DECOMPOSED,
    DEPTH,
    DONE,
    HUNGRY,
    LEAVES,
    N_FOUND,
    POLL,
    POLL_MASK,
    STOP,
    UB,
    WAITING,
    Explorer,
    make_explorer,
    make_tables,
)
from dpbb.engines.cpu.walk import load_roots
from dpbb.errors import EngineUnavailable
from dpbb.kernels.pointers import addresses
from dpbb.options import TreeOptions
from dpbb.problem import Problem
from dpbb.tree.branching import order_of
from dpbb.tree.work_unit import WorkUnit

SLEEP_S = 0.0005
"""A thread that found no work for some microseconds looks again after this."""

BY_TURNS = 2
"""Explorers of a thread, see ``explore``; only the first works on many jobs."""


class CpuSession(Session):
    """See ``dpbb.engines.base.Session``.

    Parameters
    ----------
    model
        The class of models of the problem, see ``dpbb.kernels.models``.
    problem, tree
        What the tree is a function of.
    threads
        Number of threads, each with two explorers.
    ub
        Upper bound before the first call of ``advance``.
    all_optima
        Prune only LB > UB and collect the optimal leaves.
    """

    def __init__(
        self,
        model: Any,
        problem: Problem[Any],
        tree: TreeOptions,
        threads: int,
        ub: int,
        *,
        all_optima: bool,
    ) -> None:
        n_jobs = problem.n_jobs
        self._order = order_of(tree, n_jobs)
        dtype = model.narrowest_dtype(problem, ub)
        self._lane = dtype(0)
        compiled_for = model.of(problem, tree.root_order, dtype)
        if compiled_for.root_bound < 0:
            raise EngineUnavailable(
                f"engine cpu takes costs from 0 on, {problem.name} has the root bound "
                f"{compiled_for.root_bound}"
            )
        self._tables = make_tables(compiled_for, problem, tree, all_optima=all_optima)
        self._tables_at = addresses(self._tables)
        self._ub = ub
        self._all_optima = all_optima
        self._all_threads = threads
        self._at_work = BY_TURNS if n_jobs <= MOST_JOBS_BY_TURNS else 1
        self._explorers = self._idle(threads)
        self._walker = make_explorer(self._tables)
        self._pool = SiblingPool(n_jobs, self._at_work * threads)
        self._pending = WorkUnit.empty(n_jobs)
        self._decomposed = 0
        self._n_open = 0
        self._least: int | None = None
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="dpbb-cpu")
        self._compile()

    def keep_ub(self) -> None:
        """Keep the upper bound: leaves no longer lower it, and are not reported.

        For measurements on the tree of an upper bound that is not tight.
        """
        self._tables = self._tables._replace(keeps_ub=1)
        self._tables_at = addresses(self._tables)

    def load(self, unit: WorkUnit) -> None:
        """Add roots to explore.

        Raises
        ------
        InvariantError
            They overlap what is open: leaves would be explored twice.
        """
        check_disjoint(self, unit)
        self._pending = WorkUnit.concatenate([self._pending, unit])
        self._decomposed += unit.owned_ancestors

    def advance(
        self, ub: int, max_seconds: float, most_roots: int | None = None
    ) -> Slice:
        """Explore for about ``max_seconds``; see the protocol."""
        deadline = time.perf_counter() + max_seconds
        control = self._pool.control
        self._ub = min(self._ub, ub)
        control[UB] = max(0, min(self._ub, self._tables.largest))
        control[POLL] = POLL_MASK if max_seconds > 0 else 0
        pending, self._pending = self._pending, WorkUnit.empty(self._tables.n_jobs)
        self._walk(pending)
        self._count_open()
        if self._n_open:
            self._explore(deadline)
            self._count_open()
        return self._report()

    def donate(self, max_roots: int) -> WorkUnit:
        """Give every second open root away, shallow ones first if there are many."""
        walked, sets, bits = self._export()
        everything = WorkUnit.concatenate([walked, self._pending])
        _, given = everything.donate(max_roots)
        gone = walked.covered_by(given)
        self._pool.remove(sets[gone], bits[gone])
        self._pending = self._pending.take(~self._pending.covered_by(given))
        return given

    def remaining(self) -> WorkUnit:
        """All open roots."""
        return WorkUnit.concatenate([self._export()[0], self._pending])

    def use_threads(self, threads: int | None) -> None:
        """Explore with so many threads; open nodes go to the pool, none is lost."""
        threads = self._all_threads if threads is None else max(1, threads)
        if BY_TURNS * threads == len(self._explorers):
            return
        self._export()
        self._explorers = self._idle(threads)
        self._pool.serve(self._at_work * threads)
        self._threads.shutdown(wait=True)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="dpbb-cpu")

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=True)

    # -- parts of a slice ---------------------------------------------------------

    def _idle(self, threads: int) -> list[Explorer]:
        """Idle explorers of so many threads, those of a thread side by side."""
        return [make_explorer(self._tables) for _ in range(BY_TURNS * threads)]

    def _compile(self) -> None:
        """Run every kernel once without work, so that no slice waits for Numba."""
        self._pool.control[DONE] = 1
        self._run(self._walker, self._explorers[0])
        self._walk(WorkUnit.empty(self._tables.n_jobs))
        self._count_open()
        self._export()

    def _walk(self, unit: WorkUnit) -> None:
        """Walk to roots; what survives goes to the pool."""
        self._pool.reserve(len(unit))
        depths, digits = (
            np.ascontiguousarray(part, np.uint16) for part in (unit.depths, unit.digits)
        )
        load_roots(
            self._tables_at,
            addresses(self._walker),
            self._pool.address,
            self._lane,
            depths.ctypes.data,
            digits.ctypes.data,
            len(unit),
            digits.shape[1],
            self._kernel_ub,
        )

    @property
    def _kernel_ub(self) -> int:
        return int(self._pool.control[UB])

    def _explore(self, deadline: float) -> None:
        """Let all explorers run until the deadline, or until nothing is left."""
        control = self._pool.control
        control[STOP] = control[DONE] = control[HUNGRY] = 0
        for explorer in self._explorers:
            explorer.counts[WAITING] = 0
        futures = [
            self._threads.submit(self._run, one, two)
            for one, two in zip(
                self._explorers[::2], self._explorers[1::2], strict=True
            )
        ]
        try:
            wait(futures, timeout=max(0.0, deadline - time.perf_counter()))
        finally:
            control[STOP] = 1
            wait(futures)
        for future in futures:
            future.result()

    def _run(self, one: Explorer, two: Explorer) -> None:
        """Run two explorers for a slice; they sleep while there is no work."""
        one_at = addresses(one)
        two_at = addresses(two)
        while (
            explore(self._tables_at, one_at, two_at, self._pool.address, self._lane)
            == IDLE
        ):
            time.sleep(SLEEP_S)

    def _count_open(self) -> None:
        """Close what a lower ub prunes; note number and least bound of open roots."""
        ub = self._kernel_ub
        stacks = self._threads.map(
            lambda explorer: settle_stack(
                self._tables_at, addresses(explorer), self._lane, ub
            ),
            self._explorers,
        )
        closed, *pooled = self._pool.prune(ub)
        self._walker.closed[:] += closed
        parts = [*stacks, pooled]
        self._n_open = sum(n_open for n_open, _ in parts)
        self._least = min(
            (int(least) for n_open, least in parts if n_open), default=None
        )

    def _report(self) -> Slice:
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
            found += [
                Candidate(int(row[0]), self._order[row[1:]])
                for row in explorer.found[: counts[N_FOUND]]
            ]
            counts[DECOMPOSED] = counts[LEAVES] = counts[N_FOUND] = 0
            explorer.closed[:] = 0
        least_cost = min((leaf.value for leaf in found), default=None)
        found = [leaf for leaf in found if leaf.value == least_cost]
        self._ub = min(self._ub, self._kernel_ub)
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

    def _export(self) -> tuple[WorkUnit, NDArray[np.int64], NDArray[np.int64]]:
        """All walked open roots, moved to the pool, and where each of them is."""
        self._pool.reserve(sum(int(e.counts[DEPTH]) + 1 for e in self._explorers))
        for explorer in self._explorers:
            unload_stack(
                self._tables_at, addresses(explorer), self._pool.address, self._lane
            )
        return self._pool.export()
