"""Batches of solutions over the workers of a Dask cluster, CPU or GPU.

Nothing of Dask is imported here: the client and the arrays that are given bring it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpbb.errors import OptionError, shown
from dpbb.jobshop.evaluate import check_array, evaluate, host_array
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import Encoding, solution_shape

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
    client
        A synchronous ``distributed.Client``.
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
