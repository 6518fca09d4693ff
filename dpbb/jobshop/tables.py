"""What the evaluators of batches need of an instance, and what they answer."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import Criterion

CYCLIC = -1
"""Cost of machine orders that no schedule follows."""

INVALID = -2
"""What an evaluator answers to no solution of this shop; an error for the caller."""

CRITERION_NUMBER = {
    Criterion.MAKESPAN: 0,
    Criterion.SUM_COMPLETION: 1,
    Criterion.WEIGHTED_TARDINESS: 2,
}
"""How compiled code knows the criteria."""


class Tables(NamedTuple):
    """An instance as arrays that compiled code reads.

    Parameters
    ----------
    first : ndarray of int64, shape (n_jobs + 1,)
    entries : ndarray of int64, shape (2 * n_operations,)
        ``time << 16 | machine`` of every operation. Behind them ``n_machines`` stands
        for a machine: a job that a sequence names too often does no harm there.
    lengths : ndarray of int64, shape (n_machines,)
        Operations on every machine.
    dates : ndarray of int64, shape (3, n_jobs)
        Release date, due date (0 without) and weight of every job.
    """

    first: NDArray[np.int64]
    entries: NDArray[np.int64]
    lengths: NDArray[np.int64]
    dates: NDArray[np.int64]

    @classmethod
    @functools.lru_cache(maxsize=16)  # small batches are evaluated again and again
    def of(cls, instance: JobShopInstance) -> Tables:
        """Make the tables of an instance."""
        entries = np.full(2 * instance.n_operations, instance.n_machines, np.int64)
        entries[: instance.n_operations] = instance.times << 16 | instance.machines
        no_due = np.zeros(instance.n_jobs, np.int64)
        due = no_due if instance.due is None else instance.due
        return cls(
            instance.first,
            entries,
            instance.machine_lengths,
            np.stack([instance.release, due, instance.weight]),
        )
