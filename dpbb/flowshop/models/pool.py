"""The flow shop for the pool engine: which children nodes have, and their bounds.

Nodes are branched on as in every other engine: LB1 of the children on both sides, or on
the only one that the rule looks at, chooses the side; then two-machine bounds tighten
those below the upper bound, where the tree's bound has any. On an empty side heads
(tails) are the least ones of all jobs.

Whole nodes are bounded with a node in every lane. All lanes walk the jobs in the
Johnson order of the same pair of machines, so that a job's times are one broadcast; in
lanes where it is scheduled a mask makes them nothing. What differs from node to node
(masks, heads and tails) is made lane by lane before. Twin: ``pool_nodes.cu``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.bounds.cascade import cascade_of
from dpbb.flowshop.bounds.lb2 import JohnsonTables
from dpbb.flowshop.models.lb1_cpu import Lb1
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels import models
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.pairs import (
    EqualJobs,
    Room,
    Rule,
    best_side,
    bound_children,
    close_copies,
    groups_of,
)
from dpbb.kernels.pointers import Lanes, addresses, aligned_zeros, pointer_of, pointers
from dpbb.kernels.pool_models import BACK_BIT, Nodes
from dpbb.kernels.simd import less, load, maximum, splat, store, zeros
from dpbb.options import TreeOptions
from dpbb.problem import Problem

if TYPE_CHECKING:
    from dpbb.flowshop.models.pool_cuda import PoolDevice

LANES = 64
"""Nodes of a block: a vector of as many lanes is one or several of the processor's."""


class Branching(NamedTuple):
    """What nodes are branched on with: LB1, and where a thread works."""

    model: Lb1
    rule: Rule
    equal: EqualJobs | None
    room: Room
    node: Lanes


class Shop(NamedTuple):
    """An instance with pairs of machines, in integers that hold its bounds."""

    times: NDArray[Any]  # (n_jobs, n_machines)
    pairs: NDArray[np.int64]  # (n_pairs, 2)
    steps: NDArray[np.int64]  # (n_pairs, n_jobs, 4): job, time on u, lag, time on v


class Block(NamedTuple):
    """Room for ``LANES`` nodes at a time, all in rows of as many integers.

    A mask is -1 or 0.
    """

    heads: NDArray[Any]  # n_machines rows, as the next three
    tails: NDArray[Any]
    remain: NDArray[Any]
    columns: NDArray[Any]  # times of one job a lane
    free: NDArray[Any]  # n_jobs rows of masks: the unscheduled jobs
    bounds: NDArray[Any]  # one row, as the next two
    grows: NDArray[Any]  # mask: the job is added to the lane's side
    waits: NDArray[Any]  # mask: the job is unscheduled

    @classmethod
    def of(cls, shop: Shop) -> Block:
        """Return room for nodes of an instance."""
        n_jobs, n_machines = shop.times.shape
        rows = (*[n_machines] * 4, n_jobs, *[1] * 3)
        return cls(*(aligned_zeros(n * LANES, shop.times.dtype) for n in rows))


