"""Bounds of many partial schedules: on the cores of this machine or on a GPU.

This is ``dpbb.bounds``. A partial schedule is a permutation with the number of jobs
that are fixed at its front (``d1``) and at its back (``d2``); those between are
unscheduled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError, shown
from dpbb.flowshop.bounds.lb2 import machine_pairs
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.cores import in_parts, thread_count
from dpbb.kernels.nvrtc import has_gpu
from dpbb.kernels.pool_models import Nodes
from dpbb.options import TreeOptions
from dpbb.options.kinds import one_of

if TYPE_CHECKING:
    from dpbb.flowshop.instance import FlowShopInstance

__all__ = ["lb1", "lb2", "machine_pairs"]

LEAST_FOR_GPU = 10_000_000
"""Steps (pairs of machines and jobs) from which ``"auto"`` takes a GPU, if it can."""

LEAST_PART = 256
"""Partial schedules that are worth a part of their own for a thread."""

NO_UB = 2**31 - 1


def lb1(
    instance: Any,
    permutations: Any,
    d1: Any,
    d2: Any,
    *,
    device: str = "auto",
    threads: int | None = None,
) -> NDArray[np.int32]:
    """Return one-machine bounds; parameters and results as of ``lb2``.

    Notes
    -----
    The largest, over the machines, of head + total time of the unscheduled jobs + tail.
    """
    return lb2(instance, permutations, d1, d2, pairs=(), device=device, threads=threads)


def lb2(
    instance: Any,
    permutations: Any,
    d1: Any,
    d2: Any,
    *,
    pairs: Sequence[Sequence[int]] | None = None,
    device: str = "auto",
    threads: int | None = None,
) -> NDArray[np.int32]:
    """Return two-machine bounds: never below LB1 and never above the best completion.

    They are those of trees: on an empty side heads (tails) are the least of all jobs.

    Parameters
    ----------
    instance
        Whatever ``dpbb.read_instance`` takes.
    permutations
        Shape (r, n_jobs), whole numbers: complete permutations.
    d1, d2
        Numbers of jobs fixed at the front and at the back, shape (r,), or one number
        for all; the unscheduled jobs are ``permutation[d1 : n_jobs - d2]``.
    pairs
        Pairs of machines (u, v), u < v; default: all.
    device
        ``"cpu"``, ``"gpu"``, or ``"auto"``: for large batches a GPU if there is one.
    threads
        Of the CPU; default: the cores that this process may use.

    Returns
    -------
    ndarray of int32, shape (r,)

    Raises
    ------
    OptionError
        No such pairs or device, or something is no partial schedule: which one, why.
    EngineUnavailable
        ``device="gpu"`` without one.
    """
    from dpbb.flowshop.models.pool import PoolFlowShop

    shop = read_instance(instance)
    chosen = machine_pairs(shop.n_machines, pairs)
    one_of("auto", "cpu", "gpu").check(device, "device")
    n_threads = thread_count(threads)
    nodes = _nodes(shop, permutations, d1, d2)
    model = PoolFlowShop(FlowShopProblem(shop), TreeOptions(), chosen)
    is_large = nodes.rows.size * max(1, len(chosen)) >= LEAST_FOR_GPU
    if device == "gpu" or (device == "auto" and is_large and has_gpu()):
        return model.on_device(0, nodes=True).bound(nodes, NO_UB)
    result = np.empty(len(nodes.rows), np.int32)

    def part(begin: int, end: int) -> None:
        some = Nodes(*(array[begin:end] for array in nodes))
        result[begin:end] = model.bound(some, NO_UB)

    in_parts(part, len(result), LEAST_PART, n_threads)
    return result


def _nodes(shop: FlowShopInstance, permutations: Any, d1: Any, d2: Any) -> Nodes:
    """Return partial schedules in the form of the pool engine."""
    n_jobs = shop.n_jobs
    try:
        rows = np.asarray(permutations)
    except ValueError:
        raise OptionError("permutations: expected one length, got several") from None
    if not rows.size and rows.ndim <= 1:
        rows = np.empty((0, n_jobs), np.int64)
    if rows.ndim != 2 or rows.shape[1] != n_jobs or rows.dtype.kind not in "iu":
        raise OptionError(
            f"permutations: expected whole numbers of shape (r, {n_jobs}), got an "
            f"array of {rows.dtype}, shape {rows.shape}"
        )
    wrong = np.flatnonzero((np.sort(rows, axis=1) != np.arange(n_jobs)).any(axis=1))
    if len(wrong):
        raise OptionError(
            f"partial schedule {wrong[0]}: expected a permutation of 0 to "
            f"{n_jobs - 1}, got {shown(rows[wrong[0]].tolist())}"
        )
    front, back = (_counts(d, len(rows), name) for d, name in ((d1, "d1"), (d2, "d2")))
    wrong = np.flatnonzero((front < 0) | (back < 0) | (front + back > n_jobs))
    if len(wrong):
        one = wrong[0]
        raise OptionError(
            f"partial schedule {one}: expected d1, d2 >= 0 with d1 + d2 <= {n_jobs}, "
            f"got {front[one]} and {back[one]}"
        )
    return Nodes(*(np.ascontiguousarray(a, np.uint16) for a in (rows, front, back)))


def _counts(given: Any, count: int, name: str) -> NDArray[np.int64]:
    """Return numbers of jobs, shape (count,)."""
    numbers = np.asarray(given)
    if numbers.shape not in ((), (count,)) or numbers.dtype.kind not in "iu":
        raise OptionError(
            f"{name}: expected a whole number or {count} of them, got an array of "
            f"{numbers.dtype}, shape {numbers.shape}"
        )
    return np.broadcast_to(numbers.astype(np.int64), (count,))
