"""Exact costs of many solutions: on the cores of this machine or a GPU."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError, refuse, shown
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import (
    INVALID,
    NO_JOB,
    Criterion,
    Encoding,
    check_orders,
    check_sequence,
    criterion_of,
    filled_up,
    solution_shape,
)
from dpbb.kernels.cores import thread_count
from dpbb.kernels.nvrtc import has_gpu, require_gpu
from dpbb.options import DEVICES, DeviceName
from dpbb.options.kinds import member, one_of

LEAST_FOR_GPU = 2_000_000
"""Operations of a batch from which ``device="auto"`` takes a GPU, if there is one."""


def evaluate(
    instance: JobShopInstance,
    solutions: Any,  # arrays of the host or of a device, lists
    *,
    encoding: str | Encoding = Encoding.SEQUENCE,
    criterion: str | Criterion = Criterion.MAKESPAN,
    device: DeviceName = "auto",
    threads: int | None = None,
    check: bool = True,
) -> Any:
    """Return the costs of solutions, exact integers.

    Parameters
    ----------
    instance
        The shop.
    solutions
        Shape (b, n_operations) of sequences: job ids from 0, a job as often as it has
        operations. Shape (b, n_machines, longest order) of machine orders: job ids,
        filled up with -1 (in lists of lists shorter rows may stay short).
        Arrays that are on a GPU already (CuPy, ``__cuda_array_interface__``) are read
        there, without a copy if they are in C order and of uint8, int16 or int32
        (machine orders: int16). On the CPU uint8 and int16 are read as they are.
    encoding
        ``"sequence"`` or ``"machine_orders"``.
    criterion
        ``"makespan"``, ``"sum_completion"`` or ``"weighted_tardiness"``.
    device
        ``"cpu"``, ``"gpu"``, or ``"auto"``: where the solutions are, and for large
        batches a GPU if there is one. Not ``"cpu"`` for solutions on a device.
    threads
        Of the CPU; default: the cores that this process may use.
    check
        Look for what is no solution, and raise. On a device this waits for the costs.
        Without it what is no solution costs -2, and nobody looks behind the ends of
        shorter machine orders.

    Returns
    -------
    ndarray of int64, shape (b,)
        Of NumPy; of CuPy if the solutions were on the device. -1 for machine orders
        with a cycle.

    Raises
    ------
    InstanceError
        Something is no solution of this shop: which one, and why.
    OptionError
        No such encoding, criterion or device.
    EngineUnavailable
        ``device="gpu"`` without one.
    """
    if not isinstance(instance, JobShopInstance):
        refuse("instance", "a JobShopInstance, as of load()", shown(instance))
    form = member(Encoding, encoding, "encoding")
    what = criterion_of(criterion, instance)
    one_of(*DEVICES).check(device, "device")
    n_threads = thread_count(threads)
    on_device = hasattr(solutions, "__cuda_array_interface__")
    if on_device and device == "cpu":
        raise OptionError("device: expected auto or gpu for solutions on a device")
    large = getattr(solutions, "size", 0) >= LEAST_FOR_GPU
    if on_device or device == "gpu" or (device == "auto" and large and has_gpu()):
        costs, array = _on_gpu(instance, solutions, form, what)
    else:
        from dpbb.jobshop import cpu_batch

        array = host_array(instance, solutions, form)
        costs = cpu_batch.costs(instance, _narrow(array, form), form, what, n_threads)
    if check:
        _check(instance, array, costs, form)
    return costs if on_device or isinstance(costs, np.ndarray) else costs.get()


def check_array(instance: JobShopInstance, array: Any, encoding: Encoding) -> None:
    """Refuse an array of any library that has not the type and shape of solutions."""
    if array.dtype.kind not in "iu":
        refuse("solutions", "whole numbers", f"values of type {array.dtype}")
    shape = tuple(array.shape)
    wanted = solution_shape(instance, encoding)
    if len(shape) != len(wanted) + 1 or shape[1:] != wanted:
        sizes = ", ".join(map(str, wanted))
        got = f"shape {shape}"
        if shape == wanted:
            got = f"a single solution, {got}: put it into a list"
        refuse("solutions", f"an array of shape (b, {sizes}) for {encoding}", got)


def host_array(
    instance: JobShopInstance, solutions: Any, encoding: Encoding
) -> NDArray[Any]:
    """Return solutions as an array of whole numbers, of the right shape."""
    shape = solution_shape(instance, encoding)
    if encoding is Encoding.MACHINE_ORDERS and isinstance(solutions, list | tuple):
        solutions = [filled_up(one, shape[1]) for one in solutions]
    try:
        array = np.asarray(solutions)
    except ValueError:
        refuse("solutions", "solutions of one length", "a ragged list")
    if array.size == 0 and array.ndim <= 1:
        return np.empty((0, *shape), np.int16)
    check_array(instance, array, encoding)
    return array


def _narrow(
    array: Any, encoding: Encoding, kinds: Collection[str] = ("uint8", "int16")
) -> Any:
    """Return solutions in C order, in a type (of ``kinds``) that kernels read."""
    known = kinds if encoding is Encoding.SEQUENCE else ("int16",)
    if str(array.dtype) not in known:
        # no job, and not -1: what wraps around must not become one
        wrong = (array < -1) | (array > np.iinfo(np.int16).max)
        array = array.astype(np.int16)
        array[wrong] = np.iinfo(np.int16).min
    return array if array.flags.c_contiguous else array.copy(order="C")


def _on_gpu(
    instance: JobShopInstance, solutions: Any, encoding: Encoding, criterion: Criterion
) -> tuple[Any, Any]:
    """Return costs and solutions on the device."""
    from dpbb.jobshop.gpu_batch import ID_BYTES, GpuBatch

    cupy = require_gpu()
    if hasattr(solutions, "__cuda_array_interface__"):
        array = cupy.asarray(solutions)
        check_array(instance, array, encoding)
        array = _narrow(array, encoding, ID_BYTES)
    else:
        array = cupy.asarray(
            _narrow(host_array(instance, solutions, encoding), encoding)
        )
    batch = GpuBatch(instance, criterion, int(array.device.id))
    run = batch.sequences if encoding is Encoding.SEQUENCE else batch.orders
    return run(array), array


def _check(
    instance: JobShopInstance, solutions: Any, costs: Any, encoding: Encoding
) -> None:
    """Refuse the first solution that is none; its own check finds the words."""
    wrong = costs == INVALID
    if encoding is Encoding.MACHINE_ORDERS:
        places = np.arange(solutions.shape[2])
        behind = np.flatnonzero(places >= instance.machine_lengths[:, None])
        if behind.size and len(solutions):
            cells = solutions.reshape(len(solutions), -1).take(behind, axis=1)
            wrong |= (cells != NO_JOB).any(axis=1)
    if not bool(wrong.any()):
        return
    number = int(wrong.argmax())
    one = solutions[number]
    one = one.get() if hasattr(one, "get") else one
    check = check_sequence if encoding is Encoding.SEQUENCE else check_orders
    check(instance, one, f"solution {number}")
    refuse(f"solution {number}", f"a solution of {instance.name}", "none")
