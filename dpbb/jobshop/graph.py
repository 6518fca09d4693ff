"""The disjunctive graph of one solution, swept in topological order.

Every operation waits for two others at most: the one before it in its job and the one
before it on its machine. Heads, tails, levels and costs follow in one pass over a
topological order, O(o).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import (
    Encoding,
    check_orders,
    check_sequence,
    cycle_error,
    machine_operations,
    orders_of_arcs,
    orders_of_sequence,
)
from dpbb.options.kinds import member

NONE = -1
"""In place of an operation where there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Who waits for whom, without a cycle.

    Parameters
    ----------
    orders : ndarray of int64, shape (n_machines, longest order)
        Machine orders.
    job_before, machine_before, job_after, machine_after : ndarray of int64, shape (o,)
        Neighbours of every operation in its job and on its machine, ``NONE`` without.
    order : ndarray of int64, shape (o,)
        A topological order of the operations.
    """

    instance: JobShopInstance
    orders: NDArray[np.int64]
    job_before: NDArray[np.int64]
    machine_before: NDArray[np.int64]
    job_after: NDArray[np.int64]
    machine_after: NDArray[np.int64]
    order: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        instance: JobShopInstance,
        solution: Any,
        encoding: str | Encoding = Encoding.SEQUENCE,
    ) -> Graph:
        """Make the graph of a solution of any form.

        Raises
        ------
        InstanceError
            It is no solution of this shop.
        CyclicError
            Operations wait for one another; names them.
        """
        match member(Encoding, encoding, "encoding"):
            case Encoding.SEQUENCE:
                sequence = check_sequence(instance, solution)
                orders = orders_of_sequence(instance, sequence)
            case Encoding.MACHINE_ORDERS:
                orders = check_orders(instance, solution)
            case Encoding.ARCS:
                orders = orders_of_arcs(instance, solution)
        o = instance.n_operations
        job_before, job_after = np.arange(o) - 1, np.arange(o) + 1
        job_before[instance.first[:-1]] = NONE
        job_after[instance.first[1:] - 1] = NONE
        machine_before, machine_after = np.full((2, o), NONE, np.int64)
        for row in machine_operations(instance, orders):
            machine_before[row[1:]] = row[:-1]
            machine_after[row[:-1]] = row[1:]
        neighbours = (job_before, machine_before, job_after, machine_after)
        order = _topological(instance, *neighbours)
        return cls(instance, orders, *neighbours, order)

    def heads(self) -> NDArray[np.int64]:
        """Return the earliest start of every operation, shape (o,)."""
        instance = self.instance
        times = instance.times.tolist()
        starts = np.zeros(instance.n_operations, np.int64)
        starts[instance.first[:-1]] = instance.release
        found = starts.tolist()
        for v in self.order.tolist():
            for u in (int(self.job_before[v]), int(self.machine_before[v])):
                if u != NONE:
                    found[v] = max(found[v], found[u] + times[u])
        return np.array(found, np.int64)

    def tails(self) -> NDArray[np.int64]:
        """Return the longest time from each operation's end to the last end."""
        times = self.instance.times.tolist()
        found = [0] * self.instance.n_operations
        for v in reversed(self.order.tolist()):
            for w in (int(self.job_after[v]), int(self.machine_after[v])):
                if w != NONE:
                    found[v] = max(found[v], times[w] + found[w])
        return np.array(found, np.int64)


def _topological(
    instance: JobShopInstance,
    job_before: NDArray[np.int64],
    machine_before: NDArray[np.int64],
    job_after: NDArray[np.int64],
    machine_after: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Sweep with a queue; CyclicError when not every operation is reached."""
    waiting = ((job_before != NONE).astype(int) + (machine_before != NONE)).tolist()
    following = (job_after.tolist(), machine_after.tolist())
    order = [v for v, count in enumerate(waiting) if not count]
    for v in order:  # grows
        for after in following:
            w = after[v]
            if w != NONE:
                waiting[w] -= 1
                if not waiting[w]:
                    order.append(w)
    if len(order) < instance.n_operations:
        v = next(v for v, count in enumerate(waiting) if count)
        seen: dict[int, int] = {}
        path: list[int] = []
        while v not in seen:  # back from one that waits to another one that does
            seen[v] = len(path)
            path.append(v)
            before = (int(job_before[v]), int(machine_before[v]))
            v = next(u for u in before if u != NONE and waiting[u])
        raise cycle_error(instance, path[seen[v] :][::-1])
    return np.array(order, np.int64)
