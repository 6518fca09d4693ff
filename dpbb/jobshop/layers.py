"""Layers: operations that may be scheduled at once, O(d) rounds.

The level of an operation is 1 more than the larger level of the two that it waits for,
so that all operations of a level are independent, and the number of levels d is that of
the longest chain: the least possible. (The paper takes maximal runs without an arc of
a given topological order, whose number depends on the order.)

References
----------
Bozejko, Uchronski, Wodecki, "Parallel cost function determination on GPU for the job
shop scheduling problem", PPAM 2011, LNCS 7204, 2012.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.jobshop.graph import NONE, Graph
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import Encoding


@dataclass(frozen=True, slots=True, eq=False)
class Layers:
    """Levels of the operations of a solution.

    Parameters
    ----------
    level : ndarray of int64, shape (n_operations,)
        From 0.
    sizes : ndarray of int64, shape (d,)
        Number of operations of every level.
    start : ndarray of int64, shape (n_operations,)
        Earliest starts, found level by level.
    """

    level: NDArray[np.int64]
    sizes: NDArray[np.int64]
    start: NDArray[np.int64]

    @property
    def depth(self) -> int:
        """Number of layers d."""
        return self.sizes.size


def layers(
    instance: JobShopInstance,
    solution: Any,
    encoding: str | Encoding = Encoding.SEQUENCE,
) -> Layers:
    """Return the layers of a solution, scheduling each of them as one array.

    Raises
    ------
    InstanceError
        No solution of this shop, or a cyclic one.
    """
    graph = Graph.of(instance, solution, encoding)
    level = np.full(instance.n_operations, NONE, np.int64)
    start = np.zeros(instance.n_operations, np.int64)
    start[instance.first[:-1]] = instance.release
    sizes: list[int] = []
    waits = np.stack([graph.job_before, graph.machine_before])
    open_ = np.arange(instance.n_operations)
    end = np.zeros(instance.n_operations + 1, np.int64)  # the last one: of NONE
    done = np.zeros(instance.n_operations + 1, np.bool_)
    done[NONE] = True
    while open_.size:
        ready = done[waits[:, open_]].all(axis=0)
        layer, open_ = open_[ready], open_[~ready]
        start[layer] = np.maximum(start[layer], end[waits[:, layer]].max(axis=0))
        end[layer] = start[layer] + instance.times[layer]
        done[layer] = True
        level[layer] = len(sizes)
        sizes.append(layer.size)
    return Layers(level, np.array(sizes, np.int64), start)
