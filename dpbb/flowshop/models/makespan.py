"""The flow shop with LB1, and with LB2, as model texts: what engines compile it from.

LB1 of a child: on every machine all that is left has to pass between the time when the
child's job begins there and the tail of the other side; source: Lageweg, Lenstra and
Rinnooy Kan, Operations Research 26(1), 1978. On an empty side the front is the least
head of all jobs.

LB2 and cascades tighten it by pairs of machines u < v, whose others are relaxed: see
``dpbb.flowshop.bounds``. What engines have of them by hand computes the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.bounds import JohnsonTables, cascade_of, machine_pairs
from dpbb.modeling import Model
from dpbb.modeling.model import State

if TYPE_CHECKING:
    from dpbb.flowshop.problem import FlowShopProblem, FlowShopState


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
        other = copy(self)
        other.times, other.heads, other.tails = (
            one[..., ::-1] for one in (self.times, self.tails, self.heads)
        )
        return other

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
        root = int((self.heads + self.times.sum(axis=0) + self.tails).max())
        return max(ub - 1, root) + int(self.times.sum(axis=1).max())


class TwoMachines(Makespan):
    """The same, tightened by the two-machine bounds of a problem.

    Jobs are in Johnson's order of each pair, as ``JohnsonTables`` has them.
    """

    def __init__(self, problem: FlowShopProblem) -> None:
        ends = problem.least_heads, problem.least_tails
        super().__init__(problem.times, *ends, problem.trivial_ub)
        cascade = cascade_of(problem.bound, *self.times.shape)
        self.tight_depths = cascade.first, cascade.last
        pairs = machine_pairs(self.n_machines, cascade.pairs)
        tables = JohnsonTables.of(self.times, pairs)
        self.n_pairs, self.pairs, self.order = len(pairs), tables.pairs, tables.order
        self.first, self.lag, self.second = tables.first, tables.lag, tables.second

    def tight_bound(self, node: Any, ub: int) -> int:
        """Both machines of a pair have the jobs that are left between their ends."""
        bound = 0
        for pair in range(self.n_pairs):
            if bound < ub:
                on_first = 0
                on_second = 0
                for place, other in enumerate(self.order[pair]):
                    if other in node.left:
                        on_first += self.first[pair][place]
                        ready = on_first + self.lag[pair][place]
                        on_second = max(on_second, ready) + self.second[pair][place]
                ahead = node.front[self.pairs[pair][0]]
                after = node.other.front[self.n_machines - 1 - self.pairs[pair][1]]
                bound = max(bound, ahead + on_second + after)
        return bound

    def __call__(
        self,
        state: FlowShopState,
        jobs: NDArray[np.intp],
        bounds: NDArray[np.int64],
        ub: int,
        *,
        back: bool,
    ) -> NDArray[np.int64]:
        """Tighten children of a node of the problem, see ``dpbb.problem.Tightens``."""
        ends, remain = (state.front, state.back[::-1]), state.remain
        node = State(
            tuple({"front": end.tolist()} for end in ends),
            {},
            tuple({"remain": left.tolist()} for left in (remain, remain[::-1])),
            frozenset(jobs.tolist()),
        )
        return self._tighten(node, jobs, bounds, ub, back=back)
