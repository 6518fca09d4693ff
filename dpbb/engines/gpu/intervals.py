"""Explorers of the stealing arm in device memory; mirrors ``steal.cu``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.gpu.layout import up
from dpbb.engines.gpu.memory import MemoryPlan, leaf_capacity
from dpbb.errors import EngineUnavailable

if TYPE_CHECKING:
    from dpbb.engines.gpu.shape import KernelShape

INTERVALS = np.dtype(
    [
        (name, kind)
        for kind, names in (
            ("u8", "heads levels length taken counts"),
            ("u4", "n quantum idle_limit phase n_active n_stolen"),
            ("i4", "longest"),
            ("u4", "n_thefts"),
            ("f8", "total"),
        )
        for name in names.split()
    ]
)
"""``Intervals``: addresses, and what the host and a phase tell each other."""

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
    shape: KernelShape, wanted: int, free_bytes: int, *, all_optima: bool
) -> MemoryPlan:
    """Return what fits: ``wanted`` explorers, or fewer by halves.

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
    while wanted > shape.warps and wanted * explorer_bytes(shape) > budget:
        wanted //= 2
    wanted = max(shape.warps, wanted // shape.warps * shape.warps)
    per_page = shape.pages.page_bytes + 24
    n_pages = min(POOL_PAGES, int(free_bytes * PAGES_SHARE) // per_page)
    if wanted * explorer_bytes(shape) > budget or n_pages < LEAST_PAGES:
        least = max(
            wanted * explorer_bytes(shape) / MEMORY_SHARE,
            LEAST_PAGES * per_page / PAGES_SHARE,
        )
        raise EngineUnavailable(
            f"{shape.model.described} need "
            f"{least / 2**30:.3f} GiB of free device memory, there are "
            f"{free_bytes / 2**30:.3f} GiB"
        )
    return MemoryPlan(n_pages, wanted, leaf_capacity(wanted, all_optima=all_optima))


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
