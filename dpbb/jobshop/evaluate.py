"""Exact costs of many solutions: on the cores of this machine, a GPU, or a cluster."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError, refuse, shown
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import (
    NO_JOB,
    Criterion,
    Encoding,
    check_orders,
    check_sequence,
    criterion_of,
    filled_up,
    solution_shape,
)
from dpbb.jobshop.tables import INVALID
from dpbb.kernels.cores import thread_count
from dpbb.options.kinds import member, one_of

DEVICES = ("auto", "cpu", "gpu")
LEAST_FOR_GPU = 2_000_000
"""Operations of a batch from which ``device="auto"`` takes a GPU, if there is one."""


def evaluate(
    instance: JobShopInstance,
    solutions: Any,  # arrays of the host, of a device, of Dask; lists
    *,
    encoding: str | Encoding = Encoding.SEQUENCE,
    criterion: str | Criterion = Criterion.MAKESPAN,
    device: str = "auto",
    threads: int | None = None,
    check: bool = True,
    client: Any = None,
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
        (machine orders: int16). On the CPU uint8 and int16 are read as they are. With
        ``client`` also a ``dask.array`` or a list of batches or futures.
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
    client
        A ``distributed.Client``: batches are mapped over its workers.

    Returns
    -------
    ndarray of int64, shape (b,)
        Of NumPy; of CuPy if the solutions were on the device. -1 for machine orders
        with a cycle. With ``client``: see ``spread``.

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
    if form is Encoding.ARCS:
        raise OptionError("encoding: expected one solution for arcs: see schedule()")
    what = criterion_of(criterion, instance)
    one_of(*DEVICES).check(device, "device")
    n_threads = thread_count(threads)
    if client is not None:
        options = {"encoding": form, "criterion": what, "device": device}
        return spread(
            client, instance, solutions, {**options, "threads": threads, "check": check}
        )
    on_device = hasattr(solutions, "__cuda_array_interface__")
    if on_device and device == "cpu":
        raise OptionError("device: expected auto or gpu for solutions on a device")
    if on_device or device == "gpu" or (device == "auto" and _suits_gpu(solutions)):
        costs, array = _on_gpu(instance, solutions, form, what)
        if check:
            _check(instance, array, costs, form)
        return costs if on_device else costs.get()
    array = host_array(instance, solutions, form)
    from dpbb.jobshop import cpu_batch

    result = cpu_batch.costs(instance, _narrow(array, form), form, what, n_threads)
    if check:
        _check(instance, array, result, form)
    return result


def _suits_gpu(solutions: Any) -> bool:
    """Whether a batch is large, and there is a GPU."""
    from dpbb.kernels.nvrtc import has_gpu

    return getattr(solutions, "size", 0) >= LEAST_FOR_GPU and has_gpu()


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


def _narrow(array: NDArray[Any], encoding: Encoding) -> NDArray[Any]:
    """Return solutions in a type that compiled code reads, in C order."""
    narrow = array.dtype == np.uint8 and encoding is Encoding.SEQUENCE
    if not narrow and array.dtype != np.int16:
        # no job, and not -1: what wraps around must not become one
        wrong = (array < -1) | (array > np.iinfo(np.int16).max)
        array = np.where(
            wrong, np.int16(np.iinfo(np.int16).min), array.astype(np.int16)
        )
    return np.ascontiguousarray(array)


def _on_gpu(
    instance: JobShopInstance, solutions: Any, encoding: Encoding, criterion: Criterion
) -> tuple[Any, Any]:
    """Return costs and solutions on the device."""
    from dpbb.jobshop import gpu_batch
    from dpbb.kernels.nvrtc import require_gpu

    cupy = require_gpu()
    if hasattr(solutions, "__cuda_array_interface__"):
        array = cupy.asarray(solutions)
        check_array(instance, array, encoding)
        kinds = gpu_batch.ID_BYTES if encoding is Encoding.SEQUENCE else {"int16": 2}
        if str(array.dtype) not in kinds:
            if array.dtype.itemsize > 2:
                wrong = (array < -1) | (array > np.iinfo(np.int16).max)
                array = cupy.where(wrong, np.iinfo(np.int16).min, array)
            array = array.astype(np.int16)
        array = cupy.ascontiguousarray(array)
        device = int(array.device.id)
    else:
        given = host_array(instance, solutions, encoding)
        array = cupy.asarray(_narrow(given, encoding))
        device = int(cupy.cuda.runtime.getDevice())
    return gpu_batch.costs(instance, array, encoding, criterion, device), array


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


PARTS_PER_WORKER = 4
"""Parts of one batch for each worker, as workers are not equally fast."""


def spread(
    client: Any,  # distributed.Client
    instance: JobShopInstance,
    solutions: Any,
    options: Mapping[str, Any],
) -> Any:
    """Map the evaluation of solutions over the workers of a client.

    Parameters
    ----------
    solutions
        An array of this process: it is cut into parts, and the costs come back as one
        array. A ``dask.array`` in chunks along its first axis: a lazy one of the costs
        comes back, shape (b,). A list or tuple of batches or of futures of batches: a
        list of futures of costs comes back, in the same order.
    options
        Further arguments of ``evaluate``. On a worker ``threads`` is by default what
        Dask gives a task: one.
    """
    if not callable(getattr(client, "map", None)):
        raise OptionError(f"client: expected a distributed.Client, got {shown(client)}")
    how = {**options, "threads": options.get("threads") or 1}
    how["encoding"], how["criterion"] = str(how["encoding"]), str(how["criterion"])
    form = Encoding(how["encoding"])
    if hasattr(solutions, "map_blocks"):
        check_array(instance, solutions, form)
        if any(len(sizes) > 1 for sizes in solutions.chunks[1:]):
            solutions = solutions.rechunk(dict.fromkeys(range(1, solutions.ndim), -1))
        return solutions.map_blocks(
            _costs_of_batch,
            instance=instance,
            options=how,
            drop_axis=list(range(1, solutions.ndim)),
            dtype=np.int64,
            meta=np.empty(0, np.int64),
        )
    dimensions = 1 + len(solution_shape(instance, form))
    if (
        isinstance(solutions, list | tuple)
        and len(solutions)
        and all(_is_batch(one, dimensions) for one in solutions)
    ):
        return client.map(
            _costs_of_batch, solutions, instance=instance, options=how, pure=False
        )
    if hasattr(solutions, "__cuda_array_interface__"):
        raise OptionError("client: expected no solutions that are on a device here")
    array = host_array(instance, solutions, form)
    if not len(array):
        return np.empty(0, np.int64)
    n_workers = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    size = max(1, -(-len(array) // (PARTS_PER_WORKER * n_workers)))
    parts = client.scatter(
        [array[i : i + size] for i in range(0, len(array), size)],
        hash=False,  # a name of its own: an equal part may just be given up
    )
    done = client.map(
        _costs_of_batch, parts, instance=instance, options=how, pure=False
    )
    return np.concatenate(client.gather(done))


def _is_batch(value: Any, dimensions: int) -> bool:
    """Whether this is a batch by itself, or a future of one: no single solution."""
    return getattr(value, "ndim", None) == dimensions or hasattr(value, "result")


def _costs_of_batch(batch: Any, instance: Any, options: Mapping[str, Any]) -> Any:
    """Evaluate on a worker; costs go back as NumPy arrays."""
    costs = evaluate(instance, batch, **options)
    return costs.get() if hasattr(costs, "get") else costs
