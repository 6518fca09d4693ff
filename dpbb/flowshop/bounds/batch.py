"""Bounds of many partial schedules: on the cores of this machine or on a GPU.

This is ``dpbb.bounds``. A partial schedule is a permutation with the number of jobs
that are fixed at its front (``d1``) and at its back (``d2``); those between are
unscheduled.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError, shown
from dpbb.flowshop.bounds.lb2 import JohnsonTables, Pairs, machine_pairs, pair_bounds
from dpbb.flowshop.bounds.nodes import Nodes
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.kernels.cores import thread_count
from dpbb.kernels.nvrtc import has_gpu, require_gpu
from dpbb.options.kinds import flag, one_of, optional, whole

__all__ = ["Pairs", "lb1", "lb2", "learned_pairs", "machine_pairs"]

DEVICES = ("auto", "cpu", "gpu")

LEAST_FOR_GPU = 10_000_000
"""Steps (pairs of machines and jobs) from which ``"auto"`` takes a GPU, if it can."""

INVALID = -1
"""What kernels answer to no partial schedule; an error for the caller."""


def lb1(
    instance: Any,
    permutations: Any,  # arrays of the host or of a device, lists
    d1: Any,
    d2: Any,
    *,
    strong: bool = False,
    device: str = "auto",
    threads: int | None = None,
) -> Any:
    """Return one-machine bounds; parameters and results as of ``lb2``.

    Notes
    -----
    The largest, over the machines, of head + total time of the unscheduled jobs + tail.
    """
    no_pairs = np.empty((0, 2), np.intp)
    return _bounds(instance, no_pairs, permutations, d1, d2, strong, device, threads)


def lb2(
    instance: Any,
    permutations: Any,  # arrays of the host or of a device, lists
    d1: Any,
    d2: Any,
    *,
    pairs: str | Sequence[Sequence[int]] = Pairs.ALL,
    strong: bool = False,
    device: str = "auto",
    threads: int | None = None,
) -> Any:
    """Return two-machine bounds: never below LB1 and never above the best completion.

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
        Which pairs of machines: ``"all"``, ``"adjacent"`` or ``"last"``, or pairs
        (u, v), u < v, such as ``learned_pairs`` gives.
    strong
        Heads and tails are the least that an unscheduled job has behind the fixed ones.
        Otherwise they are where the fixed jobs end, and on an empty side the least over
        the unscheduled ones: cheaper and at most as high.
    device
        ``"cpu"``, ``"gpu"``, or ``"auto"``: where the permutations are, and for large
        batches a GPU if there is one.
    threads
        Of the CPU; default: the cores that this process may use.

    Returns
    -------
    ndarray of int32, shape (r,)
        Of NumPy; of CuPy if the permutations were on a device.

    Raises
    ------
    OptionError
        No such pairs or device, or something is no partial schedule: which one, why.
    EngineUnavailable
        ``device="gpu"`` without one.
    """
    shop = read_instance(instance)
    chosen = machine_pairs(shop.n_machines, pairs)
    return _bounds(shop, chosen, permutations, d1, d2, strong, device, threads)


def learned_pairs(
    instance: Any,
    permutations: Any,
    d1: Any,
    d2: Any,
    ub: int,
    *,
    most: int | None = None,
    strong: bool = False,
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of machines that cut sampled nodes, the most useful ones first.

    Each next pair is the one that cuts most of the nodes that no pair before it cuts;
    it ends when the rest of the pairs cuts no further node.

    Parameters
    ----------
    instance, permutations, d1, d2, strong
        As of ``lb2``, on the host: some hundred nodes of a tree.
    ub
        A bound that is not below this cuts; nodes that LB1 cuts say nothing.
    most
        No more pairs than this.

    Raises
    ------
    OptionError
        As of ``lb2``, or ``ub`` or ``most`` is no whole number >= 0.
    """
    ub = whole(0).check(ub, "ub")
    most = optional(whole(0)).check(most, "most")
    shop = read_instance(instance)
    below = (
        np.asarray(lb1(shop, permutations, d1, d2, strong=strong, device="cpu")) < ub
    )
    rows = np.asarray(permutations, np.intp).reshape(-1, shop.n_jobs)[below]
    front, back = (np.broadcast_to(d, below.shape)[below] for d in (d1, d2))
    nodes = Nodes.of(shop.times, rows, front, back, strong=strong)
    tables = JohnsonTables.of(shop.times, machine_pairs(shop.n_machines))
    found = pair_bounds(tables, nodes.heads, nodes.tails, nodes.unscheduled)
    cuts = found >= ub
    chosen: list[tuple[int, int]] = []
    while cuts.any() and (most is None or len(chosen) < most):
        best = int(cuts.sum(axis=0).argmax())
        u, v = tables.pairs[best]
        chosen.append((int(u), int(v)))
        cuts = cuts[~cuts[:, best]]
    return tuple(chosen)


