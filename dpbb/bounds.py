"""Bounds of many partial schedules: on the cores of this machine or on a GPU.

This is ``dpbb.bounds``. A partial schedule is a permutation with the number of jobs
that are fixed at its front (``d1``) and at its back (``d2``); those between are
unscheduled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.pool.device import OnDevice
from dpbb.engines.pool.nodes import BACK_BIT
from dpbb.errors import OptionError, shown
from dpbb.flowshop.bounds import JohnsonTables, machine_pairs
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.makespan import longest_makespan
from dpbb.flowshop.models.lb1_cuda import Lb1
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.cores import in_parts, thread_count
from dpbb.kernels.nvrtc import has_gpu, require_gpu
from dpbb.kernels.pointers import aligned_zeros, pointer_of
from dpbb.kernels.simd import load, maximum, splat, store, zeros
from dpbb.options import DEVICES, BranchingRule, TreeOptions
from dpbb.options.kinds import one_of

if TYPE_CHECKING:
    from dpbb.flowshop.instance import FlowShopInstance
    from dpbb.options import DeviceName

__all__ = ["lb1", "lb2", "machine_pairs"]

LEAST_FOR_GPU = 10_000_000
"""Steps (pairs of machines and jobs) from which ``"auto"`` takes a GPU, if it can."""

PART = 256
"""Partial schedules that are worth a part of their own for a thread."""

LANES = 64
"""Nodes of a block: a vector of as many lanes is one or several of the processor's."""

NODES_ON_DEVICE = 1 << 18
"""Partial schedules that are sent to a GPU at a time."""


def lb1(
    instance: Any,
    permutations: Any,
    d1: Any,
    d2: Any,
    *,
    device: DeviceName = "auto",
    threads: int | None = None,
) -> NDArray[np.int32]:
    """Return one-machine bounds; parameters and results as of ``lb2``.

    Notes
    -----
    The largest, over the machines, of head + total time of the unscheduled jobs + tail.
    """
    return lb2(instance, permutations, d1, d2, pairs=(), device=device, threads=threads)


def lb2(
    instance: Any,
    permutations: Any,
    d1: Any,
    d2: Any,
    *,
    pairs: Sequence[Sequence[int]] | None = None,
    device: DeviceName = "auto",
    threads: int | None = None,
) -> NDArray[np.int32]:
    """Return two-machine bounds: never below LB1 and never above the best completion.

    They are those of trees: on an empty side heads (tails) are the least of all jobs.

    Parameters
    ----------
    instance
        Whatever ``dpbb.read_instance`` takes.
    permutations
        Shape (r, n_jobs), whole numbers: complete permutations.
    d1, d2
        Numbers of jobs fixed at the front and at the back, shape (r,), or one number
        for all; the unscheduled jobs are ``permutation[d1 : n_jobs - d2]``.
    pairs
        Pairs of machines (u, v), u < v; default: all.
    device
        ``"cpu"``, ``"gpu"``, or ``"auto"``: for large batches a GPU if there is one.
    threads
        Of the CPU; default: the cores that this process may use.

    Returns
    -------
    ndarray of int32, shape (r,)

    Raises
    ------
    OptionError
        No such pairs or device, or something is no partial schedule: which one, why.
    EngineUnavailable
        ``device="gpu"`` without one.
    """
    shop = read_instance(instance)
    problem = FlowShopProblem(shop)
    chosen = machine_pairs(shop.n_machines, pairs)
    one_of(*DEVICES).check(device, "device")
    n_threads = thread_count(threads)
    nodes = _nodes(shop, permutations, d1, d2)
    is_large = nodes.rows.size * max(1, len(chosen)) >= LEAST_FOR_GPU
    is_wanted = is_large and Lb1.obstacle(problem) is None and has_gpu()
    if device == "gpu" or (device == "auto" and is_wanted):
        return _on_device(problem, chosen, nodes)
    prepared = _Shop.of(problem, chosen)
    result = np.empty(len(nodes.rows), np.int32)

    def part(begin: int, end: int) -> None:
        result[begin:end] = prepared.bound(nodes.take(slice(begin, end)))

    in_parts(part, len(result), PART, n_threads)
    return result


class Nodes(NamedTuple):
    """Permutations of which the ends are fixed."""

    rows: NDArray[np.uint16]  # (r, n_jobs)
    front: NDArray[np.uint16]  # (r,): how many of the first jobs are fixed
    back: NDArray[np.uint16]  # (r,): and of the last

    def take(self, index: Any) -> Nodes:  # numbers or slice
        """Return some of them."""
        return Nodes(*(np.ascontiguousarray(part[index]) for part in self))


