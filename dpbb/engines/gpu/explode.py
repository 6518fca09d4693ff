"""Balancing by pages of open nodes: an idle warp is given one by a busy warp."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from dpbb.engines.gpu.control import DeviceError
from dpbb.engines.gpu.kernels import Exploration, Kernels
from dpbb.engines.gpu.layout import ARENA, LANES, NO_VALUE, Stop, up
from dpbb.engines.gpu.memory import MANY_PAGES, MemoryPlan, PageBudget, plan_memory
from dpbb.engines.gpu.pool import Arm, PagePool
from dpbb.errors import InvariantError

if TYPE_CHECKING:
    from dpbb.engines.gpu.control import Orders
    from dpbb.engines.gpu.kernels import KernelShape

logger = logging.getLogger(__name__)

DRAIN_BATCHES = 64
"""Batches that a warp closes at the end of a launch, deepest nodes first."""

MOST_LISTED = 32
"""Jobs of a node that an ``Explorer`` lists at a time."""

SHRINKING_BATCHES = 1024
"""As many at the end of one that shrinks: some 20 ms on an H200."""


def warp_bytes(shape: KernelShape) -> int:
    """Bytes of a warp in the shared memory of ``explore``."""
    n = shape.n_jobs
    jobs = LANES * (n if shape.own_jobs else 1)
    explorer = up(4 * n + 4 * n + 4 * (n + 5) + 2 * n + LANES + jobs, 4)
    words = shape.pages.mask_words * (3 if shape.one_side else 2)
    listed = MOST_LISTED * shape.one_side
    own = explorer + (4 * words + listed) * LANES
    if shape.model.columns:  # quads lie in them
        own = up(own + 4 * LANES * shape.model.columns, 16)
    return own + filter_bytes(shape)


def filter_bytes(shape: KernelShape) -> int:
    """Bytes of a warp's ``Filter`` there, 0 if bounds are not tightened."""
    of_model = shape.model.tightening_bytes
    if not of_model:
        return 0
    return of_model + 4 * LANES * shape.model.slots


def block_bytes(shape: KernelShape) -> int:
    """Bytes of a block there: the ``Arena``, and the times of pairs of jobs."""
    n_pairs = shape.n_jobs // 32 * 16 + up(shape.n_jobs % 32, 4) // 2
    model = shape.model
    sides = 2 * (4 * n_pairs * model.side_words + model.place_bytes * model.n_critical)
    return up(ARENA.itemsize, 16) + shape.one_side * sides


class Exploding(Arm):
    """See ``Arm``; an explorer is a lane. The kernel is ``explore.cu``."""

    exploration = Exploration(
        "explore.cu", "explore", warp_bytes, block_bytes, one_side=True
    )
    explorers_per_warp = LANES
    plan = staticmethod(plan_memory)

    def __init__(self, kernels: Kernels, pool: PagePool, plan: MemoryPlan) -> None:
        super().__init__(kernels, pool, plan)
        self.budget = PageBudget(plan.n_pages, kernels.shape.pages_per_warp)
        self._pruned_at = NO_VALUE

    @staticmethod
    def wanted_warps(kernels: Kernels, explorers: int | None) -> int:
        """Warps for so many lanes, and not more than the device holds at a time."""
        if explorers is None:
            return kernels.resident_warps
        warps = up(max(1, explorers), LANES * kernels.shape.warps) // LANES
        return min(kernels.resident_warps, warps)

    def launch(
        self,
        seconds: float,
        totals: NDArray[Any],
        orders: Orders | None,
        *,
        shrinks: bool = False,
    ) -> None:
        """Explore for about so long; see ``Arm.launch``."""
        pool, control = self.pool, self.pool.control
        n_warps = self._limited()
        control.reset(n_warps)
        control["spare_pages"] = self.budget.spare
        control["shrinks"] = shrinks
        control["drain_batches"] = SHRINKING_BATCHES if shrinks else DRAIN_BATCHES
        control["budget_ns"] = int(seconds * 1e9)
        blocks = -(-n_warps // self._kernels.shape.warps)
        control.send()
        limited = self.budget.limit is not None
        if shrinks or limited:
            pool.put_in_order()
        elif pool.sides or pool.size > MANY_PAGES * n_warps:
            pool.put_in_order(pool.sides)
        self._kernels.explore(pool.stream, blocks, pool.arena)
        pool.settle()
        with nullcontext() if orders is None else orders.reach(control.address):
            control.receive(totals)
        pool.take_out()
        self._check_end()

    def _limited(self) -> int:
        """Warps of the next launch.

        Pages that a better upper bound has left without a node to explore are freed
        then. Explorers close such nodes, too, but there may be one explorer for all of
        them.
        """
        budget, pool = self.budget, self.pool
        ub = pool.control["ub"]
        if budget.limit is not None and ub < self._pruned_at:
            self._pruned_at = ub
            pool.prune()
        budget.look(pool.free_pages)
        return budget.most(self.n_warps)

    def _check_end(self) -> None:
        """Look why a launch has ended; fewer warps go on when pages are used up."""
        pool, control, budget = self.pool, self.pool.control, self.budget
        stop = Stop(control["stop"])
        if stop is Stop.ALL_DONE and pool.size:
            raise InvariantError(
                f"the device reported an empty pool and left {pool.size} pages"
            )
        pages = pool.free_pages + pool.size
        if pages != pool.n_pages:
            raise InvariantError(
                f"{pages} of {pool.n_pages} pages are left after a launch"
            )
        if stop is not Stop.OUT_OF_PAGES:
            return
        if budget.is_last and not control["batches"]:
            raise DeviceError(
                f"{pool.n_pages} pages of device memory are used up by open "
                "nodes; use a device with more free memory, or the cpu engine"
            )
        budget.used_up(control["n_warps"], pool.free_pages)
        left = budget.most(self.n_warps)
        if left < control["n_warps"]:
            logger.warning(
                "pages of device memory used up: going on with %d of %d warps",
                *(left, self.n_warps),
            )