def _bounds(
    instance: Any,
    pairs: NDArray[np.intp],
    permutations: Any,
    d1: Any,
    d2: Any,
    strong: bool,
    device: str,
    threads: int | None,
) -> Any:
    shop = read_instance(instance)
    flag().check(strong, "strong")
    one_of(*DEVICES).check(device, "device")
    n_threads = thread_count(threads)
    resident = hasattr(permutations, "__cuda_array_interface__")
    if resident and device == "cpu":
        raise OptionError("device: expected auto or gpu for what is on a device")
    arrays = require_gpu() if resident else np
    rows = _permutations(arrays, permutations, shop.n_jobs)
    front = _counts(arrays, d1, len(rows), "d1")
    back = _counts(arrays, d2, len(rows), "d2")
    if resident or device == "gpu" or (device == "auto" and _suits_gpu(rows, pairs)):
        bounds = _on_gpu(shop, pairs, rows, front, back, strong)
        bounds = bounds if resident else bounds.get()
    else:
        from dpbb.flowshop.bounds import batch_cpu

        tables = JohnsonTables.of(shop.times, pairs)
        nodes = (_narrow(np, rows, np.int32), front, back)
        bounds = batch_cpu.bounds(
            shop.times, tables, *nodes, strong=strong, threads=n_threads
        )
    wrong = bounds == INVALID
    if bool(wrong.any()):
        i = int(wrong.argmax())
        _refuse(i, rows[i].tolist(), int(front[i]), int(back[i]))
    return bounds


def _permutations(arrays: Any, given: Any, n_jobs: int) -> Any:
    """Return rows of whole numbers; ``arrays``: NumPy or CuPy."""
    try:
        rows = arrays.asarray(given)
    except ValueError:
        raise OptionError("permutations: expected one length, got several") from None
    if rows.size == 0 and rows.ndim <= 1:
        return arrays.empty((0, n_jobs), np.int32)
    if rows.ndim != 2 or rows.shape[1] != n_jobs or rows.dtype.kind not in "iu":
        raise OptionError(
            f"permutations: expected whole numbers of shape (r, {n_jobs}), got an "
            f"array of {rows.dtype}, shape {rows.shape}"
        )
    return rows


def _counts(arrays: Any, given: Any, count: int, name: str) -> Any:
    """Return numbers of jobs as int32, shape (count,)."""
    numbers = arrays.asarray(given)
    if numbers.shape not in ((), (count,)) or numbers.dtype.kind not in "iu":
        raise OptionError(
            f"{name}: expected a whole number or {count} of them, got an array of "
            f"{numbers.dtype}, shape {numbers.shape}"
        )
    numbers = arrays.broadcast_to(numbers, (count,))
    return _narrow(arrays, numbers, np.int32)


def _narrow(arrays: Any, values: Any, dtype: Any) -> Any:
    """Return an array in a type of compiled code; what does not fit is no job."""
    if not np.can_cast(values.dtype, dtype):
        limits, values = np.iinfo(dtype), values.astype(np.int64)
        wrong = (values < limits.min) | (values > limits.max)
        values = arrays.where(wrong, limits.max if limits.min == 0 else -1, values)
    return arrays.ascontiguousarray(values.astype(dtype))


def _suits_gpu(rows: Any, pairs: NDArray[np.intp]) -> bool:
    """Whether a batch is large, and there is a GPU."""
    return rows.size * max(1, len(pairs)) >= LEAST_FOR_GPU and has_gpu()


def _on_gpu(
    shop: FlowShopInstance,
    pairs: NDArray[np.intp],
    rows: Any,
    front: Any,
    back: Any,
    strong: bool,
) -> Any:
    """Return bounds on the device, of nodes that are there or on the host."""
    from dpbb.flowshop.bounds.batch_gpu import nodes_of

    cupy = require_gpu()
    resident = hasattr(rows, "__cuda_array_interface__")
    device = int(rows.device.id) if resident else int(cupy.cuda.runtime.getDevice())
    narrow = _narrow(cupy if resident else np, rows, np.uint16)
    chosen = tuple((int(u), int(v)) for u, v in pairs)
    with cupy.cuda.Device(device):
        nodes = [cupy.asarray(part) for part in (narrow, front, back)]
        return nodes_of(shop, chosen, device).bounds(*nodes, strong=strong)


def _refuse(number: int, row: list[int], d1: int, d2: int) -> NoReturn:
    """Say what is wrong with a partial schedule."""
    where = f"partial schedule {number}"
    if sorted(row) != list(range(len(row))):
        raise OptionError(
            f"{where}: expected a permutation of 0 to {len(row) - 1}, got {shown(row)}"
        )
    raise OptionError(
        f"{where}: expected d1, d2 >= 0 with d1 + d2 <= {len(row)}, got {d1} and {d2}"
    )
