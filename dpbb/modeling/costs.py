"""Costs of many permutations by the compiled text of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.kernels import models
from dpbb.kernels.compiling import int64, quick_entry
from dpbb.kernels.pointers import addresses, pointer_of, pointers
from dpbb.modeling import cpu


@quick_entry
def fill_costs(
    model_in: Any,
    jobs: NDArray[np.int64],
    work: NDArray[np.int64],
    found: NDArray[np.int64],
    lane: np.signedinteger[Any],
) -> None:
    """Write the cost of each of the permutations, which lie one after the other."""
    model = pointers(model_in, lane)
    first, scratch = pointer_of(jobs), pointer_of(work)
    for row in range(len(found)):
        at = int64(row * model.n_jobs)
        found[row] = models.cost(model, first, at, scratch)


class Costs:
    """Costs of an instance's permutations."""

    def __init__(self, problem: Any) -> None:
        dtype = cpu.narrowest_dtype(problem, problem.trivial_ub)
        self._model = cpu.model_of(problem).of(problem, None, dtype)
        self._lane = dtype(0)

    def of(self, permutations: NDArray[np.intp]) -> NDArray[np.int64]:
        """Exact costs, shape (r,), of permutations of shape (r, n_jobs)."""
        jobs = np.ascontiguousarray(permutations, np.int64).reshape(-1)
        found = np.empty(len(permutations), np.int64)
        work = np.zeros(self._model.cost_ints, np.int64)
        fill_costs(addresses(self._model), jobs, work, found, self._lane)
        return found
