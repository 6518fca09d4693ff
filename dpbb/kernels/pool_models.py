"""What the pool engine asks of a problem with its bound: the contract of its model.

``dpbb.problems.model_of(problem, "pool", bound)`` is a class: ``obstacle(problem)``
says why it is no model of a problem, or None, and ``Model(problem, tree)`` makes one.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

BACK_BIT = 1 << 15
"""In the code of a child: it takes its job at the back. Its digit is below."""


class Nodes(NamedTuple):
    """Permutations of all jobs, numbered in root order, of which the ends are fixed.

    Parameters
    ----------
    rows : ndarray of uint16, shape (r, n_jobs)
        The permutations; jobs between the ends are unscheduled, ascending.
    front, back : ndarray of uint16, shape (r,)
        How many of the first and of the last jobs are fixed.
    """

    rows: NDArray[np.uint16]
    front: NDArray[np.uint16]
    back: NDArray[np.uint16]


class PoolModel(Protocol):
    """A problem with its tree; never changed, and called by several threads.

    Attributes
    ----------
    root_bound
        No bound of a node but the root's is below it.
    """

    n_jobs: int
    root_bound: int

    def branch(
        self, nodes: Nodes, ub: int
    ) -> tuple[NDArray[np.int32], NDArray[np.uint16], NDArray[np.int32]]:
        """Choose the side of nodes; return their children there of bounds below ub.

        By the bound that chooses sides; ``bound`` tightens it.

        Returns
        -------
        parent, code, bounds : shape (r,)
            Number of the node, ascending; digit of the child, with ``BACK_BIT`` at the
            back; its bound.
        """

    def tightened(self, depths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which nodes ``bound`` tightens, by their depths; for others it is not due."""

    def bound(self, nodes: Nodes, ub: int) -> NDArray[np.int32]:
        """Tightened bounds of nodes; what is below ``ub`` is exact."""

    def on_device(self, device: int, *, block_size: int | None = None) -> OnDevice:
        """Return what branches and bounds on a CUDA device.

        Raises
        ------
        EngineUnavailable, OptionError
            It cannot, and why.
        """


class OnDevice(Protocol):
    """A problem with its tree on a CUDA device; called by several threads.

    Attributes
    ----------
    first_size
        Children of a batch that fill the device.
    """

    first_size: int

    def branch(
        self, nodes: Nodes, ub: int
    ) -> tuple[NDArray[np.int32], NDArray[np.uint16], NDArray[np.int32], int]:
        """As ``PoolModel.branch``, in any order, and tightened; how many were so."""
