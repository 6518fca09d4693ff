"""Balancing by intervals of leaves: an idle warp takes half of that of a busy one.

What balancing by pages is compared with. Open nodes lie with the explorers; roots that
are asked for are listed from there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.gpu.kernels import Exploration, Kernels
from dpbb.engines.gpu.layout import structure_of, up
from dpbb.engines.gpu.memory import MemoryPlan, PageBudget, leaf_capacity
from dpbb.engines.gpu.pool import Arm, PagePool
from dpbb.errors import EngineUnavailable, InvariantError
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from dpbb.engines.gpu.control import Orders
    from dpbb.engines.gpu.kernels import KernelShape

EXPLORERS_PER_WARP = 4
"""Default number of explorers for each warp that the device can hold at a time."""
ACTIVE_SHARE = 0.8
"""Below this share of active explorers a phase ends and the idle ones steal."""
RAMP_PHASES = 8
"""Phases without a word to the host, as long as too few explorers are active."""
PHASE_S = (0.004, 0.016)
"""A phase without stealing is made longer below, shorter above these times."""
QUANTUM = (64, 1 << 16)
"""Least and largest number of steps of an explorer in a phase."""
LIST_ROWS = 1 << 22
"""Roots listed at a time."""

INTERVALS = structure_of("steal.cu", "Intervals")
"""Addresses, and what the host and a phase tell each other."""

MAX_JOBS = 1024
"""A lane holds one word of a set of jobs."""
MEMORY_SHARE = 0.4
"""Part of the free device memory that explorers may take."""
POOL_PAGES = 1 << 16
LEAST_PAGES = 1 << 10
"""Most and least pages for loaded roots that no explorer has taken yet."""
PAGES_SHARE = 0.1
"""Part of the free device memory that these pages may take."""


def head_words(shape: KernelShape) -> int:
    """Words of an explorer's levels, directions, position and end."""
    return up(2 * shape.pages.mask_words + 2 * ((shape.n_jobs + 1) // 2), 4)


def level_words(shape: KernelShape) -> int:
    """Words of a level: a decomposed node and its open children."""
    return up(shape.pages.mask_at + 2 * shape.pages.mask_words, 4)


def diver_bytes(shape: KernelShape) -> int:
    """Bytes of a warp in the shared memory of ``explore_intervals``."""
    mask_words = shape.pages.mask_words if shape.model.tightening_bytes else 0
    return up(4 * mask_words + 4 * (shape.n_jobs + 1) + 4 * shape.n_jobs, 4)


def explorer_bytes(shape: KernelShape) -> int:
    """Device memory of one explorer."""
    return 4 * (head_words(shape) + shape.n_jobs * level_words(shape) + 3)


def plan_intervals(
    shape: KernelShape, n_warps: int, free_bytes: int, *, all_optima: bool
) -> MemoryPlan:
    """Return what fits: so many explorers, or fewer by halves.

    Raises
    ------
    EngineUnavailable
        Not one block's explorers fit, or more jobs than the stealing arm takes.
    """
    if shape.n_jobs > MAX_JOBS:
        raise EngineUnavailable(
            f"balance 'steal' takes up to {MAX_JOBS} jobs, not {shape.n_jobs}: use "
            "balance 'explode'"
        )
    budget = free_bytes * MEMORY_SHARE
    while n_warps > shape.warps and n_warps * explorer_bytes(shape) > budget:
        n_warps //= 2
    n_warps = max(shape.warps, n_warps // shape.warps * shape.warps)
    per_page = shape.pages.page_bytes + 24
    n_pages = min(POOL_PAGES, int(free_bytes * PAGES_SHARE) // per_page)
    if n_warps * explorer_bytes(shape) > budget or n_pages < LEAST_PAGES:
        least = max(
            n_warps * explorer_bytes(shape) / MEMORY_SHARE,
            LEAST_PAGES * per_page / PAGES_SHARE,
        )
        raise EngineUnavailable(
            f"{shape.model.described} need "
            f"{least / 2**30:.3f} GiB of free device memory, there are "
            f"{free_bytes / 2**30:.3f} GiB"
        )
    return MemoryPlan(n_pages, n_warps, leaf_capacity(n_warps, all_optima=all_optima))


class IntervalMemory:
    """The arrays of ``n`` explorers, on the current device; none has work."""

    def __init__(self, shape: KernelShape, n: int) -> None:
        import cupy

        self.heads = cupy.zeros((n, head_words(shape)), np.uint32)
        self.levels = cupy.empty(n * shape.n_jobs * level_words(shape), np.uint32)
        self.length = cupy.empty(n, np.float32)
        self.taken = cupy.zeros(n, np.uint32)
        self.counts = cupy.zeros(n, np.uint32)
        self.struct = cupy.empty(INTERVALS.itemsize, np.uint8)

    def addresses(self) -> np.ndarray[Any, Any]:
        """Return the struct as the host sends it before every phase."""
        struct = np.zeros(1, INTERVALS)
        for name in ("heads", "levels", "length", "taken", "counts"):
            struct[name] = getattr(self, name).data.ptr
        struct["n"] = len(self.length)
        return struct


class Stealing(Arm):
    """See ``Arm``; an explorer is a warp, and more of them than fit take turns.

    The kernels are those of ``steal.cu``.
    """

    exploration = Exploration("steal.cu", "explore_intervals", diver_bytes)
    explorers_per_warp = 1
    plan = staticmethod(plan_intervals)

    def __init__(self, kernels: Kernels, pool: PagePool, plan: MemoryPlan) -> None:
        super().__init__(kernels, pool, plan)
        self.budget = PageBudget(plan.n_pages, 0)
        self._idle = plan.n_warps
        self._intervals = IntervalMemory(kernels.shape, plan.n_warps)
        self._struct = self._intervals.addresses()
        self._quantum = 256
        self._steals = True
        self.statistics = {"phases": 0, "stolen": 0}

    @staticmethod
    def wanted_warps(kernels: Kernels, explorers: int | None) -> int:
        """Return one for each explorer, in whole blocks."""
        wanted = explorers or EXPLORERS_PER_WARP * kernels.resident_warps
        return up(wanted, kernels.shape.warps)

    # -- phases -----------------------------------------------------------------------

    @property
    def explores(self) -> bool:
        """Whether there are open nodes on the device."""
        return self.pool.size > 0 or self._idle < self.n_warps

    def launch(
        self,
        seconds: float,
        totals: NDArray[Any],
        orders: Orders | None,
        *,
        shrinks: bool = False,
    ) -> None:
        """Phases of exploring and stealing: several while many explorers are idle.

        They are short: no order ends one before its time. Explorers work depth first in
        any case, and hold few roots; those who are done steal nothing while it shrinks.
        """
        control, struct = self.pool.control, self._struct
        n = self.n_warps
        idle_before = self._idle
        control.reset(n)
        control["tickets"] = idle_before
        struct["quantum"] = self._quantum
        # without a victim for anybody the next ones would not find any either
        steals = self._steals and not shrinks
        limit = int((1 - ACTIVE_SHARE) * n) if steals else n + 1
        struct["idle_limit"] = max(1, limit)
        struct["n_thefts"] = 0
        phases = RAMP_PHASES if steals and idle_before >= limit else 1
        began = time.perf_counter()
        control.send()
        self._intervals.struct.set(struct.view(np.uint8))
        for _ in range(phases):
            self._queue_phase(steals=not shrinks)
        control.receive(totals)
        struct[:] = self._intervals.struct.get().view(INTERVALS)
        took = time.perf_counter() - began
        self._idle = control["tickets"]
        self.statistics["phases"] += phases
        self.statistics["stolen"] += int(struct["n_thefts"][0])
        with_work = int(struct["n_active"][0]) + int(struct["n_stolen"][0])
        if self._idle != n - with_work:
            raise InvariantError(
                f"the device counts {self._idle} idle explorers of {n}, but "
                f"{with_work} have work"
            )
        if not shrinks:
            self._steals = bool(struct["n_thefts"][0]) or not with_work
        least, most = PHASE_S
        if took / phases > min(most, seconds):
            self._quantum = max(QUANTUM[0], self._quantum // 2)
        elif phases == 1 and took < least:
            self._quantum = min(QUANTUM[1], self._quantum * 2)
        idle = (idle_before + self._idle) / 2 / n
        totals["idle_ns"] += np.uint64(took * idle * n * 1e9)
        totals["busy_ns"] += np.uint64(took * (1 - idle) * n * 1e9)
        self.pool.drop_taken()

    def _queue_phase(self, *, steals: bool) -> None:
        """Explore, then let the explorers without work steal, if they shall."""
        kernels, stream = self._kernels, self.pool.stream
        both = (self.pool.arena, self._intervals.struct)
        kernels.explore(stream, self.n_warps // kernels.shape.warps, *both)
        self._launch("weigh", both)
        kernels.launch("add_up", stream, kernels.n_multiprocessors, both, threads=256)
        if steals:
            self._launch("steal", both)

    def _launch(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Queue a kernel for all explorers: a list of jobs or digits for every warp."""
        shape = self._kernels.shape
        self._kernels.launch(
            name,
            self.pool.stream,
            self.n_warps // shape.warps,
            arguments,
            shared_bytes=2 * shape.n_jobs * shape.warps,
        )

    # -- roots that leave the device --------------------------------------------------

    def survey(self) -> tuple[int, int]:
        """Count and bound the open roots, also those with explorers."""
        both = (self.pool.arena, self._intervals.struct)
        return self.pool.survey(lambda: self._launch("survey_intervals", both))

    def drop_held(self) -> None:
        """Leave all explorers without work."""
        self._intervals.heads.fill(0)
        self._idle = self.n_warps

    def held(self) -> WorkUnit:
        """Open siblings of all explorers."""
        import cupy

        n_jobs = self.pool.layout.n_jobs
        units = [WorkUnit.empty(n_jobs)]
        if self._idle == self.n_warps:
            return units[0]
        self.survey()
        counts = self._intervals.counts.get().astype(np.int64)
        ends = np.cumsum(counts)
        first = 0
        while first < len(counts):
            before = int(ends[first] - counts[first])
            last = int(np.searchsorted(ends, before + LIST_ROWS, side="right"))
            last = max(first + 1, last)
            rows = int(ends[last - 1]) - before
            if rows:
                starts = ends[first:last] - counts[first:last] - before
                digits = cupy.empty((rows, n_jobs), np.uint16)
                depths = cupy.empty(rows, np.uint16)
                row_of = cupy.asarray(starts.astype(np.uint64))  # of each explorer
                some = np.uint32(first), np.uint32(last - first)
                given = self._intervals.struct, *some, row_of, digits, depths
                blocks = -(-(last - first) // self._kernels.shape.warps)
                stream = self.pool.stream
                self._kernels.launch("interval_paths", stream, blocks, given)
                units.append(self.pool.unit_of(depths, digits))
            first = last
        return WorkUnit.concatenate(units)