class _Shop(NamedTuple):
    """An instance with pairs of machines."""

    times: NDArray[np.int64]  # (n_jobs, n_machines)
    ends: NDArray[np.int64]  # (3, n_machines): least heads, least tails, all work
    pairs: NDArray[np.int64]  # (n_pairs, 2)
    steps: NDArray[np.int64]  # (n_pairs, n_jobs, 4): job, time on u, lag, time on v

    @classmethod
    def of(cls, problem: FlowShopProblem, pairs: NDArray[np.intp]) -> _Shop:
        """Return an instance with its jobs in the order of each pair."""
        tables, root = JohnsonTables.of(problem.times, pairs), problem.root_state()
        steps = tables.order, tables.first, tables.lag, tables.second
        every = np.stack(steps, axis=2).astype(np.int64)
        ends = np.stack([root.front, root.back, root.remain])
        return cls(problem.times, ends, pairs.astype(np.int64), every)

    def bound(self, nodes: Nodes) -> NDArray[np.int32]:
        """Return the larger of both kinds of bounds, shape (r,)."""
        n_jobs, n_machines = self.times.shape
        narrow = longest_makespan(self.times) <= np.iinfo(np.int16).max
        kind = np.int16 if narrow else np.int32
        rows = *[n_machines] * 3, n_jobs, 1
        block = _Block(*(aligned_zeros(count * LANES, kind) for count in rows))
        result = np.empty(len(nodes.rows), np.int32)
        _bound(self, block, nodes, result)
        return result


class _Block(NamedTuple):
    """``LANES`` nodes side by side: rows of as many integers."""

    heads: NDArray[Any]  # a row for each machine, as the next two
    tails: NDArray[Any]
    remain: NDArray[Any]
    free: NDArray[Any]  # a row for each job: -1 where it is unscheduled, else 0
    bounds: NDArray[Any]  # one row


@entry
def _bound(shop: _Shop, block: _Block, nodes: Nodes, result: NDArray[np.int32]) -> None:
    """Bound nodes: a lane each, a block of lanes after the other."""
    for first in range(0, len(result), LANES):
        used = min(LANES, len(result) - first)
        for lane in range(used):
            _read(shop, block, nodes, int64(first + lane), int64(lane))
        _raise(shop, block)
        for lane in range(used):
            result[first + lane] = block.bounds[lane]


@helper
def _read(shop: _Shop, block: _Block, nodes: Nodes, node: int, lane: int) -> None:
    """Write what a lane has of a node."""
    n_jobs, n_machines = shop.times.shape
    begin, end = int64(nodes.front[node]), n_jobs - int64(nodes.back[node])
    times = pointer_of(shop.times)
    begins, follows = pointer_of(block.heads), pointer_of(block.tails)
    remain = pointer_of(block.remain)
    for k in range(n_machines):
        at = k * LANES + lane
        begins[at], follows[at] = shop.ends[0, k], shop.ends[1, k]
        remain[at] = shop.ends[2, k]
    for i in range(begin):
        own, time = int64(nodes.rows[node, i]) * n_machines, int64(0)
        for k in range(n_machines):
            at = k * LANES + lane
            remain[at] -= times[own + k]
            time = max(time, int64(begins[at])) + times[own + k]
            begins[at] = time
    for i in range(n_jobs - 1, end - 1, -1):
        own, time = int64(nodes.rows[node, i]) * n_machines, int64(0)
        for k in range(n_machines - 1, -1, -1):
            at = k * LANES + lane
            remain[at] -= times[own + k]
            time = max(time, int64(follows[at])) + times[own + k]
            follows[at] = time
    for i in range(n_jobs):
        is_free = begin <= i and i < end
        block.free[int64(nodes.rows[node, i]) * LANES + lane] = -int64(is_free)


