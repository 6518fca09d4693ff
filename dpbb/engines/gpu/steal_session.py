"""The stealing arm: explorers with intervals that take halves from each other.

What the page-based exploration of ``session.py`` is compared with. Loading roots,
reports and the protocol are the same; open nodes lie with the explorers, and roots that
are asked for are listed from there.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.gpu.intervals import INTERVALS, IntervalMemory, plan_intervals
from dpbb.engines.gpu.roots import unit_of_device_paths
from dpbb.engines.gpu.session import GpuSession
from dpbb.errors import InvariantError
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.engines.base import Candidate
    from dpbb.engines.gpu.kernels import Kernels
    from dpbb.engines.gpu.memory import DeviceMemory, MemoryPlan
    from dpbb.engines.gpu.shape import PackedInstance
    from dpbb.engines.gpu.steal_kernels import StealKernels

logger = logging.getLogger(__name__)

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
LIST_ROWS = 1 << 20
"""Roots listed at a time."""


class StealSession(GpuSession):
    """See ``dpbb.engines.base.Session``."""

    _tunes_launch = False
    _explorers_per_warp = 1
    _kernels: StealKernels
    _intervals: IntervalMemory
    _struct: NDArray[Any]

    # -- memory -----------------------------------------------------------------------

    @property
    def _pages_per_explorer(self) -> int:
        return 0

    def _wanted_warps(self, explorers: int | None) -> int:
        warps = self._shape.warps
        wanted = explorers or EXPLORERS_PER_WARP * self._kernels.resident_warps
        return -(-wanted // warps) * warps

    def _plan_memory(self, n_warps: int, free_bytes: int) -> MemoryPlan:
        return plan_intervals(
            self._shape, n_warps, free_bytes, all_optima=self._all_optima
        )

    def _allocate_arrays(
        self, packed: PackedInstance, plan: MemoryPlan
    ) -> DeviceMemory:
        memory = super()._allocate_arrays(packed, plan)
        self._intervals = IntervalMemory(self._shape, plan.n_warps)
        self._struct = self._intervals.addresses()
        self._idle = plan.n_warps
        self._quantum = 256
        self._steals = True
        self._phases = self._stolen = 0
        return memory

    # -- phases -----------------------------------------------------------------------

    @property
    def _explores(self) -> bool:
        return self._pool_size > 0 or self._idle < self._n_warps

    def _use(self, kernels: Kernels, share: float) -> None:
        """Stay with the explorers that have their intervals."""

    def _launch(
        self,
        seconds: float,
        totals: NDArray[Any],
        found: list[Candidate],
        *,
        interruptible: bool = False,
    ) -> None:
        """Phases of exploring and stealing: several while many explorers are idle."""
        control, struct = self._control, self._struct
        n = self._n_warps
        idle_before = self._idle
        self._reset(n)
        control["tickets"] = idle_before
        struct["quantum"] = self._quantum
        # without a victim for anybody the next ones would not find any either
        limit = int((1 - ACTIVE_SHARE) * n) if self._steals else n + 1
        struct["idle_limit"] = max(1, limit)
        struct["n_thefts"] = 0
        phases = RAMP_PHASES if self._steals and idle_before >= limit else 1
        arena = self._require_memory().arenas[self._pool_side]
        began = time.perf_counter()
        self._send()
        self._intervals.struct.set(struct.view(np.uint8))
        for _ in range(phases):
            self._kernels.phase(self._stream, n, arena, self._intervals.struct)
        self._receive(totals)
        struct[:] = self._intervals.struct.get().view(INTERVALS)
        took = time.perf_counter() - began
        self._idle = int(control["tickets"][0])
        self._phases += phases
        self._stolen += int(struct["n_thefts"][0])
        with_work = int(struct["n_active"][0]) + int(struct["n_stolen"][0])
        if self._idle != n - with_work:
            raise InvariantError(
                f"the device counts {self._idle} idle explorers of {n}, but "
                f"{with_work} have work"
            )
        self._steals = bool(struct["n_thefts"][0]) or not with_work
        least, most = PHASE_S
        if took / phases > min(most, seconds):
            self._quantum = max(QUANTUM[0], self._quantum // 2)
        elif phases == 1 and took < least:
            self._quantum = min(QUANTUM[1], self._quantum * 2)
        idle = (idle_before + self._idle) / 2 / n
        totals["idle_ns"] += np.uint64(took * idle * n * 1e9)
        totals["busy_ns"] += np.uint64(took * (1 - idle) * n * 1e9)
        self._drop_taken_pages()
        self._collect(found)

    def _drop_taken_pages(self) -> None:
        """Free the pages of the pool whose roots the explorers have."""
        control = self._control
        taken, size = int(control["pool_next"][0]), int(control["pool_size"][0])
        if not taken:
            return
        memory = self._require_memory()
        pool = memory.pools[self._pool_side]
        pages = pool[:taken].copy()
        pool[: size - taken] = pool[taken:size].copy()
        control["pool_size"] = size - taken
        control["pool_next"] = 0
        self._send()
        arena = memory.arenas[self._pool_side]
        self._kernels.release(self._stream, arena, pages, taken)
        self._receive()

    def _note(self, totals: NDArray[Any]) -> None:
        super()._note(totals)
        self.statistics["phases"] = self._phases
        self.statistics["stolen"] = self._stolen

    # -- roots that leave the device --------------------------------------------------

    def _count(self, arena: Any) -> None:  # noqa: ANN401
        super()._count(arena)
        self._kernels.survey_intervals(
            self._stream, self._n_warps, arena, self._intervals.struct
        )

    def remaining(self) -> WorkUnit:
        """All open roots; changes nothing."""
        others = super().remaining()
        return WorkUnit.concatenate([others, self._list()])

    def donate(self, max_roots: int) -> WorkUnit:
        """Remove about half of the open roots, shallowest first.

        The others are loaded anew: a stack with gaps would not be an interval.
        """
        self._check_open()
        listed = self._list()
        if len(listed):
            self._pending.append(listed)
            with self._device():
                self._intervals.heads.fill(0)
            self._idle = self._n_warps
        return super().donate(max_roots)

    def _list(self) -> WorkUnit:
        """Open siblings of all explorers."""
        import cupy

        n_jobs = self._shape.n_jobs
        units = [WorkUnit.empty(n_jobs)]
        if self._idle == self._n_warps:
            return units[0]
        with self._device():
            self._survey()
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
                    self._kernels.interval_paths(
                        self._stream,
                        self._intervals.struct,
                        (first, last - first),
                        (cupy.asarray(starts.astype(np.uint64)), digits, depths),
                    )
                    units.append(unit_of_device_paths(n_jobs, depths, digits))
                first = last
        return WorkUnit.concatenate(units)
