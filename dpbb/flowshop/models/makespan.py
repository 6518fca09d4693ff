"""The flow shop with LB1 as a model text: what every engine compiles it from.

LB1 of a child: on every machine all that is left has to pass between the time when the
child's job begins there and the tail of the other side; source: Lageweg, Lenstra and
Rinnooy Kan, Operations Research 26(1), 1978. On an empty side the front is the least
head of all jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.bounds.lb1 import one_machine_bound
from dpbb.modeling import Model


class Makespan(Model):
    """Minimize the makespan of a flow shop.

    Parameters
    ----------
    times : ndarray of int64, shape (n_jobs, n_machines)
    heads, tails : ndarray of int64, shape (n_machines,)
        Fronts of empty sides.
    trivial_ub
        A value above every makespan.
    """

    name = "flowshop-makespan"
    objective = "makespan"
    sides = ("front", "back")
    state: ClassVar = {"front": "n_machines"}  # end of the last job
    sums: ClassVar = {"remain": "times"}
    never_negative = True

    def __init__(
        self,
        times: NDArray[np.int64],
        heads: NDArray[np.int64],
        tails: NDArray[np.int64],
        trivial_ub: int,
    ) -> None:
        self.times, self.heads, self.tails = times, heads, tails
        self.n_jobs, self.n_machines = times.shape
        self.trivial_ub = trivial_ub

    def mirrored(self) -> Makespan:
        """Return the shop with its machines in reverse."""
        times, heads, tails = (
            one[..., ::-1] for one in (self.times, self.tails, self.heads)
        )
        return Makespan(times, heads, tails, self.trivial_ub)

    def root(self) -> Mapping[str, Any]:
        """Least heads."""
        return {"front": self.heads}

    def take(self, node: Any, job: int) -> None:
        """Pass the machines: a job begins when it is there and the machine is free."""
        end = node.front[0]
        for k in range(self.n_machines):
            end = max(end, node.front[k]) + self.times[job][k]
            node.front[k] = end

    def node_bound(self, node: Any) -> int:
        """Every machine has the jobs that are left between both ends."""
        bound = 0
        for k in range(self.n_machines):
            after = node.remain[k] + node.other.front[self.n_machines - 1 - k]
            bound = max(bound, node.front[k] + after)
        return bound

    def child_bound(self, node: Any, job: int) -> int:
        """``node_bound`` of a child in one pass."""
        begin = node.front[0]
        bound = 0
        for k in range(self.n_machines):
            begin = max(begin, node.front[k])
            after = node.remain[k] + node.other.front[self.n_machines - 1 - k]
            bound = max(bound, begin + after)
            begin += self.times[job][k]
        return bound

    def largest(self, ub: int) -> int:
        """Return what no bound of a decomposed node's child passes.

        Notes
        -----
        A node is decomposed only if its bound is below ``ub``, or it is the root. Ends
        do not fall from machine to machine, so a child's bound exceeds its parent's by
        the job's own time at most.
        """
        root = one_machine_bound(self.heads, self.tails, self.times.sum(axis=0))
        return max(ub - 1, root) + int(self.times.sum(axis=1).max())
