"""Device memory of one session: how much it takes, where it lies, for whom it suffices.

An explorer searches depth first and can say how many pages it will ever hold, but all
explorers of a device together seldom come near to that, and most instances would get
few of them if every one had its pages set aside. So all of them begin, and leave some
pages free. When only those are left, fewer explorers go on and leave half of them, and
so on, until what is free is enough for the worst case of those that are left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.gpu.layout import ARENA, CONTROL, NONE, PageLayout
from dpbb.errors import EngineUnavailable

if TYPE_CHECKING:
    from dpbb.engines.gpu.kernels import KernelShape

MadeT = TypeVar("MadeT")

MEMORY_SHARE = 0.5
"""Part of the free device memory that a session's pages may take."""
LEAST_WARPS = 4
"""Warps that must have memory; those of a block that have none stay idle."""
MANY_PAGES = 32
"""Pages of the pool for each warp from which on a launch begins with the deepest ones.

A launch begins with pages in the order in which the one before left them, the shallow
ones first: warps find much work below them. Without end that is a search in breadth.
Of few jobs it begins with those near the first schedule, and the deepest of them.
"""
SPARE_PAGES = 1 << 16
"""Pages beyond the worst case of the explorers: loaded roots in partly filled pages."""
SPARE_SHARE = 4
"""One in so many pages is left free by all explorers."""
FEWER = 4
"""One in so many explorers goes on when pages are used up."""
CLAIM = 64
"""Pages that an explorer may have at hand beside those it fills."""