@helper
def _raise(shop: _Shop, block: _Block) -> None:
    """Bound all lanes by each machine, then by the pairs.

    A lane's walk begins with the tail added: what it ends with is the bound. Where a
    job is scheduled its sum may overflow, and counts as nothing.
    """
    begins, tails = pointer_of(block.heads), pointer_of(block.tails)
    remain, free = pointer_of(block.remain), pointer_of(block.free)
    like = zeros(free, LANES)
    best = like
    for k in range(shop.times.shape[1]):
        ends = load(begins, k * LANES, like) + load(tails, k * LANES, like)
        best = maximum(best, ends + load(remain, k * LANES, like))
    for pair in range(shop.pairs.shape[0]):
        u, v = shop.pairs[pair, 0], shop.pairs[pair, 1]
        tail = load(tails, v * LANES, like)
        on_first = load(begins, u * LANES, like) + tail
        on_second = load(begins, v * LANES, like) + tail
        for place in range(shop.steps.shape[1]):
            here = load(free, shop.steps[pair, place, 0] * LANES, like)
            first = splat(shop.steps[pair, place, 1], like)
            lag = splat(shop.steps[pair, place, 2], like)
            second = splat(shop.steps[pair, place, 3], like)
            on_first = on_first + (first & here)
            on_second = maximum(on_second, (on_first + lag) & here) + (second & here)
        best = maximum(best, on_second)
    store(pointer_of(block.bounds), int64(0), best)


def _on_device(
    problem: FlowShopProblem, pairs: NDArray[np.intp], nodes: Nodes
) -> NDArray[np.int32]:
    """Bound nodes on a GPU, each as the child that its last job at an end makes."""
    require_gpu()
    if len(pairs) and problem.n_jobs > 1:
        text = ",".join(f"{u}-{v}" for u, v in pairs.tolist())
        problem = problem.with_bound(f"cascade:1-{problem.n_jobs - 1}:{text}")
    ub = problem.trivial_ub
    result = np.empty(len(nodes.rows), np.int32)
    is_root = (nodes.front == 0) & (nodes.back == 0)
    result[is_root] = _Shop.of(problem, pairs).bound(nodes.take(is_root))
    for rule in BranchingRule.FRONT, BranchingRule.BACK:
        goes_back = rule is BranchingRule.BACK
        chosen = np.flatnonzero(
            (nodes.front == 0) & ~is_root if goes_back else nodes.front
        )
        if not len(chosen):
            continue
        tree = TreeOptions(rule, bound=problem.bound)
        there = OnDevice(Lb1, problem, tree, ub, 0)
        for begin in range(0, len(chosen), NODES_ON_DEVICE):
            some = chosen[begin : begin + NODES_ON_DEVICE]
            rows, front, back = nodes.take(some)
            one = np.uint16(1)
            parents = Nodes(rows, front - (not goes_back) * one, back - goes_back * one)
            parent, code, bounds = there.branch(parents, ub)
            own = (problem.n_jobs - back | BACK_BIT) if goes_back else 0 * front
            is_own = code == own[parent]
            result[some[parent[is_own]]] = bounds[is_own]
    return result


def _nodes(shop: FlowShopInstance, permutations: Any, d1: Any, d2: Any) -> Nodes:
    """Return partial schedules in the form of the pool engine."""
    n_jobs = shop.n_jobs
    try:
        rows = np.asarray(permutations)
    except ValueError:
        raise OptionError("permutations: expected one length, got several") from None
    if not rows.size and rows.ndim <= 1:
        rows = np.empty((0, n_jobs), np.int64)
    if rows.ndim != 2 or rows.shape[1] != n_jobs or rows.dtype.kind not in "iu":
        raise OptionError(
            f"permutations: expected whole numbers of shape (r, {n_jobs}), got an "
            f"array of {rows.dtype}, shape {rows.shape}"
        )
    wrong = np.flatnonzero((np.sort(rows, axis=1) != np.arange(n_jobs)).any(axis=1))
    if len(wrong):
        raise OptionError(
            f"partial schedule {wrong[0]}: expected a permutation of 0 to "
            f"{n_jobs - 1}, got {shown(rows[wrong[0]].tolist())}"
        )
    front, back = (_counts(d, len(rows), name) for d, name in ((d1, "d1"), (d2, "d2")))
    wrong = np.flatnonzero((front < 0) | (back < 0) | (front + back > n_jobs))
    if len(wrong):
        one = wrong[0]
        raise OptionError(
            f"partial schedule {one}: expected d1, d2 >= 0 with d1 + d2 <= {n_jobs}, "
            f"got {front[one]} and {back[one]}"
        )
    return Nodes(*(np.ascontiguousarray(a, np.uint16) for a in (rows, front, back)))


def _counts(given: Any, count: int, name: str) -> NDArray[np.int64]:
    """Return numbers of jobs, shape (count,)."""
    numbers = np.asarray(given)
    if numbers.shape not in ((), (count,)) or numbers.dtype.kind not in "iu":
        raise OptionError(
            f"{name}: expected a whole number or {count} of them, got an array of "
            f"{numbers.dtype}, shape {numbers.shape}"
        )
    return np.broadcast_to(numbers.astype(np.int64), (count,))
