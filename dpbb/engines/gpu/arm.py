"""A way of balancing work over the warps of a device: what a session asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.engines.gpu.control import Orders
    from dpbb.engines.gpu.kernels import Exploration, Kernels, KernelShape
    from dpbb.engines.gpu.memory import MemoryPlan, PageBudget
    from dpbb.engines.gpu.pool import PagePool


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
