"""The disjunctive graph of one solution, swept in topological order.

Every operation waits for two others at most: the one before it in its job and the one
before it on its machine. Starts and levels follow in one pass over a topological order,
O(o).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import (
    CyclicError,
    Encoding,
    check_orders,
    check_sequence,
    machine_operations,
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
    before : ndarray of int64, shape (2, o)
        The operation before each one in its job, and on its machine; ``NONE`` without.
    order : ndarray of int64, shape (o,)
        A topological order of the operations.
    """

    instance: JobShopInstance
    orders: NDArray[np.int64]
    before: NDArray[np.int64]
    order: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        instance: JobShopInstance,
        solution: Any,
        encoding: str | Encoding = Encoding.SEQUENCE,
    ) -> Graph:
        """Make the graph of a solution of either form.

        Raises
        ------
        InstanceError
            It is no solution of this shop.
        CyclicError
            Operations wait for one another; names them.
        """
        if member(Encoding, encoding, "encoding") is Encoding.SEQUENCE:
            orders = orders_of_sequence(instance, check_sequence(instance, solution))
        else:
            orders = check_orders(instance, solution)
        by_job = np.arange(instance.n_operations) - 1
        by_job[instance.first[:-1]] = NONE
        by_machine = np.full(instance.n_operations, NONE)
        for row in machine_operations(instance, orders):
            by_machine[row[1:]] = row[:-1]
        before = np.stack([by_job, by_machine])
        return cls(instance, orders, before, _topological(instance, before))

    def starts(self) -> NDArray[np.int64]:
        """Return the earliest start of every operation, shape (o,)."""
        return self._longest(self.instance.times, self.instance.release)

    def levels(self) -> NDArray[np.int64]:
        """Return how many operations each one waits for, one after the other."""
        return self._longest(np.ones_like(self.instance.times), 0)

    def _longest(
        self, times: NDArray[np.int64], release: NDArray[np.int64] | int
    ) -> NDArray[np.int64]:
        """Return the longest time from the beginning to each operation."""
        starts = np.zeros(len(times), np.int64)
        starts[self.instance.first[:-1]] = release
        found, lasting = starts.tolist(), times.tolist()
        before = self.before.T.tolist()
        for v in self.order.tolist():
            for u in before[v]:
                if u != NONE:
                    found[v] = max(found[v], found[u] + lasting[u])
        return np.array(found, np.int64)


def _topological(
    instance: JobShopInstance, before: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Sweep with a queue; CyclicError when not every operation is reached."""
    waiting = (before != NONE).sum(axis=0).tolist()
    following = np.full_like(before, NONE)
    for after, row in zip(following, before, strict=True):
        later = np.flatnonzero(row != NONE)
        after[row[later]] = later
    order = [v for v, count in enumerate(waiting) if not count]
    for v in order:  # grows
        for w in following[:, v].tolist():
            if w != NONE:
                waiting[w] -= 1
                if not waiting[w]:
                    order.append(w)
    if len(order) < instance.n_operations:
        v = next(v for v, count in enumerate(waiting) if count)
        path: list[int] = []
        while v not in path:  # back from one that waits to another one that does
            path.append(v)
            v = next(u for u in before[:, v].tolist() if u != NONE and waiting[u])
        raise CyclicError.of(instance, path[path.index(v) :][::-1])
    return np.array(order, np.int64)
