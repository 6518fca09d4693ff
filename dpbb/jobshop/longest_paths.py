"""Longest paths between all pairs of operations, in max-plus algebra.

Vertex 0 is artificial and stands before everything, vertex v + 1 is operation v. An arc
into an operation weighs the operation's time, so that a path from vertex 0 ends when
the operation does. O(o^3) for what one sweep over the graph finds in O(o): this is the
method of the paper, kept to be compared with, and for those who need all pairs.

The paper marks "no path" by 0, which operations without a duration would be, too, and
weighs an arc by the operation that it leaves, which makes the first arcs 0. Here no
path is ``NO_PATH``.

References
----------
Bozejko, Uchronski, Wodecki, "Parallel cost function determination on GPU for the job
shop scheduling problem", PPAM 2011, LNCS 7204, 2012.
"""

from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError, refuse, shown
from dpbb.jobshop.graph import NONE, Graph
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import Encoding
from dpbb.options.kinds import member

NO_PATH = -1
"""In place of a length where there is no path."""


MAX_OPERATIONS = 20_000
"""Operations of which the matrix is made: it takes 1.6 GB."""


class Method(StrEnum):
    """Algorithms for all pairs."""

    FLOYD_WARSHALL = "floyd_warshall"
    """o steps over the whole matrix: the paper's kernel."""
    BLOCKED = "blocked"
    """The same in tiles of the matrix, on a GPU only."""
    SQUARING = "squaring"
    """About log2(d) max-plus products of the matrix with itself."""


def arcs_matrix(graph: Graph) -> NDArray[np.int32]:
    """Return the weights of the arcs, ``NO_PATH`` without; shape (o + 1, o + 1)."""
    instance = graph.instance
    o = instance.n_operations
    matrix = np.full((o + 1, o + 1), NO_PATH, np.int32)
    for before in (graph.job_before, graph.machine_before):
        later = np.flatnonzero(before != NONE)
        matrix[before[later] + 1, later + 1] = instance.times[later]
    starts = instance.first[:-1]
    matrix[0, starts + 1] = instance.release + instance.times[starts]
    return matrix


def longest_paths(
    instance: JobShopInstance,
    solution: Any,
    encoding: str | Encoding = Encoding.SEQUENCE,
    *,
    method: str | Method = Method.FLOYD_WARSHALL,
    device: str = "cpu",
) -> NDArray[np.int32]:
    """Return the lengths of the longest paths between all operations.

    Parameters
    ----------
    method
        ``"floyd_warshall"``, ``"squaring"`` or, on a GPU, ``"blocked"``.
    device
        ``"cpu"`` or ``"gpu"``.

    Returns
    -------
    ndarray of int32, shape (o + 1, o + 1)
        Row 0 has the ends of the operations: entry (0, v + 1) that of operation v.
        Entry (u + 1, v + 1) is the longest time from the end of u to the end of v if
        v has to wait for u, else ``NO_PATH``; all of column 0 is.

    Raises
    ------
    InstanceError
        No solution of this shop, or a cyclic one: lengths would have no limit; more
        than ``MAX_OPERATIONS``.
    OptionError
        No such method on this device.
    """
    how = member(Method, method, "method")
    if device not in ("cpu", "gpu"):
        raise OptionError(f"device: expected cpu or gpu, got {shown(device)}")
    if instance.n_operations > MAX_OPERATIONS:
        refuse(
            f"{instance.name}: longest paths",
            f"at most {MAX_OPERATIONS:,} operations",
            f"{instance.n_operations:,}",
        )
    graph = Graph.of(instance, solution, encoding)
    matrix = arcs_matrix(graph)
    if device == "gpu":
        from dpbb.jobshop import gpu_paths

        ends = graph.heads() + instance.times
        return gpu_paths.closure(matrix, how, longest=int(ends.max()))
    if how is Method.BLOCKED:
        raise OptionError("method: expected floyd_warshall or squaring on a CPU")
    from dpbb.jobshop import cpu_paths

    return cpu_paths.closure(matrix, how)