class PoolFlowShop:
    """A flow shop with a tree, as the pool engine asks for it.

    Parameters
    ----------
    problem, tree
        What the tree is a function of.
    pairs
        Machines whose two-machine bounds tighten nodes of all depths; default: as the
        tree's bound says.

    Attributes
    ----------
    times : ndarray of int64, shape (n_jobs, n_machines)
        Jobs in root order.
    shop, johnson
        What compiled code reads of the pairs of machines.
    most
        Above every makespan.
    first, last
        Depths of the children that two-machine bounds tighten; none if there are no
        pairs.
    pairs
        The pairs, in their order; shape (n_pairs, 2).
    least_heads, least_tails : ndarray of int32, shape (n_machines,)
        Of all jobs.
    kinds : ndarray of intp, shape (n_jobs,)
        Equal jobs, of which one is branched on, have one.
    """

    def __init__(
        self,
        problem: FlowShopProblem,
        tree: TreeOptions,
        pairs: NDArray[np.intp] | None = None,
    ) -> None:
        self.most = problem.trivial_ub
        self.root_bound = problem.root_bound
        self.branching, self.branching_ub = tree.branching, tree.branching_ub
        dtype = Lb1.narrowest_dtype(problem, self.most)
        self._lb1 = Lb1.of(problem, tree.root_order, dtype)
        self._lane = dtype(0)
        largest = int(np.iinfo(dtype).max)
        self._rule = Rule.of(tree.branching, tree.branching_ub, largest)
        self._equal = EqualJobs.of(problem, tree)
        times = self.times = self._lb1.times
        self.n_jobs, self.n_machines = times.shape
        self.least_heads = problem.least_heads.astype(np.int32)
        self.least_tails = problem.least_tails.astype(np.int32)
        each = np.arange(self.n_jobs)
        self.kinds = each if self._equal is None else self._equal.kinds
        cascade = cascade_of(tree.bound, *times.shape)
        self.first, self.last, self.pairs = 1, 0, np.empty((0, 2), np.intp)
        if pairs is not None:
            self.first, self.last, self.pairs = 0, self.n_jobs, pairs
        elif cascade is not None:
            self.first, self.last = cascade.first, cascade.last
            self.pairs = np.array(cascade.pairs, np.intp)
        self.johnson = JohnsonTables.of(times, self.pairs)
        parts = self.johnson.order, self.johnson.first, self.johnson.lag
        steps = np.stack([*parts, self.johnson.second], axis=2).astype(np.int64)
        narrow = self.most <= np.iinfo(np.int16).max
        table = times.astype(np.int16 if narrow else np.int32)
        self.shop = Shop(table, self.pairs.astype(np.int64), steps)

    @staticmethod
    def obstacle(problem: Problem[Any]) -> str | None:
        """None for a flow shop whose digits fit 15 bits."""
        if not isinstance(problem, FlowShopProblem):
            return f"it takes flow shops alone, not {type(problem).__name__}"
        if problem.n_jobs >= BACK_BIT:
            return f"expected less than {BACK_BIT} jobs, got {problem.n_jobs}"
        return None

    def branch(
        self, nodes: Nodes, ub: int
    ) -> tuple[NDArray[np.int32], NDArray[np.uint16], NDArray[np.int32]]:
        """Choose the side of nodes; return their children there of LB1 below ``ub``.

        Returns
        -------
        parent, code, bounds : shape (r,)
            Number of the node, digit of the child with ``BACK_BIT`` at the back, LB1.
        """
        unscheduled = self.n_jobs - nodes.front.astype(np.int64) - nodes.back
        most = int(unscheduled.sum())
        parent, code = np.empty(most, np.int32), np.empty(most, np.uint16)
        bounds = np.empty(most, np.int32)
        model = self._lb1
        state = Branching(
            *(model, self._rule, self._equal),
            Room.of(model, self.n_jobs, model.root.dtype),
            aligned_zeros(model.node_lanes, model.root.dtype),
        )
        how = (nodes, min(ub, self.most), parent, code, bounds)
        made = _branch(addresses(state), self._lane, *how)
        return parent[:made], code[:made], bounds[:made]

    def on_device(self, device: int, **how: Any) -> PoolDevice:
        """Return what bounds on a CUDA device; see ``PoolDevice``."""
        from dpbb.flowshop.models.pool_cuda import PoolDevice

        return PoolDevice(self, device, **how)

    def tightened(self, depths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which children two-machine bounds tighten, by their depths."""
        if not len(self.pairs):
            return np.zeros(len(depths), bool)
        return (depths >= self.first) & (depths <= self.last)

    def bound(self, nodes: Nodes, ub: int) -> NDArray[np.int32]:
        """Return LB1 and the two-machine bounds of nodes, the larger one.

        What is below ``ub`` is exact; from there on a bound may be cut short.
        """
        result = np.empty(len(nodes.rows), np.int32)
        block = Block.of(self.shop)
        limit = min(ub, int(np.iinfo(block.bounds.dtype).max))
        ends = self.least_heads, self.least_tails
        _bound(self.shop, block, nodes, *ends, limit, result)
        return result


@entry
def _branch(
    state: Branching,
    lane: np.signedinteger[Any],
    nodes: Nodes,
    ub: int,
    parent: NDArray[np.int32],
    code: NDArray[np.uint16],
    bounds: NDArray[np.int32],
) -> int:
    """See ``PoolFlowShop.branch``; ``state`` has addresses, ``lane`` is of its type."""
    at = pointers(state, lane)
    model, room, node = at.model, at.room, at.node
    rows, front, back = nodes
    n_jobs, here = model.n_jobs, int64(0)
    made = 0
    for number in range(len(rows)):
        n_front, end = int64(front[number]), n_jobs - int64(back[number])
        for i in range(model.node_lanes):
            node[i] = model.root[i]
        for i in range(n_front):
            job = int64(rows[number, i])
            models.step(model, node, here, node, here, room.scratch, job, int64(0))
        for i in range(n_jobs - 1, end - 1, -1):
            job = int64(rows[number, i])
            models.step(model, node, here, node, here, room.scratch, job, int64(1))
        count = end - n_front
        for i in range(count):
            room.slot_jobs[i] = int64(rows[number, n_front + i])
        least = bound_children(model, node, here, room, count, model.largest)
        depth = n_front + n_jobs - end
        side = int64(best_side(at.rule, depth, room, groups_of(count), least))
        close_copies(at.equal, room, count, model.largest)
        for digit in range(count):
            bound = int64(room.bounds[2 * digit + side])
            if bound < ub:
                parent[made] = number
                code[made] = digit + (BACK_BIT if side else 0)
                bounds[made] = bound
                made += 1
    return made


@helper
def _grow(shop: Shop, block: Block, ends: Any, backwards: bool) -> None:
    """Take a job a lane, in ``columns``, into account on one side of the nodes.

    It ends where it is added to the side, and remains where it is unscheduled.
    """
    n_machines = shop.times.shape[1]
    side, columns = pointer_of(ends), pointer_of(block.columns)
    remain = pointer_of(block.remain)
    like = zeros(columns, LANES)
    grows = load(pointer_of(block.grows), int64(0), like)
    waits = load(pointer_of(block.waits), int64(0), like)
    time = like
    for step in range(n_machines):
        at = (n_machines - 1 - step if backwards else step) * LANES
        end = load(side, at, like)
        needed = load(columns, at, like)
        time = maximum(time, end) + needed
        store(side, at, end ^ ((end ^ time) & grows))
        if not backwards:
            store(remain, at, load(remain, at, like) + (needed & waits))


@helper
def _read_side(
    shop: Shop,
    block: Block,
    nodes: Nodes,
    first: int,
    used: int,
    least: NDArray[np.int32],
    backwards: bool,
) -> None:
    """Make the heads of a block's nodes, and what remains; or, backwards, the tails.

    Parameters
    ----------
    first, used
        The nodes.
    least : ndarray of int32, shape (n_machines,)
        Least heads (tails) of all jobs.
    """
    rows, front, back = nodes
    n_jobs, n_machines = shop.times.shape
    ends = block.tails if backwards else block.heads
    times, columns = pointer_of(shop.times), pointer_of(block.columns)
    for at in range(n_machines * LANES):
        ends[at] = least[at // LANES]
    for place in range(n_jobs):
        some = False
        for lane in range(used):
            node = first + lane
            own = int64(back[node] if backwards else front[node])
            other = int64(front[node] if backwards else back[node])
            grows = place < own
            waits = not backwards and not grows and place < n_jobs - other
            block.grows[lane] = -1 if grows else 0
            block.waits[lane] = -1 if waits else 0
            if grows or waits:
                some = True
                job = int64(rows[node, n_jobs - 1 - place if backwards else place])
                for k in range(n_machines):
                    columns[k * LANES + lane] = times[job * n_machines + k]
        if some:
            _grow(shop, block, ends, backwards)


@helper
def _bound_machines(shop: Shop, block: Block) -> None:
    """Raise the bounds of all lanes to LB1."""
    heads, tails = pointer_of(block.heads), pointer_of(block.tails)
    remain, bounds = pointer_of(block.remain), pointer_of(block.bounds)
    like = zeros(bounds, LANES)
    best = load(bounds, int64(0), like)
    for k in range(shop.times.shape[1]):
        at = k * LANES
        ends = load(heads, at, like) + load(remain, at, like) + load(tails, at, like)
        best = maximum(best, ends)
    store(bounds, int64(0), best)


@helper
def _bound_pairs(shop: Shop, block: Block, ub: int) -> None:
    """Raise the bounds of all lanes to those of the pairs, or to ``ub`` and no further.

    A lane's walk begins with the tail added: what it ends with is the bound. Where a
    job is scheduled its sum may overflow, and counts as nothing. It ends when no lane
    is below ``ub``.
    """
    heads, tails = pointer_of(block.heads), pointer_of(block.tails)
    free, bounds = pointer_of(block.free), pointer_of(block.bounds)
    like = zeros(free, LANES)
    best = load(bounds, int64(0), like)
    limit = splat(ub, like)
    for pair in range(shop.pairs.shape[0]):
        if less(best, limit) == np.uint64(0):
            break
        u, v = shop.pairs[pair, 0], shop.pairs[pair, 1]
        tail = load(tails, v * LANES, like)
        on_first = load(heads, u * LANES, like) + tail
        on_second = load(heads, v * LANES, like) + tail
        for place in range(shop.steps.shape[1]):
            here = load(free, shop.steps[pair, place, 0] * LANES, like)
            first = splat(shop.steps[pair, place, 1], like)
            lag = splat(shop.steps[pair, place, 2], like)
            second = splat(shop.steps[pair, place, 3], like)
            on_first = on_first + (first & here)
            on_second = maximum(on_second, (on_first + lag) & here) + (second & here)
        best = maximum(best, on_second)
    store(bounds, int64(0), best)


@entry
def _bound(
    shop: Shop,
    block: Block,
    nodes: Nodes,
    least_heads: NDArray[np.int32],
    least_tails: NDArray[np.int32],
    ub: int,
    result: NDArray[np.int32],
) -> None:
    """Bound nodes of a tree, a block of lanes after the other."""
    rows, front, back = nodes
    n_jobs = shop.times.shape[0]
    for first in range(0, len(rows), LANES):
        block.free[:] = 0
        block.remain[:] = 0
        used = min(LANES, len(rows) - first)
        for lane in range(LANES):
            block.grows[lane] = block.waits[lane] = 0
            # no lane waits for those without a node
            block.bounds[lane] = 0 if lane < used else ub
        for lane in range(used):
            node = first + lane
            for i in range(int64(front[node]), n_jobs - int64(back[node])):
                block.free[int64(rows[node, i]) * LANES + lane] = -1
        some = (int64(first), int64(used))
        _read_side(shop, block, nodes, *some, least_heads, False)
        _read_side(shop, block, nodes, *some, least_tails, True)
        _bound_machines(shop, block)
        _bound_pairs(shop, block, int64(ub))
        for lane in range(used):
            result[first + lane] = block.bounds[lane]
