"""Device memory of one session: how much it takes and where it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.gpu.layout import ARENA, CONTROL, NONE
from dpbb.errors import EngineUnavailable

if TYPE_CHECKING:
    from dpbb.engines.gpu.shape import KernelShape, PackedInstance

MEMORY_SHARE = 0.5
"""Part of the free device memory that a session's pages may take."""
SPARE_PAGES = 1 << 16
"""Pages beyond the worst case of the explorers: loaded roots in partly filled pages."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Numbers of things in device memory.

    Parameters
    ----------
    n_pages
        Pages of 32 open nodes.
    n_warps
        Explorers.
    n_leaves
        Leaves that a launch can report.
    """

    n_pages: int
    n_warps: int
    n_leaves: int


def leaf_capacity(at_a_time: int, *, all_optima: bool) -> int:
    """Leaves that a launch can report, when so many may be found at the same time."""
    return 3 * at_a_time + (1 << 14) if all_optima else 1


def plan_memory(
    shape: KernelShape, n_warps: int, free_bytes: int, *, all_optima: bool
) -> MemoryPlan:
    """Return what fits: fewer explorers where memory is short.

    Raises
    ------
    EngineUnavailable
        Not even the smallest number of explorers fits.
    """
    budget = int(free_bytes * MEMORY_SHARE)
    per_page = shape.page_bytes + 4 * 6  # next, meta, pool, out, twice in the ring
    least = shape.pages_per_warp + 64
    while True:
        n_leaves = leaf_capacity(32 * n_warps, all_optima=all_optima)
        leaf_bytes = n_leaves * 4 * (shape.leaf_words)
        n_pages = (budget - leaf_bytes) // per_page
        if n_pages >= least + 32 * n_warps:
            wanted = n_warps * shape.pages_per_warp + SPARE_PAGES
            return MemoryPlan(int(min(n_pages, wanted, 1 << 30)), n_warps, n_leaves)
        if n_warps <= shape.warps:
            raise EngineUnavailable(
                f"{shape.n_jobs} jobs on {shape.n_machines} machines need "
                f"{per_page * (least + 32 * n_warps) / MEMORY_SHARE / 2**30:.1f} GiB "
                f"of free device memory, there are {free_bytes / 2**30:.1f} GiB"
            )
        n_warps = max(shape.warps, n_warps // 2)


def _ring_length(count: int) -> int:
    """Power of two, so that tickets wrap around with their 32 bits."""
    return 1 << max(1, count - 1).bit_length()


class DeviceMemory:
    """The arrays of one session, on the current device."""

    def __init__(
        self,
        shape: KernelShape,
        packed: PackedInstance,
        plan: MemoryPlan,
        *,
        all_optima: bool,
    ) -> None:
        import cupy

        n_pages = plan.n_pages
        # twice the pages: a ticket's place is free again before it comes round
        free_length = _ring_length(2 * n_pages)
        gift_length = _ring_length(4 * plan.n_warps)
        free_ring = np.full(free_length, NONE, np.uint32)
        free_ring[:n_pages] = np.arange(n_pages, dtype=np.uint32)
        page_words = shape.page_bytes // 4
        self.pages = cupy.empty(n_pages * page_words, np.uint32)
        self.next = cupy.empty(n_pages, np.uint32)
        self.meta = cupy.empty(n_pages, np.uint32)
        self.free_ring = cupy.asarray(free_ring)
        self.gift_ring = cupy.asarray(np.full(gift_length, NONE, np.uint32))
        self.pools = [cupy.empty(n_pages, np.uint32) for _ in range(2)]
        self.rows = cupy.asarray(packed.rows)
        self.root = cupy.asarray(packed.root)
        self.closed = cupy.asarray(np.zeros(shape.n_jobs + 1, np.uint64))
        self.leaves = cupy.empty(plan.n_leaves * shape.leaf_words, np.uint32)
        self.control = cupy.empty(CONTROL.itemsize, np.uint8)
        self.arenas = [self._arena(side, plan, all_optima) for side in range(2)]

    def _arena(self, side: int, plan: MemoryPlan, all_optima: bool) -> Any:  # noqa: ANN401
        import cupy

        arena = np.zeros(1, ARENA)
        arrays = {
            "control": self.control,
            "pages": self.pages,
            "next": self.next,
            "meta": self.meta,
            "free_ring": self.free_ring,
            "gift_ring": self.gift_ring,
            "pool": self.pools[side],
            "out": self.pools[1 - side],
            "rows": self.rows,
            "root": self.root,
            "closed": self.closed,
            "leaves": self.leaves,
        }
        for name, array in arrays.items():
            arena[name] = array.data.ptr
        arena["free_bits"] = len(self.free_ring) - 1
        arena["gift_bits"] = len(self.gift_ring) - 1
        arena["n_leaves"] = plan.n_leaves
        arena["all_optima"] = all_optima
        return cupy.asarray(arena.view(np.uint8))
