"""What a session has on its device: pages, the control block, launches of its kernels.

The host does little: it writes the upper bound, launches ``explore`` for a part of the
slice, reads the counters. Open nodes stay in device memory; roots cross the bus only
when they are loaded, given away or asked for.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.gpu.device import DeviceError, OnDevice, free_device_bytes
from dpbb.engines.gpu.layout import CONTROL, COUNTERS, NO_VALUE, STOP_AT, Stop
from dpbb.engines.gpu.leaves import candidate_of_leaf
from dpbb.engines.gpu.memory import DeviceMemory, MemoryPlan, plan_memory
from dpbb.engines.gpu.page_budget import PageBudget
from dpbb.engines.gpu.roots import pages_of_unit
from dpbb.engines.gpu.shape import LANES, NARROW_LIMIT, WIDE_LIMIT
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

DRAIN_BATCHES = 64
"""Batches that a warp closes at the end of a launch, deepest nodes first."""
WALK_CLAIM = 16
"""Pages that a warp of ``walk`` claims at a time (``PageCache::reserve``)."""
_HOST_TO_DEVICE = 1  # cudaMemcpyHostToDevice


class Launches:
    """The device's side of a session; base of ``GpuSession``."""

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
        self._order = order
        self._ub = ub
        self._all_optima = all_optima
        # no bound is at these limits, so a larger value is no other
        limit = WIDE_LIMIT if kernels.shape.wide else NARROW_LIMIT
        self._branching_ub = min(tree.branching_ub or 0, limit)
        self._pending: list[WorkUnit] = []
        self._open_roots = 0
        self._pool_side = 0
        self._pruned_at = NO_VALUE
        self._memory: DeviceMemory | None = None
        self._interrupted = threading.Event()
        self._interruptible = False
        self._guard = threading.Lock()  # of what interrupts
        with cupy.cuda.Device(kernels.device):
            self._stream = cupy.cuda.Stream(non_blocking=True)
            self._beside = cupy.cuda.Stream(non_blocking=True)
            self._done = cupy.cuda.Event(block=True, disable_timing=True)
        with self._device():
            packed = kernels.pack(problem, order)
            self._memory, self._plan = self._allocate(packed, explorers)
            self._n_warps = self._plan.n_warps
            logger.info(
                "device %d: %s; %d warps, %d pages",
                kernels.device,
                kernels.shape.described,
                self._plan.n_warps,
                self._plan.n_pages,
            )
            self._budget = PageBudget(self._plan.n_pages, self._pages_per_explorer)
            # pinned, or a copy would not be asynchronous
            self._pinned = cupy.cuda.alloc_pinned_memory(CONTROL.itemsize)
            self._control = np.frombuffer(self._pinned, CONTROL, 1)
            self._control[:] = np.zeros(1, CONTROL)
            self._control["free_end"] = self._plan.n_pages
            self._control["best"] = NO_VALUE
            self._pinned_stop = cupy.cuda.alloc_pinned_memory(4)
            np.frombuffer(self._pinned_stop, np.uint32, 1)[:] = Stop.SLICE_OVER

    @property
    def _shape(self) -> KernelShape:
        return self._kernels.shape

    @property
    def _pages_per_explorer(self) -> int:
        return self._shape.pages_per_warp

    # -- memory -----------------------------------------------------------------------

    def _allocate(
        self, packed: PackedInstance, explorers: int | None
    ) -> tuple[DeviceMemory, MemoryPlan]:
        """Allocate what fits the device."""
        from cupy.cuda.memory import OutOfMemoryError

        wanted = self._wanted_warps(explorers)
        free = free_device_bytes()
        while True:
            plan = self._plan_memory(wanted, free)
            try:
                return self._allocate_arrays(packed, plan), plan
            except OutOfMemoryError as error:
                reason = str(error)
            # not above: as long as the error is there, so are the arrays that fitted
            wanted = self._fewer(plan.n_warps, reason)
            free = min(free // 2, free_device_bytes())

    def _wanted_warps(self, explorers: int | None) -> int:
        most, warps = self._kernels.resident_warps, self._shape.warps
        if explorers is None:
            return most
        return min(most, -(-max(1, explorers) // (LANES * warps)) * warps)

    def _plan_memory(self, n_warps: int, free_bytes: int) -> MemoryPlan:
        return plan_memory(
            self._shape, n_warps, free_bytes, all_optima=self._all_optima
        )

    def _allocate_arrays(
        self, packed: PackedInstance, plan: MemoryPlan
    ) -> DeviceMemory:
        return DeviceMemory(self._shape, packed, plan, all_optima=self._all_optima)

    def _fewer(self, n_warps: int, reason: str) -> int:
        """After a failed allocation: half as many warps, if there is a half."""
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()
        if n_warps <= self._shape.warps:
            raise EngineUnavailable(f"device memory is used up by others: {reason}")
        return max(self._shape.warps, n_warps // 2)

    def _require_memory(self) -> DeviceMemory:
        if self._memory is None:
            raise ValueError("expected an open session, got a closed one")
        return self._memory

    def _device(self) -> OnDevice:
        return OnDevice(self._kernels.device, self._stream, self._lose_memory)

    def _lose_memory(self) -> None:
        self._memory = None

    # -- launches ---------------------------------------------------------------------

    @property
    def _pool_size(self) -> int:
        return int(self._control["pool_size"][0])

    def _use(self, kernels: Kernels, share: float) -> None:
        """Explore with these from now on, and with so many of the explorers."""
        self._kernels = kernels
        warps = kernels.shape.warps
        most = min(self._plan.n_warps, kernels.resident_warps)
        self._n_warps = max(warps, int(most * share) // warps * warps)

    @property
    def _free_pages(self) -> int:
        free = int(self._control["free_end"][0]) - int(self._control["free_next"][0])
        return free % 2**32

    @property
    def _explores(self) -> bool:
        """Whether there are open nodes on the device."""
        return self._pool_size > 0

    def _pool(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Pages of the pool and their meta words: depth << 8 | records."""
        memory = self._require_memory()
        pages = memory.pools[self._pool_side][: self._pool_size].get()
        return pages, memory.meta.get()[pages]

    def _limited(self) -> int:
        """Explorers of the next launch; where pages limit them, the pool in order."""
        budget = self._budget
        if budget.limit is not None and self._ub < self._pruned_at:
            self._prune()
        budget.look(self._free_pages)
        if budget.limit is None:
            return self._n_warps
        pages, meta = self._pool()
        deepest_first = np.argsort((meta >> 8).astype(np.uint16), kind="stable")[::-1]
        pool = self._require_memory().pools[self._pool_side]
        pool[: len(pages)].set(pages[deepest_first])
        return min(self._n_warps, budget.limit)

    def _prune(self) -> None:
        """Free the pages that a better upper bound has left without a node to explore.

        Explorers close such nodes, too, but there may be one explorer for all of them.
        """
        self._pruned_at = self._ub
        self._control["ub"] = self._ub
        self._control["n_out"] = 0
        self._send()
        self._kernels.prune(
            self._stream, self._require_memory().arenas[self._pool_side]
        )
        self._receive()
        self._take_out()

    def _take_out(self) -> None:
        """Make what the last kernel has left in ``out`` the pool."""
        self._pool_side = 1 - self._pool_side
        self._control["pool_size"] = self._control["n_out"]
        self._control["pool_next"] = 0

    def _launch(
        self,
        seconds: float,
        totals: NDArray[Any],
        found: list[Candidate],
        *,
        interruptible: bool = False,
    ) -> None:
        control = self._control
        memory = self._require_memory()
        n_warps = self._limited()
        self._reset(n_warps)
        control["spare_pages"] = self._budget.spare
        control["drain_batches"] = DRAIN_BATCHES
        control["budget_ns"] = int(seconds * 1e9)
        arena = memory.arenas[self._pool_side]
        blocks = -(-n_warps // self._shape.warps)
        self._send()
        self._kernels.explore(self._stream, blocks, arena)
        self._kernels.settle(self._stream, arena)
        with self._guard:
            self._interruptible = interruptible
        if self._interrupted.is_set():  # since it was last looked at
            self._end_launch()
        self._receive(totals)
        with self._guard:
            self._interruptible = False
        self._take_out()
        self._check_stop(totals)
        self._collect(found)

    def _reset(self, n_warps: int) -> None:
        """Orders of the next launch, and what it begins with."""
        control = self._control
        for name in ("tickets", "gifts", "stop", "pool_next", "n_out", "lock"):
            control[name] = 0
        control["n_optima"] = 0
        control["best"] = NO_VALUE
        control["ub"] = self._ub
        control["n_warps"] = n_warps
        control["branching_ub"] = self._branching_ub

    def _end_launch(self) -> None:
        """Have a launch under way end as if its time were over; from any thread.

        One that ends just now may leave the order to the next one, which then ends at
        once: a short slice, and nothing is lost.
        """
        import cupy

        with self._guard:
            memory = self._memory
            if not self._interruptible or memory is None:
                return
            place = memory.control.data.ptr + STOP_AT
            try:
                with cupy.cuda.Device(self._kernels.device):
                    cupy.cuda.runtime.memcpyAsync(
                        place,
                        self._pinned_stop.ptr,
                        4,
                        _HOST_TO_DEVICE,
                        self._beside.ptr,
                    )
            except cupy.cuda.runtime.CUDARuntimeError as error:
                # the thread of the session meets it, too, and says so
                logger.debug("the launch could not be ended: %s", error)

    def _collect(self, found: list[Candidate]) -> None:
        """After a launch: the upper bound and the leaves that it has found."""
        control = self._control
        self._ub = min(self._ub, int(control["ub"][0]))
        if self._all_optima:
            found += self._leaves(int(control["n_optima"][0]))
        elif int(control["best"][0]) != NO_VALUE:
            found += self._leaves(1)

    def _leaves(self, count: int) -> list[Candidate]:
        words = self._require_memory().leaves[: count * self._shape.leaf_words].get()
        leaves = words.reshape(count, self._shape.leaf_words)
        if self._all_optima:
            leaves = leaves[leaves[:, 0] < self._ub]
        return [
            candidate_of_leaf(leaf, self._shape, self._problem, self._order)
            for leaf in leaves
        ]

    def _check_stop(self, totals: NDArray[Any]) -> None:
        stop = Stop(int(self._control["stop"][0]))
        if stop is Stop.ALL_DONE and self._pool_size:
            raise InvariantError(
                f"the device reported an empty pool and left {self._pool_size} pages"
            )
        pages = self._free_pages + self._pool_size
        if pages != self._plan.n_pages:
            raise InvariantError(
                f"{pages} of {self._plan.n_pages} pages are left after a launch"
            )
        if stop is not Stop.OUT_OF_PAGES:
            return
        budget = self._budget
        if budget.is_last and not int(self._control["batches"][0]):
            raise DeviceError(
                f"{self._plan.n_pages} pages of device memory are used up by open "
                "nodes; use a device with more free memory, or the cpu engine"
            )
        before = budget.limit
        budget.used_up(int(self._control["n_warps"][0]), self._free_pages)
        if budget.limit != before:
            logger.warning(
                "pages of device memory used up: going on with %d of %d warps "
                "(balance=steal needs less memory)",
                budget.limit,
                self._n_warps,
            )

    def _send(self) -> None:
        memory = self._require_memory()
        for name in (*COUNTERS, "open_roots"):
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
            for name in COUNTERS:
                totals[name] += self._control[name]

    def _walk_pending(self, totals: NDArray[Any]) -> None:
        """Put pending roots into the pool, as many as there are pages for."""
        if not self._pending:
            return
        import cupy

        free = self._budget.loadable(self._free_pages, explores=self._explores)
        if free <= WALK_CLAIM and self._explores:
            return
        unit = WorkUnit.concatenate(self._pending)
        order, first, count, depths = pages_of_unit(unit)
        control = self._control
        n_warps = min(self._kernels.walk_warps, max(1, free // (4 * WALK_CLAIM)))
        n_pages = min(len(first), free - WALK_CLAIM * n_warps)
        if n_pages <= 0:
            self._pending = [unit]
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
        control["spare_pages"] = 0
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
        if not self._explores:
            return None
        self._control["least_bound"] = NO_VALUE
        self._send()
        self._count(self._require_memory().arenas[self._pool_side])
        self._receive()
        self._open_roots = int(self._control["open_roots"][0])
        return int(self._control["least_bound"][0])

    def _count(self, arena: Any) -> None:  # noqa: ANN401
        """Have the device count and bound what is open."""
        self._kernels.survey(self._stream, arena)
