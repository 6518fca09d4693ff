"""The permutation flow shop without buffers: a finished job may block its machine.

It stays there until the next machine is free. Departures of a job with times p_k after
a job whose departures are x_k: d_0 = max(x_0 + p_0, x_1), d_k = max(d_{k-1} + p_k,
x_{k+1}). The mirror image has the same form, so the tree grows on both sides. The bound
is that of the plain flow shop with departures in the place of ends: machine k is busy
for all jobs between the departures of both ends. Source of the recursion: Ronconi,
Annals of Operations Research 138, 2005.

The bound ``matching`` is dearer, of two neighbouring machines k and k + 1. Between two
departures from k pass the time there of the job that leaves, and the time on k + 1 of
the job before it, whichever is longer. The sum of all these is least where both lists
of times are matched in the order of their lengths. Where the last job at the front is
the one before, its time is how much later k + 1 is free than k; so it is at the back,
in the mirror image.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError, shown
from dpbb.flowshop.instance import FlowShopInstance, check_columns
from dpbb.modeling import Model
from dpbb.problems import Family
from dpbb.result.schedule import Schedule
from dpbb.text.labels import Names


class BlockingFlowShop(Model):
    """Minimize the makespan of a flow shop without buffers between its machines.

    Parameters
    ----------
    instance
        The processing times.
    """

    name = "flowshop-blocking-makespan"
    objective = "makespan"
    sides = ("front", "back")
    state: ClassVar = {"free": "n_machines"}  # departure of the last job
    sums: ClassVar = {"remain": "times"}
    never_negative = True

    def __init__(self, instance: FlowShopInstance) -> None:
        check_columns(instance, "makespan with blocking")
        self.instance = instance
        self.times = instance.times
        self.n_jobs, self.n_machines = self.times.shape
        self.trivial_ub = int(self.times.sum()) + 1  # one job after the other

    def mirrored(self) -> BlockingFlowShop:
        """Return the shop with its machines in reverse."""
        shop = self.instance
        return type(self)(FlowShopInstance(shop.name, shop.times[:, ::-1]))

    def root(self) -> Mapping[str, Any]:
        """Least heads: no job comes to a machine before them."""
        return {"free": (self.times.cumsum(axis=1) - self.times).min(axis=0)}

    def take(self, node: Any, job: int) -> None:
        """Pass the machines: a job leaves one when it is done and the next is free."""
        last = self.n_machines - 1
        leave = node.free[0]
        for k in range(self.n_machines - 1):
            leave = max(leave + self.times[job][k], node.free[k + 1])
            node.free[k] = leave
        node.free[last] = leave + self.times[job][last]

    def node_bound(self, node: Any) -> int:
        """Every machine has the jobs that are left between both ends."""
        bound = 0
        for k in range(self.n_machines):
            after = node.remain[k] + node.other.free[self.n_machines - 1 - k]
            bound = max(bound, node.free[k] + after)
        return bound

    def child_bound(self, node: Any, job: int) -> int:
        """``node_bound`` of a child in one pass."""
        last = self.n_machines - 1
        bound = 0
        enter = node.free[0]
        for k in range(self.n_machines - 1):
            leave = max(enter + self.times[job][k], node.free[k + 1])
            before = leave - self.times[job][k]
            after = node.remain[k] + node.other.free[self.n_machines - 1 - k]
            bound = max(bound, before + after)
            enter = leave
        return max(bound, enter + (node.remain[last] + node.other.free[0]))

    def largest(self, ub: int) -> int:
        """Return what no bound of a child passes, see Notes.

        Notes
        -----
        On every machine the departure, the remaining time and the other side are
        together below ``ub`` at a decomposed node. So a job of the child leaves no
        later than ``ub`` and its own time, and less than ``ub`` follows.
        """
        parent = max(ub, self.root_bound + 1)
        return 2 * parent + int(self.times.sum(axis=1).max())

    # -- what is told of it ------------------------------------------------------------

    @property
    def instance_name(self) -> str:
        """Name of the instance."""
        return self.instance.name

    @property
    def names(self) -> Names:
        """What people call the jobs and machines."""
        return self.instance.names

    def with_names(self, names: Names) -> BlockingFlowShop:
        """Return the same problem with other names."""
        shop = self.instance
        return type(self)(FlowShopInstance(shop.name, shop.times, names))

    def with_bound(self, bound: str) -> BlockingFlowShop:
        """Return the same problem with another bound, ``"model"`` or ``"matching"``."""
        for kind in (BlockingFlowShop, MatchingFlowShop):
            if kind.bound == bound:
                return kind(self.instance)
        raise OptionError(f"bound: expected model or matching, got {shown(bound)}")

    @cached_property
    def digest(self) -> str:
        """Digest of the kind and the instance."""
        return hashlib.sha256(
            f"{self.name} {self.instance.digest}".encode()
        ).hexdigest()

    @cached_property
    def job_kinds(self) -> NDArray[np.intp]:
        """Jobs of the same processing times have the same number."""
        return np.unique(self.times, axis=0, return_inverse=True)[1].ravel()

    @cached_property
    def root_bound(self) -> int:
        """Bound of the empty partial schedule."""
        return self.bound_of(self.root_state())

    def evaluate(self, permutation: NDArray[np.intp]) -> int:
        """Makespan of a permutation."""
        return int(self.evaluate_all(np.asarray(permutation, np.intp)[None])[0])

    def evaluate_all(self, permutations: NDArray[np.intp]) -> NDArray[np.int64]:
        """Makespans, shape (r,), of permutations of shape (r, n_jobs)."""
        free = np.zeros((len(permutations), self.n_machines), np.int64)
        for place in range(permutations.shape[1]):
            pass_machines(free, self.times[permutations[:, place]])
        return free[:, -1]

    def schedule(self, permutation: Sequence[int] | NDArray[np.intp]) -> Schedule:
        """When every operation starts and ends, and its job leaves the machine."""
        order = tuple(int(job) for job in permutation)
        start, leave = np.zeros((2, self.n_jobs, self.n_machines), np.int64)
        free = np.zeros((1, self.n_machines), np.int64)
        for job in order:
            enter = int(free[0, 0])
            pass_machines(free, self.times[job][None])
            start[job] = enter, *free[0, :-1]
            leave[job] = free[0]
        return Schedule(order, start, start + self.times, self.names, leave)

    def facts(self) -> dict[str, int | float | str]:
        """Range of the processing times, and the bound of the root itself."""
        return {
            "least_time": int(self.times.min()),
            "largest_time": int(self.times.max()),
            "root_bound": self.root_bound,
        }

    def encode(self) -> dict[str, Any]:
        """Name, processing times and a dearer bound, as JSON."""
        data = {"name": self.instance.name, "times": self.times.tolist()}
        return data if self.bound == Model.bound else {**data, "bound": self.bound}


class MatchingFlowShop(BlockingFlowShop):
    """The same problem with the bound ``matching``, of children near the root.

    Further down it costs more time than the nodes that it saves. It adds the longer
    ones of matched times: those that make one list longer than the other, from the
    longest on.
    """

    bound = "matching"

    def __init__(self, instance: FlowShopInstance) -> None:
        super().__init__(instance)
        n_jobs, times = self.times.shape[0], self.times.T
        self.tight_depths = (1, max(1, 2 * n_jobs // 5))
        both = np.concatenate([times[:-1], times[1:]], axis=1)
        order = np.argsort(-both, axis=1, kind="stable")
        self.longest = order % n_jobs  # each job twice, by its times on both machines
        self.lengths = np.take_along_axis(both, order, axis=1)
        self.on_first = 1 - order // n_jobs  # 1: time on the first one, 0: on the other
        heads = super().root()["free"]
        tails = times[::-1].cumsum(axis=0)[::-1] - times
        matched = np.maximum(np.sort(times[:-1]), np.sort(times[1:])).sum(axis=1)
        most = heads[:-1] + matched + tails[1:].min(axis=1)
        self.pairs = np.argsort(-most, kind="stable")

    def tight_bound(self, node: Any, ub: int) -> int:
        """Match times on two neighbouring machines, first where most are long."""
        bound = 0
        for place in range(self.n_machines - 1):
            k = self.pairs[place]
            if bound < ub:
                front = node.free[k + 1] - node.free[k]
                back = node.other.free[self.n_machines - 1 - k]
                back -= node.other.free[self.n_machines - 2 - k]
                high = max(front, back)
                low = min(front, back)
                step = 1 if back >= front else -1
                total = node.free[k] + node.other.free[self.n_machines - 2 - k]
                ahead = 0  # so much longer is the list of times on k
                for rank, job in enumerate(self.longest[k]):
                    if job in node.left:
                        time = self.lengths[k][rank]
                        if time < high:
                            if step * ahead >= 0:
                                total += high
                            ahead += step
                            high = -1
                        if time < low:
                            if step * ahead <= 0:
                                total += low
                            ahead -= step
                            low = -1
                        one = 2 * self.on_first[k][rank] - 1
                        if one * ahead >= 0:
                            total += time
                        ahead += one
                bound = max(bound, total + max(high, 0))
        return bound


def pass_machines(free: NDArray[np.int64], times: NDArray[np.int64]) -> None:
    """Have a job pass the machines, in many schedules at a time; ``free`` changes.

    ``free``, ``times``: shape (r, n_machines).
    """
    leave = free[:, 0]
    for k in range(free.shape[1] - 1):
        leave = np.maximum(leave + times[:, k], free[:, k + 1])
        free[:, k] = leave
    free[:, -1] = leave + times[:, -1]


def decode(data: Mapping[str, Any]) -> BlockingFlowShop:
    """Return an encoded problem; InstanceError if it is none."""
    problem = BlockingFlowShop(FlowShopInstance(data["name"], data["times"]))
    return problem.with_bound(data.get("bound", Model.bound))


FAMILY = Family(decode)
"""Problems named ``"flowshop-blocking-makespan"``."""
