"""The open nodes of a session in pages of device memory, and how warps share them.

Between launches those of them that warps begin with are the *pool*. Roots cross the bus
only when they are loaded, given away or asked for. The kernels are those of
``transfer.cu``.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.gpu.control import Control, Orders
from dpbb.engines.gpu.layout import LANES, NO_VALUE
from dpbb.engines.gpu.memory import DeviceMemory, MemoryPlan, Packed, PageBudget
from dpbb.tree.work_unit import Packed as Paths
from dpbb.tree.work_unit import WorkUnit, narrow

if TYPE_CHECKING:
    from dpbb.engines.gpu.kernels import Exploration, Kernels, KernelShape

logger = logging.getLogger(__name__)

WALK_CLAIM = 16
"""Pages that a warp of ``walk`` claims at a time (``PageCache::reserve``)."""
CLASSES = 16 * 64
"""Of pages in order, of which there are as many as jobs at least."""
READ_BYTES = 1 << 32
"""Device memory that paths on their way out take at a time."""

SORTED_BY_HOST = 200_000
"""Roots up to which the host sorts: CuPy compiles what the device sorts with, at first,
and a quarter of a second is long for a donor that others wait for."""

_prepared: set[int] = set()
"""Devices whose first long list need not wait for the compiler."""


class PagePool:
    """Pages, the pool, and what the host does with them.

    Attributes
    ----------
    control
        Orders to the kernels and what they count; its ``ub`` is the session's.
    memory
        The arrays on the device.
    n_pages
        All pages.

    Parameters
    ----------
    kernels
        Compiled for the shape; of whatever block size.
    packed
        What they read of the problem.
    plan
        How much there is of everything.
    stream
        A stream of the current device, on which everything takes its turn.
    ub, branching_ub
        Upper bound, and that of the branching rule.
    all_optima
        Whether all optimal leaves are reported.
    sides
        On how many the tree branches, where its root order is made of a schedule; or 0.
    """

    def __init__(
        self,
        kernels: Kernels,
        packed: Packed,
        plan: MemoryPlan,
        stream: Any,
        *,
        ub: int,
        branching_ub: int | None,
        all_optima: bool,
        sides: int,
    ) -> None:
        self.layout = kernels.shape.pages
        self.memory = DeviceMemory(self.layout, packed, plan, all_optima=all_optima)
        self.n_pages = plan.n_pages
        self.stream = stream
        self.sides = sides
        self.control = Control(
            self.memory.control,
            stream,
            free_end=plan.n_pages,
            best=NO_VALUE,
            ub=ub,
            # no bound is at the limit, so a larger value is no other
            branching_ub=min(branching_ub or 0, kernels.shape.value_limit),
        )
        self._kernels = kernels
        self._side = 0

    @property
    def arena(self) -> Any:
        """Addresses of everything, for a kernel."""
        return self.memory.arenas[self._side]

    @property
    def size(self) -> int:
        """Pages of the pool."""
        return self.control["pool_size"]

    @property
    def free_pages(self) -> int:
        """Pages that hold nothing."""
        return (self.control["free_end"] - self.control["free_next"]) % 2**32

    # -- the pool ---------------------------------------------------------------------

    def pages(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Pages of the pool and their meta words: depth << 8 | records."""
        pages = self._pool[: self.size].get()
        return pages, self.memory.meta.get()[pages]

    def put_in_order(self, sides: int = 0) -> None:
        """Queue that the pages of the pool are put in order, the deepest first.

        Between ``control.send``, which tells the device how many there are, and the
        launch that takes them.

        ``sides``: on how many the tree branches, to begin with the pages nearest to the
        schedule that its root order is made of, in 16 classes, and in each of them with
        the deepest.
        """
        self._launch("classify", 2, (self.arena, np.int32(sides)))
        words = 4 * max(CLASSES, self.layout.n_jobs)
        launch, name = self._kernels.launch, "put_in_order"
        launch(name, self.stream, 1, (self.arena,), threads=512, shared_bytes=words)
        self._side = 1 - self._side

    def settle(self) -> None:
        """Queue the collection of all pages that a launch leaves, in ``out``."""
        self._launch("settle", 1, (self.arena,), threads=256)

    def take_out(self) -> None:
        """Make what the last kernel has left in ``out`` the pool."""
        self._side = 1 - self._side
        self.control["pool_size"] = self.control["n_out"]
        self.control["pool_next"] = 0

    def prune(self) -> None:
        """Free the pages without a node below the upper bound."""
        self.control["n_out"] = 0
        self.control.send()
        self._launch("prune", 2, (self.arena,))
        self.control.receive()
        self.take_out()

    def drop_taken(self) -> None:
        """Free the pages at the beginning of the pool that explorers have taken."""
        taken, size = self.control["pool_next"], self.size
        if not taken:
            return
        pages = self._pool[:taken].copy()
        self._pool[: size - taken] = self._pool[taken:size].copy()
        self.control["pool_size"] = size - taken
        self.control["pool_next"] = 0
        self._release(pages)

    def clear(self) -> None:
        """Free all pages of the pool."""
        size = self.size
        if size:
            pages = self._pool[:size].copy()
            self.control["pool_size"] = self.control["pool_next"] = 0
            self._release(pages)

    def survey(self, others: Callable[[], None] | None = None) -> tuple[int, int]:
        """Count and bound the open roots.

        Parameters
        ----------
        others
            Queues a kernel that does so with those that are not in the pool.

        Returns
        -------
        open_roots, least_bound : int
        """
        self.control["least_bound"] = NO_VALUE
        self.control.send()
        self._launch("survey", 2, (self.arena,))
        if others is not None:
            others()
        self.control.receive()
        return self.control["open_roots"], self.control["least_bound"]

    # -- roots that come and go -------------------------------------------------------

    def load(self, unit: WorkUnit, free: int, totals: NDArray[Any]) -> WorkUnit:
        """Walk to roots and put those that are not pruned into the pool.

        Parameters
        ----------
        unit
            Roots that the pool does not have.
        free
            Pages that they may take.
        totals : ndarray of CONTROL, shape (1,)
            What the walk counts is added to it.

        Returns
        -------
        WorkUnit
            The roots that no pages are left for.
        """
        import cupy

        order, first, count, depths = pages_of_unit(unit)
        most_warps = self._kernels.n_multiprocessors * 2 * self._kernels.shape.warps
        n_warps = min(most_warps, max(1, free // (4 * WALK_CLAIM)))
        n_pages = min(len(first), free - WALK_CLAIM * n_warps)
        if n_pages <= 0:
            return unit
        rest = WorkUnit.empty(unit.n_jobs)
        if n_pages < len(first):
            rows = int(first[n_pages])
            rest = unit.take(np.sort(order[rows:]))
            order = order[:rows]
        table = unit.digits
        digits, *pages = (
            cupy.asarray(np.ascontiguousarray(array))
            for array in (
                table[order],
                first[:n_pages].astype(np.uint32),
                count[:n_pages].astype(np.uint32),
                depths[:n_pages].astype(np.uint16),
            )
        )
        width = np.int32(table.shape[1])
        arguments = (self.arena, digits, width, *pages, np.uint32(n_pages))
        blocks = -(-n_warps // self._kernels.shape.warps)
        self.control["spare_pages"] = 0
        self.control.send()
        self._kernels.launch("walk", self.stream, blocks, arguments)
        self.control.receive(totals)
        return rest

    def roots(self) -> WorkUnit:
        """All roots of the pool; changes nothing."""
        pages, meta = self.pages()
        return self._read(np.stack([pages, meta, np.zeros_like(meta), meta & 255]))

    def give(self, max_roots: int) -> WorkUnit:
        """Remove about half of the roots of every depth, shallowest first."""
        import cupy

        pages, meta = self.pages()
        records = meta & 255
        given = halve_pages(meta, max_roots)
        unit = self._read(np.stack([pages, meta, records - given, given])[:, given > 0])
        everything = self.memory.meta.get()
        everything[pages] = meta - given
        self.memory.meta.set(everything)
        kept = pages[records > given]
        self._pool[: len(kept)].set(kept)
        self.control["pool_size"] = len(kept)
        freed = cupy.asarray(pages[records == given])
        if len(freed):
            self._release(freed)
        return unit

    def _read(self, parts: NDArray[np.uint32]) -> WorkUnit:
        """Roots of parts of pages.

        Parameters
        ----------
        parts : ndarray of uint32, shape (4, n_parts)
            Page, its meta word, first record and number of records of every part.
        """
        import cupy

        n_jobs = self.layout.n_jobs
        at_a_time = max(1, READ_BYTES // (2 * LANES * n_jobs))
        units = []
        for at in range(0, max(1, parts.shape[1]), at_a_time):
            pages, meta, start, count = parts[:, at : at + at_a_time]
            rows = np.zeros(len(count) + 1, np.uint64)
            np.cumsum(count, out=rows[1:])
            digits = cupy.empty((int(rows[-1]), n_jobs), np.uint16)
            arrays = [
                cupy.asarray(np.ascontiguousarray(array))
                for array in (pages, start, count, rows[:-1])
            ]
            arguments = (self.arena, *arrays, np.uint32(len(pages)), digits)
            self._launch("paths", 4, arguments)
            depths = np.repeat((meta >> 8).astype(np.uint16), count)
            units.append(self.unit_of(cupy.asarray(depths), digits))
        return units[0] if len(units) == 1 else WorkUnit.concatenate(units)

    def unit_of(self, depths: Any, digits: Any) -> WorkUnit:
        """Return roots that a kernel has written, in order.

        Many are sorted and packed where they are: a few bytes of each root then cross
        the bus. The host does it for short lists, and where the device has no memory
        left for it.

        Parameters
        ----------
        depths, digits : CuPy arrays of uint16, shape (r,) and (r, n_jobs)
            In any order; paths are padded with zeros.
        """
        import cupy

        if len(depths) > SORTED_BY_HOST:
            try:
                return self._packed(depths, digits)
            except cupy.cuda.memory.OutOfMemoryError:
                pass
        n_jobs = self.layout.n_jobs
        return WorkUnit.from_table(n_jobs, depths.get(), digits.get())[0]

    def _packed(self, depths: Any, digits: Any) -> WorkUnit:
        """Sort and pack on the device; see ``unit_of``."""
        import cupy

        depths, digits = _in_order(self.layout.n_jobs, depths, digits)
        n_rows, kind = len(depths), narrow(self.layout.n_jobs)
        shared = cupy.empty(n_rows, kind)
        own = cupy.zeros(n_rows, np.int64)
        rows = np.uint32(n_rows)
        launch, stream = self._kernels.launch_rows, self.stream
        launch("share", stream, n_rows, (digits, depths, rows, shared, own))
        ends = cupy.cumsum(own)
        tails = cupy.empty(int(ends[-1]), kind)
        launch("tail", stream, n_rows, (digits, shared, ends, rows, tails))
        paths = Paths(depths.get().astype(kind), shared.get(), tails.get())
        return WorkUnit(self.layout.n_jobs, paths)

    def prepare_long_lists(self) -> None:
        """Have CuPy compile what they need, once in a process, while it explores.

        That takes a second, in which a checkpoint would wait for the first list. The
        thread is no daemon: the interpreter must not end under the compiler.
        """
        device = self._kernels.device
        if device not in _prepared:
            _prepared.add(device)
            arguments = self.layout.n_jobs, device
            threading.Thread(target=_prepare, args=arguments, name="dpbb-nvrtc").start()

    # -- kernels ----------------------------------------------------------------------

    @property
    def _pool(self) -> Any:
        return self.memory.pools[self._side]

    def _release(self, pages: Any) -> None:
        """Give pages back to the free ring."""
        self.control.send()
        arguments = (self.arena, pages, np.uint32(len(pages)))
        self._kernels.launch("release", self.stream, 1, arguments, threads=256)
        self.control.receive()

    def _launch(
        self,
        name: str,
        per_multiprocessor: int,
        arguments: tuple[Any, ...],
        *,
        threads: int | None = None,
    ) -> None:
        blocks = self._kernels.n_multiprocessors * per_multiprocessor
        self._kernels.launch(name, self.stream, blocks, arguments, threads=threads)


class Arm(ABC):
    """Launches the kernels that explore; owns what explorers keep besides pages.

    What is not abstract is right for an arm whose open nodes are all in the pool
    between launches.

    Attributes
    ----------
    exploration
        The kernel that explores.
    explorers_per_warp
        What an explorer is: a warp or a lane.
    pool
        Pages of open nodes.
    budget
        How many pages loaded roots, and explorers, may take.
    n_warps
        Warps that explore.
    statistics
        What the bench shows besides counters.

    Parameters
    ----------
    kernels
        Compiled for ``exploration``.
    pool, plan
        Made for ``plan``.
    """

    exploration: ClassVar[Exploration]
    explorers_per_warp: ClassVar[int]
    budget: PageBudget

    def __init__(self, kernels: Kernels, pool: PagePool, plan: MemoryPlan) -> None:
        self.pool = pool
        self.n_warps = plan.n_warps
        self.statistics: dict[str, float] = {}
        self._kernels = kernels

    @staticmethod
    @abstractmethod
    def wanted_warps(kernels: Kernels, explorers: int | None) -> int:
        """Warps for so many explorers; None: as many as suit the device."""

    @staticmethod
    @abstractmethod
    def plan(
        shape: KernelShape, n_warps: int, free_bytes: int, *, all_optima: bool
    ) -> MemoryPlan:
        """Plan memory for so many warps, or for as many as fit."""

    @property
    def explores(self) -> bool:
        """Whether there are open nodes on the device."""
        return self.pool.size > 0

    @abstractmethod
    def launch(
        self,
        seconds: float,
        totals: NDArray[Any],
        orders: Orders | None,
        *,
        shrinks: bool = False,
    ) -> None:
        """Launch kernels for about so many seconds.

        Parameters
        ----------
        totals : ndarray of CONTROL, shape (1,)
            What is counted is added to it.
        orders
            May end it; None: nothing does.
        shrinks
            Close the deepest subtrees first: few open roots are to be left.
        """

    def survey(self) -> tuple[int, int]:
        """Count and bound the open roots; see ``PagePool.survey``."""
        return self.pool.survey()

    def held(self) -> WorkUnit:
        """Open roots that are with explorers; changes nothing."""
        return WorkUnit.empty(self.pool.layout.n_jobs)

    def drop_held(self) -> None:  # noqa: B027 (nothing is held)
        """Forget the explorers' open roots: they are loaded anew."""


def pages_of_unit(
    unit: WorkUnit,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.uint16]]:
    """Cut a unit into pages of at most 32 roots of one depth.

    Returns
    -------
    order : ndarray of intp, shape (r,)
        Roots by depth, then in leaf order.
    first, count, depths : ndarray, shape (n_pages,)
        First place in ``order``, number of roots and depth of every page.
    """
    order = np.argsort(unit.depths, kind="stable")
    ordered = unit.depths[order]
    new_depth = np.flatnonzero(np.diff(ordered, prepend=-1))
    ends = np.append(new_depth[1:], len(ordered))
    first = np.concatenate(
        [np.arange(a, b, LANES) for a, b in zip(new_depth, ends, strict=True)]
    )
    limit = np.concatenate(
        [np.full(-(-(b - a) // LANES), b) for a, b in zip(new_depth, ends, strict=True)]
    )
    return order, first, np.minimum(limit - first, LANES), ordered[first]


def halve_pages(meta: NDArray[np.uint32], max_roots: int) -> NDArray[np.uint32]:
    """How many roots to give from each page: half, the shallowest pages first.

    Parameters
    ----------
    meta : ndarray of uint32, shape (n_pages,)
        depth << 8 | records.
    max_roots
        Most roots to give.

    Returns
    -------
    ndarray of uint32, shape (n_pages,)
        Half of every page, rounded down and up in turn over the pages with an odd
        number of records: so of many single roots every second one is given, and
        never all of them.
    """
    order = np.argsort(meta >> 8, kind="stable")
    records = (meta & 255)[order].astype(np.int64)
    odd = records % 2
    given = records // 2 + (odd & (np.cumsum(odd) % 2 == 0))
    ends = np.minimum(np.cumsum(given), max(0, max_roots))
    result = np.zeros(len(meta), np.uint32)
    result[order] = np.diff(ends, prepend=0)
    return result


def _in_order(n_jobs: int, depths: Any, digits: Any) -> tuple[Any, Any]:
    """Sort paths on the device."""
    import cupy

    order = cupy.lexsort(_sort_keys(n_jobs, digits[:, : int(depths.max())]))
    return depths[order], digits[order]


def _prepare(n_jobs: int, device: int) -> None:
    import cupy

    try:
        with cupy.cuda.Device(device):
            cupy.cuda.runtime.setDevice(device)  # as in ``Kernels``
            depths, _ = _in_order(
                n_jobs,
                cupy.asarray(np.ones(2, np.uint16)),
                cupy.asarray(np.zeros((2, n_jobs), np.uint16)),
            )
            cupy.cumsum(depths.astype(np.int64))
    except Exception as error:  # noqa: BLE001 - whoever lists meets it again
        logger.info("device %d: no long list could be prepared: %s", device, error)


def _sort_keys(n_jobs: int, digits: Any) -> Any:
    """Keys for CuPy's ``lexsort`` by path, the last one first.

    As many digits as fit are compared at once: big-endian, so in leaf order.
    """
    import cupy

    bits = 8 if n_jobs <= 256 else 16
    per_key = 64 // bits
    rows, width = digits.shape
    keys = cupy.zeros((-(-width // per_key), rows), np.uint64)
    for column in range(width):
        key = keys[len(keys) - 1 - column // per_key]
        shift = bits * (per_key - 1 - column % per_key)
        key |= digits[:, column].astype(np.uint64) << np.uint64(shift)
    return keys
