"""A session of the CPU engine: two explorers per thread, a pool between all."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.base import Candidate, HostSession, Slice
from dpbb.engines.cpu.explore import (
    IDLE,
    MOST_JOBS_BY_TURNS,
    explore,
    settle_stack,
    unload_stack,
)
from dpbb.engines.cpu.state import (
    CONTROL_SIZE,
    DECOMPOSED,
    DEPTH,
    DONE,
    EXPLORERS,
    HUNGRY,
    LEAVES,
    N_FOUND,
    POLL,
    POLL_MASK,
    STOP,
    TOP,
    UB,
    WAITING,
    Explorer,
    make_explorer,
    make_pool,
    make_tables,
)
from dpbb.engines.cpu.walk import load_roots, write_paths
from dpbb.errors import EngineUnavailable
from dpbb.kernels.pointers import addresses
from dpbb.options import TreeOptions
from dpbb.problem import Problem
from dpbb.tree.work_unit import WorkUnit

SLEEP_S = 0.0005
"""A thread that found no work for some microseconds looks again after this."""

BY_TURNS = 2
"""Explorers of a thread, see ``explore``; only the first works on many jobs."""

SPARE_SETS = 64
"""Sibling sets an explorer that explorers may leave on the pool for each other."""


class CpuSession(HostSession):
    """See ``dpbb.engines.base.Session``.

    Parameters
    ----------
    model
        The class of models of the problem, see ``dpbb.kernels.models``.
    problem, tree, ub, all_optima
        As of ``HostSession``.
    threads
        Number of threads, each with two explorers.
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
        super().__init__(problem, tree, ub, all_optima=all_optima)
        n_jobs = problem.n_jobs
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
        self._all_threads = threads
        self._at_work = BY_TURNS if n_jobs <= MOST_JOBS_BY_TURNS else 1
        self._explorers = self._idle(threads)
        self._walker = make_explorer(self._tables)
        self._pool = SiblingPool(n_jobs, self._at_work * threads)
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

    def advance(
        self, ub: int, max_seconds: float, most_roots: int | None = None
    ) -> Slice:
        """Explore for about ``max_seconds``; see the protocol."""
        deadline = time.perf_counter() + max_seconds
        control = self._pool.control
        self._ub = min(self._ub, ub)
        control[UB] = max(0, min(self._ub, self._tables.largest))
        control[POLL] = POLL_MASK if max_seconds > 0 else 0
        self._walk(self._take_pending())
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
        found: list[Candidate] = []
        for explorer in (*self._explorers, self._walker):
            counts = explorer.counts
            self._decomposed += int(counts[DECOMPOSED])
            self._leaves += int(counts[LEAVES])
            self._closed += explorer.closed
            found += [
                Candidate(int(row[0]), self._order[row[1:]])
                for row in explorer.found[: counts[N_FOUND]]
            ]
            counts[DECOMPOSED] = counts[LEAVES] = counts[N_FOUND] = 0
            explorer.closed[:] = 0
        least_cost = min((leaf.value for leaf in found), default=None)
        self._found = [leaf for leaf in found if leaf.value == least_cost]
        self._ub = min(self._ub, self._kernel_ub)
        return self._slice(self._n_open, self._least)

    def _export(self) -> tuple[WorkUnit, NDArray[np.int64], NDArray[np.int64]]:
        """All walked open roots, moved to the pool, and where each of them is."""
        self._pool.reserve(sum(int(e.counts[DEPTH]) + 1 for e in self._explorers))
        for explorer in self._explorers:
            unload_stack(
                self._tables_at, addresses(explorer), self._pool.address, self._lane
            )
        return self._pool.export()


class SiblingPool:
    """Sets of open siblings that wait for an explorer.

    Parameters
    ----------
    n_jobs
        Number of jobs of the tree.
    explorers
        Number of explorers that share the pool.
    """

    def __init__(self, n_jobs: int, explorers: int) -> None:
        self._n_jobs = n_jobs
        self._spare = SPARE_SETS * explorers
        self.control = np.zeros(CONTROL_SIZE, np.int64)
        self.control[EXPLORERS] = explorers
        self._arrays = make_pool(n_jobs, self._spare, self.control)
        self.address = addresses(self._arrays)

    @property
    def n_sets(self) -> int:
        """Number of sibling sets."""
        return int(self.control[TOP])

    def serve(self, explorers: int) -> None:
        """Be there for so many explorers from now on; none is at work."""
        self._spare = SPARE_SETS * explorers
        self.control[EXPLORERS] = explorers
        self.reserve(0)

    def reserve(self, n_sets: int) -> None:
        """Make room for so many more sets, or give back what is no longer needed."""
        top = self.n_sets
        needed = top + n_sets + self._spare
        if needed <= self._arrays.capacity <= 4 * needed:
            return
        old = self._arrays
        new = make_pool(self._n_jobs, needed, self.control)
        for name in ("level", "least", "path", "mask"):
            getattr(new, name)[:top] = getattr(old, name)[:top]
        self._arrays, self.address = new, addresses(new)

    def prune(self, ub: int) -> tuple[np.ndarray, int, int]:
        """Drop the sets that a fallen ub prunes, and empty ones.

        Returns
        -------
        closed : ndarray of int64, shape (n_jobs + 1,)
            Number of roots dropped at each depth.
        n_open, least
            Number of roots left and their least bound, -1 if there are none.
        """
        top = self.n_sets
        level, least, path, mask = (part[:top] for part in self._arrays[2:])
        sizes = np.bitwise_count(mask).sum(axis=1, dtype=np.int64)
        pruned = least >= ub
        closed = np.zeros(self._n_jobs + 1, np.int64)
        np.add.at(closed, level[pruned] + 1, sizes[pruned])
        kept = ~pruned & (sizes > 0)
        left = int(kept.sum())
        if left < top:
            for part in (level, least, path, mask):
                part[:left] = part[kept]
            self.control[TOP] = left
        least_left = int(least[:left].min()) if left else -1
        return closed, int(sizes[kept].sum()), least_left

    def export(self) -> tuple[WorkUnit, np.ndarray, np.ndarray]:
        """All roots, in order, and the set and bit of each for ``remove``."""
        top = self.n_sets
        n_roots = int(np.bitwise_count(self._arrays.mask[:top]).sum(dtype=np.int64))
        width = int(self._arrays.level[:top].max(initial=0)) + 1
        depths = np.zeros(n_roots, np.uint16)
        digits = np.zeros((n_roots, width), np.uint16)
        sets, bits = np.zeros(n_roots, np.int64), np.zeros(n_roots, np.int64)
        write_paths(
            self._n_jobs,
            self.address,
            width,
            *(part.ctypes.data for part in (depths, digits, sets, bits)),
        )
        unit, order = WorkUnit.from_table(self._n_jobs, depths, digits)
        return unit, sets[order], bits[order]

    def remove(self, sets: np.ndarray, bits: np.ndarray) -> None:
        """Take roots off the pool, named as by ``export``."""
        word, bit = np.divmod(bits, 64)
        mask = np.left_shift(np.uint64(1), bit.astype(np.uint64))
        np.bitwise_and.at(self._arrays.mask, (sets, word), ~mask)
