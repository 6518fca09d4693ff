"""One unit's exploration on one CUDA device.

The host does little: it writes the upper bound, launches ``explore`` for a part of the
slice, reads the counters. Open nodes stay in device memory; roots cross the bus only
when they are loaded, given away or asked for.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.base import Slice
from dpbb.engines.gpu.device import DeviceError, OnDevice, free_device_bytes
from dpbb.engines.gpu.layout import CONTROL, NO_VALUE, Stop
from dpbb.engines.gpu.leaves import candidate_of_leaf
from dpbb.engines.gpu.memory import DeviceMemory, MemoryPlan, plan_memory
from dpbb.engines.gpu.roots import halve_pages, pages_of_unit, unit_of_device_paths
from dpbb.errors import EngineUnavailable, InvariantError
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.engines.base import Candidate
    from dpbb.engines.gpu.kernels import Kernels
    from dpbb.engines.gpu.shape import KernelShape, PackedInstance
    from dpbb.flowshop.problem import FlowShopProblem
    from dpbb.options import TreeOptions

logger = logging.getLogger(__name__)

LAUNCH_S = 0.2
"""Longest launch: a new upper bound waits for its end."""
LEAST_LAUNCH_S = 0.0005
"""Shortest launch: some work is done even in a slice of no time."""
DRAIN_BATCHES = 64
"""Batches that a warp closes at the end of a launch, deepest nodes first."""
WALK_CLAIM = 16
"""Pages that a warp of ``walk`` claims at a time (``PageCache::reserve``)."""


def _out_of_memory() -> type[Exception]:
    import cupy

    error: type[Exception] = cupy.cuda.memory.OutOfMemoryError
    return error


class GpuSession:
    """See ``dpbb.engines.base.Session``."""

    def __init__(
        self,
        problem: FlowShopProblem,
        tree: TreeOptions,
        kernels: Kernels,
        order: NDArray[np.intp],
        *,
        ub: int,
        all_optima: bool,
        explorers: int | None,
    ) -> None:
        import cupy

        self._problem = problem
        self._kernels = kernels
        self._shape = kernels.shape
        self._order = order
        self._ub = ub
        self._all_optima = all_optima
        self._branching_ub = tree.branching_ub or 0
        self._pending: list[WorkUnit] = []
        self._owned = 0
        self._open_roots = 0
        self._pool_side = 0
        self._memory: DeviceMemory | None = None
        self.statistics: dict[str, float] = {}
        with cupy.cuda.Device(kernels.device):
            self._stream = cupy.cuda.Stream(non_blocking=True)
            self._done = cupy.cuda.Event(block=True, disable_timing=True)
        with self._device():
            packed = kernels.pack(problem, order)
            self._memory, self._plan = self._allocate(packed, explorers)
            self._n_warps = self._plan.n_warps
            # pinned, or a copy would not be asynchronous
            self._pinned = cupy.cuda.alloc_pinned_memory(CONTROL.itemsize)
            self._control = np.frombuffer(self._pinned, CONTROL, 1)
            self._control[:] = np.zeros(1, CONTROL)
            self._control["free_end"] = self._plan.n_pages
            self._control["best"] = NO_VALUE

    @property
    def shape(self) -> KernelShape:
        """What the kernels are compiled for."""
        return self._shape

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
        deadline = time.monotonic() + max_seconds
        self._ub = call_ub = min(self._ub, ub)
        totals = np.zeros(1, CONTROL)
        found: list[Candidate] = []
        memory = self._require_memory()
        with self._device():
            memory.closed.data.memset_async(0, memory.closed.nbytes, self._stream)
            while True:
                self._walk_pending(totals)
                if self._explores:
                    left = min(LAUNCH_S, deadline - time.monotonic())
                    self._launch(max(left, LEAST_LAUNCH_S), totals, found)
                if not self._explores and not self._pending:
                    break
                if time.monotonic() >= deadline:
                    break
            least = self._survey()
            closed = memory.closed.get().astype(np.int64)
        self._note(totals)
        owned, self._owned = self._owned, 0
        best = min(found, key=lambda leaf: leaf.value, default=None)
        best = best if best is not None and best.value < call_ub else None
        optima = tuple(
            leaf
            for leaf in found
            if self._all_optima and best and leaf.value == best.value
        )
        return Slice(
            decomposed=owned + int(totals["decomposed"][0].astype(np.int64)),
            leaves=int(totals["leaves"][0]),
            closed=closed,
            best=best,
            open_roots=self._open_roots + sum(map(len, self._pending)),
            least_lb=None if self._pending else least,
            exhausted=not self._explores and not self._pending,
            optima=optima,
        )

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

    # -- memory -----------------------------------------------------------------------

    def _allocate(
        self, packed: PackedInstance, explorers: int | None
    ) -> tuple[DeviceMemory, MemoryPlan]:
        """Allocate what fits the device."""
        shape = self._shape
        wanted = self._kernels.resident_warps
        if explorers is not None:
            blocks = -(-max(1, explorers) // (32 * shape.warps))
            wanted = min(wanted, blocks * shape.warps)
        free = free_device_bytes()
        while True:
            plan = plan_memory(shape, wanted, free, all_optima=self._all_optima)
            try:
                return DeviceMemory(
                    shape, packed, plan, all_optima=self._all_optima
                ), plan
            except _out_of_memory() as error:
                wanted = self._fewer(wanted, error)
                free = min(free // 2, free_device_bytes())

    def _fewer(self, explorers: int, error: Exception) -> int:
        """After a failed allocation: half as many explorers, if there is a half."""
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()
        if explorers <= self._shape.warps:
            raise EngineUnavailable(
                f"device memory is used up by others: {error}"
            ) from error
        fewer = max(self._shape.warps, explorers // 2)
        logger.warning("out of device memory: going on with %d explorers", fewer)
        return fewer

    # -- launches ---------------------------------------------------------------------

    @property
    def _pool_size(self) -> int:
        return int(self._control["pool_size"][0])

    @property
    def _explores(self) -> bool:
        """Whether there are open nodes on the device."""
        return self._pool_size > 0

    def _launch(
        self, seconds: float, totals: NDArray[Any], found: list[Candidate]
    ) -> None:
        control = self._control
        memory = self._require_memory()
        for name in ("tickets", "gifts", "stop", "pool_next", "n_out", "lock"):
            control[name] = 0
        control["n_optima"] = 0
        control["best"] = NO_VALUE
        control["ub"] = self._ub
        control["n_warps"] = self._n_warps
        control["branching_ub"] = self._branching_ub
        control["drain_batches"] = DRAIN_BATCHES
        control["budget_ns"] = int(seconds * 1e9)
        arena = memory.arenas[self._pool_side]
        blocks = self._n_warps // self._shape.warps
        self._send()
        self._kernels.explore(self._stream, blocks, arena)
        self._kernels.settle(self._stream, arena)
        self._receive(totals)
        self._pool_side = 1 - self._pool_side
        control["pool_size"] = control["n_out"]
        control["pool_next"] = 0
        self._check_stop(totals)
        self._collect(found)

    def _collect(self, found: list[Candidate]) -> None:
        """After a launch: the upper bound and the leaves that it has found."""
        control = self._control
        self._ub = min(self._ub, int(control["ub"][0]))
        if self._all_optima:
            found += self._leaves(int(control["n_optima"][0]))
        elif int(control["best"][0]) != NO_VALUE:
            found += self._leaves(1)

    def _check_stop(self, totals: NDArray[Any]) -> None:
        stop = Stop(int(self._control["stop"][0]))
        if stop is Stop.ALL_DONE and self._pool_size:
            raise InvariantError(
                f"the device reported an empty pool and left {self._pool_size} pages"
            )
        if stop is not Stop.OUT_OF_PAGES:
            return
        if self._n_warps == self._shape.warps and not int(self._control["batches"][0]):
            raise DeviceError(
                f"{self._plan.n_pages} pages of device memory are used up by open "
                "nodes; use a device with more free memory, or the cpu engine"
            )
        fewer = max(self._shape.warps, self._n_warps // 2)
        self._n_warps = fewer // self._shape.warps * self._shape.warps
        logger.warning(
            "pages of device memory used up: going on with %d explorers", self._n_warps
        )

    def _send(self) -> None:
        memory = self._require_memory()
        for name in ("decomposed", "leaves", "batches", "children", "open_roots"):
            self._control[name] = 0
        for name in ("idle_ns", "busy_ns"):
            self._control[name] = 0
        memory.control.data.copy_from_host_async(
            self._pinned.ptr, CONTROL.itemsize, self._stream
        )

    def _receive(self, totals: NDArray[Any] | None = None) -> None:
        memory = self._require_memory()
        memory.control.data.copy_to_host_async(
            self._pinned.ptr, CONTROL.itemsize, self._stream
        )
        self._done.record(self._stream)
        self._done.synchronize()
        if totals is not None:
            for name in (
                *("decomposed", "leaves", "batches", "children"),
                *("idle_ns", "busy_ns"),
            ):
                totals[name] += self._control[name]

    def _walk_pending(self, totals: NDArray[Any]) -> None:
        """Put pending roots into the pool, as many as there are pages for."""
        if not self._pending:
            return
        import cupy

        unit = WorkUnit.concatenate(self._pending)
        order, first, count, depths = pages_of_unit(unit)
        control = self._control
        free = (int(control["free_end"][0]) - int(control["free_next"][0])) % 2**32
        n_warps = min(self._kernels.walk_warps, max(1, free // (4 * WALK_CLAIM)))
        n_pages = min(len(first), free - WALK_CLAIM * n_warps)
        if n_pages <= 0:
            if self._explores:
                return
            raise DeviceError("no page of device memory is left to load roots into")
        if n_pages < len(first):
            rows = int(first[n_pages])
            self._pending = [unit.take(np.sort(order[rows:]))]
            order = order[:rows]
        else:
            self._pending = []
        control["ub"] = self._ub
        control["branching_ub"] = self._branching_ub
        arrays = [
            cupy.asarray(np.ascontiguousarray(array))
            for array in (
                unit.digits[order],
                first[:n_pages].astype(np.uint32),
                count[:n_pages].astype(np.uint32),
                depths[:n_pages].astype(np.uint16),
            )
        ]
        self._send()
        self._kernels.walk(
            self._stream,
            self._require_memory().arenas[self._pool_side],
            arrays,
            width=unit.digits.shape[1],
            n_pages=n_pages,
            n_warps=n_warps,
        )
        self._receive(totals)

    def _survey(self) -> int | None:
        """Count the open roots; return their least bound."""
        self._open_roots = 0
        if not self._pool_size:
            return None
        self._control["least_bound"] = NO_VALUE
        self._send()
        arena = self._require_memory().arenas[self._pool_side]
        self._kernels.survey(self._stream, arena)
        self._receive()
        self._open_roots = int(self._control["open_roots"][0])
        return int(self._control["least_bound"][0])

    # -- roots and leaves that leave the device ---------------------------------------

    def _pool(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Pages of the pool and their meta words: depth << 8 | records."""
        memory = self._require_memory()
        pages = memory.pools[self._pool_side][: self._pool_size].get()
        return pages, memory.meta.get()[pages]

    def _read(
        self,
        pages: NDArray[np.uint32],
        meta: NDArray[np.uint32],
        start: NDArray[np.uint32],
        count: NDArray[np.uint32],
    ) -> WorkUnit:
        """Roots of ``count`` records from ``start`` on of every page."""
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

    def _leaves(self, count: int) -> list[Candidate]:
        words = self._require_memory().leaves[: count * self._shape.leaf_words].get()
        leaves = words.reshape(count, self._shape.leaf_words)
        if self._all_optima:
            leaves = leaves[leaves[:, 0] < self._ub]
        return [
            candidate_of_leaf(leaf, self._shape, self._problem, self._order)
            for leaf in leaves
        ]

    # -- small things -----------------------------------------------------------------

    def _note(self, totals: NDArray[Any]) -> None:
        """Add up what the bench shows."""
        for name in ("batches", "children", "idle_ns", "busy_ns", "decomposed"):
            value = float(totals[name][0].astype(np.int64))
            self.statistics[name] = self.statistics.get(name, 0.0) + value
        self.statistics["n_warps"] = self._n_warps

    def _check_open(self) -> None:
        self._require_memory()

    def _require_memory(self) -> DeviceMemory:
        if self._memory is None:
            raise ValueError("expected an open session, got a closed one")
        return self._memory

    def _device(self) -> OnDevice:
        return OnDevice(self._kernels.device, self._stream, self._lose_memory)

    def _lose_memory(self) -> None:
        self._memory = None
