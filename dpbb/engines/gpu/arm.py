"""A way of balancing work over the warps of a device: what a session asks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpbb.engines.gpu.kernels import Exploration, Kernels
    from dpbb.engines.gpu.memory import MemoryPlan
    from dpbb.engines.gpu.orders import Orders
    from dpbb.engines.gpu.page_budget import PageBudget
    from dpbb.engines.gpu.pool import PagePool
    from dpbb.engines.gpu.shape import KernelShape
    from dpbb.tree.work_unit import WorkUnit


class Arm(Protocol):
    """Launches the kernels that explore; owns what explorers keep besides pages.

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

    Parameters
    ----------
    kernels
        Compiled for ``exploration``.
    pool, plan
        Made for ``plan``.
    """

    exploration: ClassVar[Exploration]
    explorers_per_warp: ClassVar[int]
    pool: PagePool
    budget: PageBudget
    n_warps: int

    def __init__(self, kernels: Kernels, pool: PagePool, plan: MemoryPlan) -> None: ...

    @staticmethod
    def wanted_warps(kernels: Kernels, explorers: int | None) -> int:
        """Warps for so many explorers; None: as many as suit the device."""

    @staticmethod
    def plan(
        shape: KernelShape, n_warps: int, free_bytes: int, *, all_optima: bool
    ) -> MemoryPlan:
        """Plan memory for so many warps, or for as many as fit."""

    @property
    def explores(self) -> bool:
        """Whether there are open nodes on the device."""

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

    def promoted(self, limit: int) -> NDArray[np.uint32]:
        """Complete the nodes in hand; the best of each warp.

        Parameters
        ----------
        limit
            A completion on whose way a bound reaches this is none.

        Returns
        -------
        ndarray of uint32, shape (n_warps, leaf_words)
            See ``dpbb.engines.gpu.leaves.nodes_promoted``.
        """

    def held(self) -> WorkUnit:
        """Open roots that are with explorers; changes nothing."""

    def drop_held(self) -> None:
        """Forget the explorers' open roots: they are loaded anew."""

    @property
    def statistics(self) -> dict[str, float]:
        """What the bench shows besides counters."""
