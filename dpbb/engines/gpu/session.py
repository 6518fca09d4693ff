"""One unit's exploration on one CUDA device."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.base import Slice
from dpbb.engines.gpu.launches import Launches
from dpbb.engines.gpu.layout import CONTROL, COUNTERS
from dpbb.engines.gpu.roots import halve_pages, unit_of_device_paths
from dpbb.engines.gpu.settings import Settings
from dpbb.engines.gpu.shape import LANES
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.engines.base import Candidate
    from dpbb.engines.gpu.kernels import Kernels
    from dpbb.engines.gpu.shape import KernelShape
    from dpbb.flowshop.problem import FlowShopProblem
    from dpbb.options import TreeOptions, Tuning

logger = logging.getLogger(__name__)

LAUNCH_S = 1.0
"""Longest launch."""
RAMP_S = 0.05
"""Longest launch while there is not work for all explorers; nothing interrupts it."""
LEAST_LAUNCH_S = 0.0005
"""Shortest launch: some work is done even in a slice of no time."""
READ_BYTES = 1 << 32
"""Device memory that paths on their way out take at a time."""
PLENTY_PAGES = 2
"""With so many pages of open nodes for each explorer there is work for all."""


class GpuSession(Launches):
    """See ``dpbb.engines.base.Session``."""

    _tunes_launch = True
    _explorers_per_warp = LANES

    def __init__(
        self,
        problem: FlowShopProblem,
        tree: TreeOptions,
        kernels: Kernels,
        order: NDArray[np.intp],
        *,
        ub: int,
        all_optima: bool,
        tuning: Tuning,
    ) -> None:
        super().__init__(
            problem,
            tree,
            kernels,
            order,
            ub=ub,
            all_optima=all_optima,
            explorers=tuning.explorers,
        )
        self._tell_if_fewer(tuning.explorers)
        self._owned = 0
        self._settings = Settings(kernels, tuning, tunes_launch=self._tunes_launch)
        self.statistics: dict[str, float] = {}

    def _tell_if_fewer(self, asked: int | None) -> None:
        """Log if not all explorers are there that were asked for, or could be."""
        there, room = (
            self._explorers_per_warp * n_warps
            for n_warps in (self._plan.n_warps, self._wanted_warps(asked))
        )
        wanted = room if asked is None else asked
        if there < wanted:
            logger.warning(
                "device %d has %d explorers instead of %d: %s",
                self._kernels.device,
                there,
                wanted,
                "no more fit its free memory"
                if there < room
                else "it holds no more at a time",
            )

    @property
    def shape(self) -> KernelShape:
        """What the kernels are compiled for."""
        return self._shape

    @property
    def slice_s(self) -> float:
        """Seconds that suit the device and the instance; see ``tuning``."""
        return self._settings.now.slice_s

    def interrupt(self) -> None:
        """End the slice under way soon; from any thread."""
        self._interrupted.set()
        self._end_launch()

    # -- the protocol -----------------------------------------------------------------

    def load(self, unit: WorkUnit) -> None:
        """Add roots; they are walked to at the next slice."""
        self._check_open()
        if unit.n_jobs != self._shape.n_jobs:
            raise ValueError(
                f"expected a unit of {self._shape.n_jobs} jobs, got {unit.n_jobs}"
            )
        if len(unit):
            self._pending.append(unit)
            # counted at once: a root may be given away before it is walked to, and
            # whoever exports it subtracts them
            self._owned += unit.owned_ancestors

    def advance(self, ub: int, max_seconds: float) -> Slice:
        """Explore for about ``max_seconds``; see ``Session.advance``."""
        self._check_open()
        began = time.monotonic()
        self._ub = call_ub = min(self._ub, ub)
        totals = np.zeros(1, CONTROL)
        found: list[Candidate] = []
        memory = self._require_memory()
        self._use(self._settings.kernels, self._settings.now.share)
        steady = self._is_saturated and max_seconds == self.slice_s
        steady = steady and self._budget.limit is None
        with self._device():
            memory.closed.data.memset_async(0, memory.closed.nbytes, self._stream)
            while True:
                self._walk_pending(totals)
                if self._explores:
                    self._explore_until(began + max_seconds, totals, found)
                if not self._explores and not self._pending:
                    break
                if time.monotonic() - began >= max_seconds:
                    break
                if self._interrupted.is_set():
                    steady = False
                    break
            least = self._survey()
            closed = memory.closed.get().astype(np.int64)
        self._interrupted.clear()
        self._note(totals)
        nodes = int(totals["decomposed"][0].astype(np.int64))
        steady = steady and self._is_saturated and self._ub == call_ub
        steady = steady and self._budget.limit is None
        self._settings.note(nodes, time.monotonic() - began, steady=steady)
        owned, self._owned = self._owned, 0
        best = min(found, key=lambda leaf: leaf.value, default=None)
        best = best if best is not None and best.value < call_ub else None
        optima = tuple(
            leaf
            for leaf in found
            if self._all_optima and best and leaf.value == best.value
        )
        return Slice(
            decomposed=owned + nodes,
            leaves=int(totals["leaves"][0]),
            closed=closed,
            best=best,
            open_roots=self._open_roots + sum(map(len, self._pending)),
            least_lb=None if self._pending else least,
            exhausted=not self._explores and not self._pending,
            optima=optima,
        )

    def _explore_until(
        self, deadline: float, totals: NDArray[Any], found: list[Candidate]
    ) -> None:
        """Launch once; what begins is not disturbed, nor is what is nearly over."""
        plenty = self._is_saturated
        left = min(LAUNCH_S if plenty else RAMP_S, deadline - time.monotonic())
        left = max(left, LEAST_LAUNCH_S)
        if plenty and self._interrupted.is_set():
            left = LEAST_LAUNCH_S
        self._launch(left, totals, found, interruptible=plenty)

    @property
    def _is_saturated(self) -> bool:
        return self._pool_size >= PLENTY_PAGES * self._n_warps

    def donate(self, max_roots: int) -> WorkUnit:
        """Remove about half of the open roots of every depth, shallowest first."""
        self._check_open()
        given = [WorkUnit.empty(self._shape.n_jobs)]
        if self._pending:
            kept, part = WorkUnit.concatenate(self._pending).donate(max_roots)
            self._pending = [kept] if len(kept) else []
            given.append(part)
            max_roots -= len(part)
        if self._pool_size and max_roots > 0:
            with self._device():
                given.append(self._give(max_roots))
        return WorkUnit.concatenate(given)

    def remaining(self) -> WorkUnit:
        """All open roots; changes nothing."""
        self._check_open()
        units = list(self._pending)
        if self._pool_size:
            with self._device():
                pages, meta = self._pool()
                count = (meta & 255).astype(np.uint32)
                units.append(self._read(pages, meta, np.zeros_like(meta), count))
        if not units:
            return WorkUnit.empty(self._shape.n_jobs)
        return units[0] if len(units) == 1 else WorkUnit.concatenate(units)

    def close(self) -> None:
        """Free device memory; idempotent."""
        if self._memory is None:
            return
        import cupy

        self._memory = None
        with cupy.cuda.Device(self._kernels.device):
            cupy.get_default_memory_pool().free_all_blocks()

    # -- roots that leave the device ---------------------------------------

    def _read(
        self,
        pages: NDArray[np.uint32],
        meta: NDArray[np.uint32],
        start: NDArray[np.uint32],
        count: NDArray[np.uint32],
    ) -> WorkUnit:
        """Roots of ``count`` records from ``start`` on of every page."""
        at_a_time = max(1, READ_BYTES // (2 * LANES * self._shape.n_jobs))
        parts = [
            self._read_block(
                *(part[at : at + at_a_time] for part in (pages, meta, start, count))
            )
            for at in range(0, max(1, len(pages)), at_a_time)
        ]
        return parts[0] if len(parts) == 1 else WorkUnit.concatenate(parts)

    def _read_block(
        self,
        pages: NDArray[np.uint32],
        meta: NDArray[np.uint32],
        start: NDArray[np.uint32],
        count: NDArray[np.uint32],
    ) -> WorkUnit:
        import cupy

        rows = np.concatenate([[0], np.cumsum(count, dtype=np.uint64)]).astype(
            np.uint64
        )
        digits = cupy.empty((int(rows[-1]), self._shape.n_jobs), np.uint16)
        arrays = [cupy.asarray(np.ascontiguousarray(a)) for a in (pages, start, count)]
        arrays.append(cupy.asarray(rows[:-1].copy()))
        arena = self._require_memory().arenas[self._pool_side]
        self._kernels.paths(self._stream, arena, arrays, len(pages), digits)
        depths = np.repeat((meta >> 8).astype(np.uint16), count)
        return unit_of_device_paths(self._shape.n_jobs, cupy.asarray(depths), digits)

    def _give(self, max_roots: int) -> WorkUnit:
        import cupy

        memory = self._require_memory()
        pages, meta = self._pool()
        given = halve_pages(meta, max_roots)
        some = given > 0
        start = ((meta & 255) - given).astype(np.uint32)
        unit = self._read(pages[some], meta[some], start[some], given[some])
        everything = memory.meta.get()
        everything[pages] = meta - given
        memory.meta.set(everything)
        empty = (meta & 255) == given
        kept = pages[~empty]
        memory.pools[self._pool_side][: len(kept)].set(kept)
        freed = cupy.asarray(pages[empty])
        self._control["pool_size"] = len(kept)
        self._open_roots -= len(unit)
        if len(freed):
            self._send()
            arena = memory.arenas[self._pool_side]
            self._kernels.release(self._stream, arena, freed, len(freed))
            self._receive()
        return unit

    # -- small things -----------------------------------------------------------------

    def _note(self, totals: NDArray[Any]) -> None:
        """Add up what the bench shows."""
        for name in COUNTERS:
            value = float(totals[name][0].astype(np.int64))
            self.statistics[name] = self.statistics.get(name, 0.0) + value
        self.statistics["n_warps"] = self._n_warps
        self.statistics["block_size"] = 32 * self._shape.warps

    def _check_open(self) -> None:
        self._require_memory()
