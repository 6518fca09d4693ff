"""Forms of a solution, each checked once, and criteria.

A *sequence* names jobs: the i-th appearance of a job is its i-th operation, so every
sequence in which each job appears as often as it has operations is a schedule.
*Machine orders* name for every machine the jobs in the order in which it takes them,
in a table with a row for every machine, filled up with -1 behind shorter ones; where a
route comes back to a machine, the job is named once more. They may be cyclic.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import InstanceError, OptionError, refuse, shown
from dpbb.jobshop.instance import JobShopInstance
from dpbb.options.kinds import member

NO_JOB = -1
"""Fills the rows of machine orders up to the longest one."""

CYCLIC = -1
"""Cost of machine orders that no schedule follows."""

INVALID = -2
"""What an evaluator answers to no solution of this shop; an error for the caller."""


class Encoding(StrEnum):
    """Forms of a solution."""

    SEQUENCE = "sequence"
    MACHINE_ORDERS = "machine_orders"


class Criterion(StrEnum):
    """Costs of a schedule, to be minimized; C_j is the end of job j."""

    MAKESPAN = "makespan"
    """The largest C_j."""
    SUM_COMPLETION = "sum_completion"
    """The sum of all C_j."""
    WEIGHTED_TARDINESS = "weighted_tardiness"
    """The sum of weight_j * max(0, C_j - due_j)."""

    @property
    def number(self) -> int:
        """How compiled code knows it."""
        return list(Criterion).index(self)


def criterion_of(value: str | Criterion, instance: JobShopInstance) -> Criterion:
    """Return the criterion of a name; OptionError if it is none for this shop."""
    criterion = member(Criterion, value, "criterion")
    if criterion is Criterion.WEIGHTED_TARDINESS and instance.due is None:
        raise OptionError(
            f"criterion: expected due dates for {criterion}, got {instance.name} "
            "without"
        )
    return criterion


def solution_shape(instance: JobShopInstance, encoding: Encoding) -> tuple[int, ...]:
    """Shape of one solution of this form: (o,), or (n_machines, longest order)."""
    if encoding is Encoding.SEQUENCE:
        return (instance.n_operations,)
    return (instance.n_machines, int(instance.machine_lengths.max()))


def _integers(solution: Any, what: str) -> NDArray[np.int64]:
    try:
        array = np.asarray(solution)
    except ValueError:
        refuse(what, "rows of one length", "a ragged list")
    if array.dtype.kind not in "iu" and array.size:
        refuse(what, "whole numbers", f"values of type {array.dtype}")
    return array.astype(np.int64)


def check_sequence(
    instance: JobShopInstance, sequence: Any, what: str = "sequence"
) -> NDArray[np.int64]:
    """Return a sequence as an array, shape (n_operations,).

    Raises
    ------
    InstanceError
        It is too long or too short, or a job appears too often or is none.
    """
    jobs = _integers(sequence, what)
    if jobs.shape != (instance.n_operations,):
        refuse(
            what,
            f"{instance.n_operations} jobs, one for every operation",
            f"shape {jobs.shape}",
        )
    _check_jobs(instance, jobs, instance.lengths, what)
    return jobs


def check_orders(
    instance: JobShopInstance, orders: Any, what: str = "machine orders"
) -> NDArray[np.int64]:
    """Return machine orders as an array, shape (n_machines, longest order).

    Raises
    ------
    InstanceError
        A machine has not exactly the jobs that visit it. Cycles are not looked for.
    """
    lengths, visits = instance.machine_lengths, instance.visits
    width = int(lengths.max())
    table = _integers(filled_up(orders, width), what)
    if table.ndim != 2 or len(table) != instance.n_machines:
        refuse(what, f"a row for each of {instance.n_machines} machines", shown(orders))
    for machine, length in enumerate(lengths.tolist()):
        where = f"{what}, machine {instance.machine_names[machine]}"
        found = int((table[machine] != NO_JOB).sum())
        if found != length or (table[machine, length:] != NO_JOB).any():
            refuse(where, f"{length} jobs", f"{found}")
        _check_jobs(instance, table[machine, :length], visits[machine], where)
    return table[:, :width]


def filled_up(orders: Any, width: int) -> Any:
    """Return lists of machine orders with -1 behind shorter rows; else what came."""
    if not isinstance(orders, list | tuple) or not all(
        isinstance(row, list | tuple | np.ndarray) for row in orders
    ):
        return orders
    width = max([width, *map(len, orders)])
    return [[*row, *[NO_JOB] * (width - len(row))] for row in orders]


def _check_jobs(
    instance: JobShopInstance,
    jobs: NDArray[np.int64],
    counts: NDArray[np.int64],
    what: str,
) -> None:
    """Refuse what is no job, and jobs that are not there as often as they should be."""
    wrong = np.flatnonzero((jobs < 0) | (jobs >= instance.n_jobs))
    if wrong.size:
        refuse(
            f"{what}, place {wrong[0]}",
            f"a job from 0 to {instance.n_jobs - 1}",
            str(jobs[wrong[0]]),
        )
    found = np.bincount(jobs, minlength=instance.n_jobs)
    wrong = np.flatnonzero(found != counts)
    if wrong.size:
        job = int(wrong[0])
        expected = f"job {instance.job_names[job]} {counts[job]} times"
        refuse(what, expected, f"{found[job]} times")


def orders_of_sequence(
    instance: JobShopInstance, sequence: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Machine orders of a checked sequence."""
    shape = solution_shape(instance, Encoding.MACHINE_ORDERS)
    result = np.full(shape, NO_JOB, np.int64)
    machines = np.empty(instance.n_operations, np.int64)
    machines[np.argsort(sequence, kind="stable")] = instance.machines
    for machine in range(instance.n_machines):
        here = sequence[machines == machine]
        result[machine, : here.size] = here
    return result


def machine_operations(
    instance: JobShopInstance, orders: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Operations on every machine in the order of checked machine orders.

    The i-th appearance of a job in a row is its i-th visit to that machine.
    """
    result = []
    jobs = instance.jobs
    for machine, length in enumerate(instance.machine_lengths.tolist()):
        own = np.flatnonzero(instance.machines == machine)
        row = orders[machine, :length]
        operations = np.empty(length, np.int64)
        operations[np.argsort(row, kind="stable")] = own[
            np.argsort(jobs[own], kind="stable")
        ]
        result.append(operations)
    return result


class CyclicError(InstanceError):
    """A solution in which operations wait for one another; ``cycle`` is their circle.

    Parameters
    ----------
    message
        Names them.
    cycle
        Operations, each waiting for the one before it and the first for the last.
    """

    def __init__(self, message: str, cycle: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.cycle = cycle

    @classmethod
    def of(cls, instance: JobShopInstance, cycle: list[int]) -> CyclicError:
        """Return the error that names a cycle."""
        start = cycle.index(min(cycle))
        cycle = cycle[start:] + cycle[:start]
        names = [instance.operation(v) for v in cycle]
        if len(names) > 12:
            names = [*names[:10], f"{len(names) - 11} more", names[-1]]
        text = " -> ".join([*names, instance.operation(cycle[0])])
        return cls(f"cycle: expected an order without one, got {text}", tuple(cycle))
