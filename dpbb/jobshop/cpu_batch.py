"""Costs of many solutions on the cores of this machine.

One core takes one solution after the other, O(o) each; the threads share a batch. The
state of a solution (a few hundred bytes) stays in the first-level cache, and operations
that are independent overlap. Vectors with a solution in every lane were tried: a step
takes three gathers and two scatters, which cost the processor (AVX-512, 16 lanes) as
much as scalar loads and stores. With the solutions already transposed to 32-bit numbers
they made 0.85 to 0.95 of the operations a second of these loops.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import CYCLIC, INVALID, Criterion, Encoding
from dpbb.kernels.compiling import compiled, helper
from dpbb.kernels.cores import in_parts, thread_count

PARTS_PER_THREAD = 4
"""Parts of a batch for each thread: others may have the cores, too."""

LEAST_PART = 64
"""Solutions that are worth a part of their own."""


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


def costs(
    instance: JobShopInstance,
    solutions: NDArray[Any],
    encoding: Encoding,
    criterion: Criterion,
    threads: int | None = None,
) -> NDArray[np.int64]:
    """Return the costs of a batch; ``CYCLIC`` or ``INVALID`` for what has none.

    Parameters
    ----------
    solutions : ndarray of uint8 or int16
        Shape (b, n_operations) of sequences, (b, n_machines, longest) of orders.
    threads
        Default: as many as this process may use cores.
    """
    tables = Tables.of(instance)
    n_solutions = len(solutions)
    result = np.empty(n_solutions, np.int64)
    run = _sequences if encoding is Encoding.SEQUENCE else _orders
    number = criterion.number

    def part(begin: int, end: int) -> None:
        run(solutions[begin:end], tables, number, result[begin:end])

    n_threads = thread_count(threads)
    size = max(LEAST_PART, -(-n_solutions // (PARTS_PER_THREAD * n_threads)))
    in_parts(part, n_solutions, size, n_threads)
    stuck = np.flatnonzero(result == CYCLIC)
    if stuck.size:
        result[stuck[_are_none(instance, solutions[stuck])]] = INVALID
    return result


def _are_none(instance: JobShopInstance, orders: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a machine has other jobs than those that visit it, for each solution."""
    wrong = np.zeros(len(orders), bool)
    for machine, length in enumerate(instance.machine_lengths.tolist()):
        jobs = instance.jobs[instance.machines == machine]
        found = np.sort(orders[:, machine, :length], axis=1)
        wrong |= (found != jobs).any(axis=1)
    return wrong


@helper
def _add(cost: int, end: int, criterion: int, due: int, weight: int) -> int:
    """Add the end of a job to a cost."""
    if criterion == 0:
        return max(cost, end)
    if criterion == 1:
        return cost + end
    return cost + weight * max(0, end - due)


@compiled
def _sequences(solutions: Any, tables: Tables, criterion: int, result: Any) -> None:
    """Sweep sequences in their own order: it is a topological one."""
    first, entries, lengths, dates = tables
    # 64 bits everywhere: mixed widths cost a third of the speed
    n_jobs, n_machines = len(first) - 1, len(lengths)
    j: Any
    n_operations = solutions.shape[1]
    ends = np.empty(n_jobs, np.int64)
    operations = np.empty(n_jobs, np.int64)
    machine_ends = np.empty(n_machines + 1, np.int64)
    for b in range(len(solutions)):
        for j in range(n_jobs):
            ends[j] = dates[0, j]
            operations[j] = first[j]
        for k in range(n_machines):
            machine_ends[k] = 0
        least = largest = solutions[b, 0]
        for t in range(n_operations):
            least = min(least, solutions[b, t])
            largest = max(largest, solutions[b, t])
        if least < 0 or largest >= n_jobs:
            result[b] = INVALID
            continue
        for t in range(n_operations):
            j = np.int64(solutions[b, t])
            v = operations[j]
            operations[j] = v + 1
            entry = entries[v]
            k = entry & 0xFFFF
            by_job, by_machine = ends[j], machine_ends[k]
            end = (by_job if by_job > by_machine else by_machine) + (entry >> 16)
            ends[j] = end
            machine_ends[k] = end
        cost: Any = np.int64(0)
        for j in range(n_jobs):
            if operations[j] != first[j + 1]:
                cost = INVALID
                break
            cost = _add(cost, ends[j], criterion, dates[1, j], dates[2, j])
        result[b] = cost


@compiled
def _orders(solutions: Any, tables: Tables, criterion: int, result: Any) -> None:
    """Run machines as far as their next jobs have come, with a stack of machines.

    What is no solution is taken for a cycle.
    """
    first, entries, lengths, dates = tables
    n_jobs, n_machines = len(first) - 1, len(lengths)
    j: Any
    n_operations = first[n_jobs]
    ends = np.empty(n_jobs, np.int64)
    operations = np.empty(n_jobs, np.int64)
    machine_ends = np.empty(n_machines, np.int64)
    places = np.empty(n_machines, np.int64)
    # every machine stands there once at the start, and once for its next job
    stack = np.empty(2 * n_machines, np.int64)
    for b in range(len(solutions)):
        for j in range(n_jobs):
            ends[j] = dates[0, j]
            operations[j] = first[j]
        for k in range(n_machines):
            machine_ends[k] = 0
            places[k] = 0
            stack[k] = n_machines - 1 - k
        top = n_machines
        done = 0
        while top:
            top -= 1
            k = stack[top]
            while places[k] < lengths[k]:
                j = np.int64(solutions[b, k, places[k]])
                if j < 0 or j >= n_jobs:
                    break
                v = operations[j]
                if v >= first[j + 1]:
                    break
                entry = entries[v]
                if (entry & 0xFFFF) != k:
                    break
                by_job, by_machine = ends[j], machine_ends[k]
                end = (by_job if by_job > by_machine else by_machine) + (entry >> 16)
                ends[j] = end
                machine_ends[k] = end
                places[k] += 1
                operations[j] = v + 1
                done += 1
                if v + 1 < first[j + 1]:
                    other = entries[v + 1] & 0xFFFF
                    if (
                        other != k
                        and places[other] < lengths[other]
                        and solutions[b, other, places[other]] == j
                    ):
                        stack[top] = other
                        top += 1
        if done < n_operations:
            result[b] = CYCLIC
            continue
        cost: Any = np.int64(0)
        for j in range(n_jobs):
            cost = _add(cost, ends[j], criterion, dates[1, j], dates[2, j])
        result[b] = cost