SHARED_ARRAYS = ["control", "pages", "next", "meta", "free_ring", "gift_ring"]
SHARED_ARRAYS += ["rows", "critical", "root", "closed", "leaves"]
"""Attributes of ``DeviceMemory`` that both arenas have the addresses of."""


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
    pages = shape.pages
    budget = int(free_bytes * MEMORY_SHARE)
    per_page = pages.page_bytes + 4 * 6  # next, meta, pool, out, twice in the ring
    least = shape.pages_per_warp + CLAIM
    least_warps = min(shape.warps, LEAST_WARPS)
    while True:
        n_leaves = leaf_capacity(32 * n_warps, all_optima=all_optima)
        leaf_bytes = n_leaves * 4 * pages.leaf_words
        n_pages = (budget - leaf_bytes) // per_page
        if n_pages >= least + 32 * n_warps:
            wanted = n_warps * (shape.pages_per_warp + MANY_PAGES) + SPARE_PAGES
            return MemoryPlan(int(min(n_pages, wanted, 1 << 30)), n_warps, n_leaves)
        if n_warps <= least_warps:
            raise EngineUnavailable(
                f"{shape.model.described} need "
                f"{per_page * (least + 32 * n_warps) / 2**30:.2f} GiB on the device, "
                f"a session may take {budget / 2**30:.2f} ({MEMORY_SHARE:.0%} of what "
                "is free)"
            )
        n_warps = max(least_warps, n_warps // 2)


def free_device_bytes() -> int:
    """Device memory that this process could still allocate."""
    import cupy

    pool = cupy.get_default_memory_pool()
    return int(cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes())


def held_text() -> str:
    """Say how much of the device's memory is free, and who holds the rest."""
    import cupy

    free, total = cupy.cuda.runtime.memGetInfo()
    pool = cupy.get_default_memory_pool()
    free += pool.free_bytes()
    ours = pool.used_bytes()
    others = max(0, total - free - ours)
    return (
        f"of {total / 2**30:.1f} GiB {free / 2**30:.1f} are free, this process has "
        f"{ours / 2**30:.1f}, others {others / 2**30:.1f}"
    )


def allocate(
    plan: Callable[[int, int], MemoryPlan],
    make: Callable[[MemoryPlan], MadeT],
    wanted: int,
    least: int,
) -> MadeT:
    """Allocate what fits the device, although others take memory meanwhile.

    Parameters
    ----------
    plan
        ``plan(n_warps, free_bytes)``.
    make
        Allocates what a plan says; its result is returned.
    wanted, least
        Warps that explore: the most, and those that must have memory.

    Raises
    ------
    EngineUnavailable
        Not even the least number of warps has memory.
    """
    import cupy
    from cupy.cuda.memory import OutOfMemoryError

    free = free_device_bytes()
    while True:
        try:
            planned = plan(wanted, free)
        except EngineUnavailable as error:
            raise EngineUnavailable(f"{error}: {held_text()}") from error
        try:
            return make(planned)
        except OutOfMemoryError as error:
            reason = str(error)
        # not above: as long as the error is there, so are the arrays that fitted
        cupy.get_default_memory_pool().free_all_blocks()
        if planned.n_warps <= least:
            raise EngineUnavailable(f"no device memory: {held_text()}: {reason}")
        wanted = max(least, planned.n_warps // 2)
        free = min(free // 2, free_device_bytes())


def _ring_length(count: int) -> int:
    """Power of two, so that tickets wrap around with their 32 bits."""
    return 1 << max(1, count - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Packed:
    """What the kernels read of a problem.

    Parameters
    ----------
    rows, root : ndarray of uint32
        What ``CudaModel.pack`` returns.
    critical : ndarray of uint32
        What ``CudaModel.critical`` returns; none where no kernel bounds one side first.
    equal : ndarray of uint32
        Words of ``PageLayout.equal_words``; none without a rule for equal jobs.
    """

    rows: NDArray[np.uint32]
    root: NDArray[np.uint32]
    critical: NDArray[np.uint32]
    equal: NDArray[np.uint32]


class DeviceMemory:
    """The arrays of one session, on the current device.

    Parameters
    ----------
    layout
        What a page is.
    packed
        What the kernels read of the problem.
    plan
        How many there are of everything.
    """

    def __init__(
        self, layout: PageLayout, packed: Packed, plan: MemoryPlan, *, all_optima: bool
    ) -> None:
        import cupy

        n_pages = plan.n_pages
        # twice the pages: a ticket's place is free again before it comes round
        free_length = _ring_length(2 * n_pages)
        gift_length = _ring_length(4 * plan.n_warps)
        free_ring = np.full(free_length, NONE, np.uint32)
        free_ring[:n_pages] = np.arange(n_pages, dtype=np.uint32)
        page_words = layout.page_bytes // 4
        self.pages = cupy.empty(n_pages * page_words, np.uint32)
        self.next = cupy.empty(n_pages, np.uint32)
        self.meta = cupy.empty(n_pages, np.uint32)
        self.free_ring = cupy.asarray(free_ring)
        self.gift_ring = cupy.asarray(np.full(gift_length, NONE, np.uint32))
        self.pools = [cupy.empty(n_pages, np.uint32) for _ in range(2)]
        self.rows = cupy.asarray(packed.rows)
        self.critical = cupy.asarray(packed.critical)
        root = np.concatenate([layout.page_of(packed.root), packed.equal])
        self.root = cupy.asarray(root)
        self.closed = cupy.asarray(np.zeros(layout.n_jobs + 1, np.uint64))
        self.leaves = cupy.empty(plan.n_leaves * layout.leaf_words, np.uint32)
        self.control = cupy.empty(CONTROL.itemsize, np.uint8)
        self.arenas = [self._arena(side, plan, all_optima) for side in range(2)]

    def _arena(self, side: int, plan: MemoryPlan, all_optima: bool) -> Any:
        import cupy

        arena = np.zeros(1, ARENA)
        for name in SHARED_ARRAYS:
            arena[name] = getattr(self, name).data.ptr
        arena["pool"] = self.pools[side].data.ptr
        arena["out"] = self.pools[1 - side].data.ptr
        arena["free_bits"] = len(self.free_ring) - 1
        arena["gift_bits"] = len(self.gift_ring) - 1
        arena["n_leaves"] = plan.n_leaves
        arena["all_optima"] = all_optima
        return cupy.asarray(arena.view(np.uint8))


class PageBudget:
    """Bounds on the explorers of the next launch.

    Attributes
    ----------
    limit : int or None
        Most explorers; None: all. While there is a limit, pages of deep nodes have to
        be explored first: only then is the worst case that of an explorer.
    spare : int
        Pages that they have to leave free.

    Parameters
    ----------
    n_pages
        All pages.
    pages_per_warp
        Pages that one explorer can ever hold.
    """

    def __init__(self, n_pages: int, pages_per_warp: int) -> None:
        self._need = pages_per_warp + CLAIM
        self._spare_of_all = max(self._need, n_pages // SPARE_SHARE)
        self._plenty = (n_pages + self._spare_of_all) // 2
        self.limit: int | None = None
        self.spare = self._spare_of_all

    def most(self, explorers: int) -> int:
        """How many of so many explorers may go on."""
        return explorers if self.limit is None else min(explorers, self.limit)

    @property
    def is_last(self) -> bool:
        """Whether there is nothing left to give up: one explorer, no spare page."""
        return self.limit == 1 and self.spare == 0

    def loadable(self, free: int, *, explores: bool) -> int:
        """Pages that new roots may fill; none while explorers are short of pages.

        With nothing open a shortage is over: the limit and what is spare are reset.
        """
        if not explores:
            self.limit, self.spare = None, self._spare_of_all
        if self.limit is not None:
            return 0
        return free - self._spare_of_all

    def look(self, free: int) -> None:
        """Before a launch: take back a limit that the free pages have made needless."""
        if self.limit is None:
            return
        enough = free // self._need
        if free >= self._plenty:
            self.limit, self.spare = None, self._spare_of_all
        elif enough >= self.limit:
            self.limit, self.spare = enough, 0

    def used_up(self, explorers: int, free: int) -> None:
        """After a launch of so many explorers that has run out of pages."""
        if self.limit is None:  # all of them need more than that
            self._plenty = max(self._plenty, free + 1)
        enough = max(1, free // self._need)
        fewer = explorers // FEWER
        if fewer <= enough or free // 2 < self._need:
            self.limit, self.spare = enough, 0
        else:
            self.limit, self.spare = fewer, free // 2
