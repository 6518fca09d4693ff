"""From parents to their open children, in batches: on cores, or on a GPU."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.pool.nodes import BACK_BIT, Batch
from dpbb.kernels import models
from dpbb.kernels.compiling import entry, int64
from dpbb.kernels.pairs import Branching, Room, branch
from dpbb.kernels.pointers import addresses, pointer_of, pointers
from dpbb.options import TreeOptions
from dpbb.problem import Problem

Codes = tuple[NDArray[np.int32], NDArray[np.uint16], NDArray[np.int32]]
"""Children: number of the node, code and bound; see ``Batch.children``."""


class Brancher(Protocol):
    """A problem with its tree on cores or a device; called by several threads.

    Attributes
    ----------
    first_size
        Children of a first batch, for each thread.
    least_part
        Fewest nodes that are worth a call.
    """

    first_size: int
    least_part: int

    def branch(self, nodes: Batch, ub: int) -> Codes:
        """Choose the side of nodes; return their children there of bounds below ub.

        Of equal jobs the first alone. Tightened bounds, if the tree has any.
        """


class Cores:
    """Branches on nodes by the model that the CPU engine has of a problem.

    ``model``: the class of models; ``ub``: the largest one of all calls.
    """

    first_size = 512
    least_part = 16

    def __init__(
        self, model: Any, problem: Problem[Any], tree: TreeOptions, ub: int
    ) -> None:
        self._tables = Branching.of(model, problem, tree, ub)
        self._most = self._tables.largest

    def branch(self, nodes: Batch, ub: int) -> Codes:
        """See ``Brancher``; children are ordered by node and digit."""
        tables = self._tables
        most = nodes.size * tables.model.n_jobs - int(nodes.depths.sum())
        found = (
            np.empty(most, np.int32),
            np.empty(most, np.uint16),
            np.empty(most, np.int32),
        )
        room, root = tables.room(), tables.model.root
        way = np.empty((2, len(root)), root.dtype)
        at = addresses(tables), addresses(room), root.dtype.type(0)
        made = _branch(*at, nodes, way, min(ub, self._most), *found)
        parent, code, bounds = (part[:made] for part in found)
        return parent, code, bounds


@entry
def _branch(
    tables_in: Branching,
    room_in: Room,
    lane: np.signedinteger[Any],
    parents: Batch,
    way: NDArray[Any],
    ub: int,
    parent: NDArray[np.int32],
    code: NDArray[np.uint16],
    bounds: NDArray[np.int32],
) -> int:
    """Write the open children of nodes; return how many there are.

    ``way``: room for two nodes of the model.
    """
    tables, room = pointers(tables_in, lane), pointers(room_in, lane)
    model, nodes = tables.model, pointer_of(way)
    n_jobs, lanes = model.n_jobs, model.node_lanes
    made = 0
    for number in range(len(parents.front)):
        row, at = parents.rows[number], int64(0)
        n_front, n_back = int64(parents.front[number]), int64(parents.back[number])
        for i in range(lanes):
            nodes[i] = model.root[i]
        for step in range(n_front + n_back):
            side = int64(step >= n_front)
            job = int64(row[n_jobs - 1 - (step - n_front) if side else step])
            to = lanes - at
            models.step(model, nodes, at, nodes, to, room.scratch, job, side)
            at = to
        count = n_jobs - n_front - n_back
        for i in range(count):
            room.slot_jobs[i] = int64(row[n_front + i])
        side = branch(tables, nodes, at, n_front + n_back, room, count, int64(ub))
        for digit in range(count):
            bound = int64(room.bounds[2 * digit + side])
            if bound < ub:
                parent[made] = number
                code[made] = digit + (BACK_BIT if side else 0)
                bounds[made] = bound
                made += 1
    return made
