"""A recorded tree: which children of a node survive, and how large they are.

Recorded by exploring every subtree of ta056 at 3679 on its own, down to a size that is
not split, so that each node's size is known and its splitting can be replayed: a
donation moves roots, that is, nodes of this tree, and what they hold is what the
recorded subtrees held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class SplitTree:
    """A tree of nodes with sizes; row 0 is the root, parents come before children.

    Parameters
    ----------
    n_jobs
        Number of jobs n of the tree.
    parents : ndarray of int32, shape (r,)
        Row of each node's parent; -1 for the root.
    digits : ndarray of uint16, shape (r,)
        Which child of its parent the node is; 0 for the root.
    sizes : ndarray of float64, shape (r,)
        Work of each subtree, in nodes.
    open_roots
        How many nodes a seat is to hold at least while it has work; more make parts
        that are more alike.
    """

    n_jobs: int
    parents: NDArray[np.int32]
    digits: NDArray[np.uint16]
    sizes: NDArray[np.float64]
    open_roots: int = 64

    @property
    def children(self) -> list[NDArray[np.intp]]:
        """Rows of each node's children, in the order of their digits."""
        order = np.lexsort((self.digits[1:], self.parents[1:])) + 1
        counts = np.bincount(self.parents[1:], minlength=len(self.parents))
        return np.split(order, np.cumsum(counts)[:-1])


def load_tree(path: Path) -> SplitTree:
    """Read a recorded tree."""
    with np.load(path, allow_pickle=False) as file:
        return SplitTree(
            int(file["n_jobs"]), file["parents"], file["digits"], file["sizes"]
        )
