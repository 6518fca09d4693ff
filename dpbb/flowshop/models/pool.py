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
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.pointers import aligned_zeros, pointer_of
from dpbb.kernels.pool_models import BACK_BIT, Nodes
from dpbb.kernels.simd import less, load, maximum, splat, store, zeros
from dpbb.options import BranchingRule, TreeOptions
from dpbb.problem import Problem
from dpbb.tree.branching import fixed_side

if TYPE_CHECKING:
    from dpbb.flowshop.models.pool_cuda import PoolDevice

LARGEST = np.iinfo(np.int32).max
"""Above every bound."""

RULES = tuple(BranchingRule)

LANES = 64
"""Nodes of a block: a vector of as many lanes is one or several of the processor's."""


class PoolTables(NamedTuple):
    """An instance, jobs in root order, as compiled code reads it."""

    times: NDArray[np.int32]  # (n, m)
    least_heads: NDArray[np.int32]  # (m,)
    least_tails: NDArray[np.int32]
    kinds: NDArray[np.int32]  # (n,): equal jobs of which one is branched on have one
    rule: int  # place in RULES
    branching_ub: int


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
    tables, shop
        What compiled code reads; ``shop`` has the pairs of machines.
    most
        Above every makespan.
    first, last
        Depths of the children that two-machine bounds tighten; none if there are no
        pairs.
    pairs
        The pairs, in their order; shape (n_pairs, 2).
    """

    def __init__(
        self,
        problem: FlowShopProblem,
        tree: TreeOptions,
        pairs: NDArray[np.intp] | None = None,
    ) -> None:
        times = problem.times
        kinds = problem.job_kinds if tree.skips_copies else np.arange(len(times))
        if tree.root_order is not None:
            order = np.array(tree.root_order, np.intp)
            times, kinds = times[order], kinds[order]
        self.times = times
        self.n_jobs, self.n_machines = times.shape
        self.root_bound = problem.root_bound
        cascade = cascade_of(tree.bound, *times.shape)
        self.first, self.last, self.pairs = 1, 0, np.empty((0, 2), np.intp)
        if pairs is not None:
            self.first, self.last, self.pairs = 0, self.n_jobs, pairs
        elif cascade is not None:
            self.first, self.last = cascade.first, cascade.last
            self.pairs = np.array(cascade.pairs, np.intp)
        self.johnson = JohnsonTables.of(times, self.pairs)
        self.most = problem.trivial_ub
        parts = self.johnson.order, self.johnson.first, self.johnson.lag
        steps = np.stack([*parts, self.johnson.second], axis=2).astype(np.int64)
        narrow = self.most <= np.iinfo(np.int16).max
        table = times.astype(np.int16 if narrow else np.int32)
        self.shop = Shop(table, self.pairs.astype(np.int64), steps)
        self.compares = fixed_side(tree.branching, 0) is None
        self.tables = PoolTables(
            np.ascontiguousarray(times, np.int32),
            problem.least_heads.astype(np.int32),
            problem.least_tails.astype(np.int32),
            kinds.astype(np.int32),
            RULES.index(tree.branching),
            min(tree.branching_ub or 0, LARGEST),
        )

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
        limit = min(ub, LARGEST)
        made = _branch(self.tables, nodes, limit, parent, code, bounds)
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
        ends = self.tables.least_heads, self.tables.least_tails
        _bound(self.shop, block, nodes, *ends, limit, result)
        return result


@helper
def read_ends(
    tables: PoolTables,
    row: NDArray[np.uint16],
    n_front: int,
    n_back: int,
    ends: NDArray[np.int32],
) -> None:
    """Write front, back and remain of a node, one after the other."""
    n_jobs, n_machines = tables.times.shape
    ends[:n_machines] = tables.least_heads
    ends[n_machines : 2 * n_machines] = tables.least_tails
    ends[2 * n_machines :] = 0
    for i in range(n_front):
        job = int64(row[i])
        last = np.int32(0)
        for k in range(n_machines):
            last = max(last, ends[k]) + tables.times[job, k]
            ends[k] = last
    for i in range(n_jobs - 1, n_jobs - n_back - 1, -1):
        job = int64(row[i])
        last = np.int32(0)
        for k in range(n_machines - 1, -1, -1):
            last = max(last, ends[n_machines + k]) + tables.times[job, k]
            ends[n_machines + k] = last
    for i in range(n_front, n_jobs - n_back):
        job = int64(row[i])
        for k in range(n_machines):
            ends[2 * n_machines + k] += tables.times[job, k]


@helper
def _bound_side(
    columns: NDArray[np.int32],
    own: NDArray[np.int32],
    other: NDArray[np.int32],
    remain: NDArray[np.int32],
    backwards: bool,
    start: NDArray[np.int32],
    bounds: NDArray[np.int32],
) -> None:
    """LB1 of all children on one side; ``columns[k]``: times on machine k."""
    n_machines, count = columns.shape
    first = n_machines - 1 if backwards else 0
    for i in range(count):
        start[i] = own[first]
        bounds[i] = own[first] + remain[first] + other[first]
    for step in range(1, n_machines):
        k = n_machines - 1 - step if backwards else step
        before = k + 1 if backwards else k - 1
        ready, rest = own[k], remain[k] + other[k]
        for i in range(count):
            begin = max(start[i] + columns[before, i], ready)
            start[i] = begin
            bounds[i] = max(bounds[i], begin + rest)


@helper
def _takes_back(
    rule: int, branching_ub: int, ahead: NDArray[np.int32], behind: NDArray[np.int32]
) -> bool:
    """Twin of ``dpbb.tree.branching.choose_back`` for rules that compare bounds."""
    preference = total = int64(0)
    limit = int64(branching_ub)
    if rule == 0:  # minmin counts children of the least bound
        limit = int64(min(ahead.min(), behind.min())) + 1
    for i in range(len(ahead)):
        total += int64(behind[i]) - int64(ahead[i])
        if rule <= 1:
            preference += int64(behind[i] < limit) - int64(ahead[i] < limit)
    return bool(preference < 0 if preference != 0 else total > 0)


@entry
def _branch(
    tables: PoolTables,
    nodes: Nodes,
    ub: int,
    parent: NDArray[np.int32],
    code: NDArray[np.uint16],
    bounds: NDArray[np.int32],
) -> int:
    rows, front, back = nodes
    n_jobs, n_machines = tables.times.shape
    ends = np.empty(3 * n_machines, np.int32)
    table = np.empty(n_machines * n_jobs, np.int32)
    start = np.empty(n_jobs, np.int32)
    sides = np.empty((2, n_jobs), np.int32)
    made = 0
    for node in range(len(rows)):
        n_front, n_back = int64(front[node]), int64(back[node])
        count = n_jobs - n_front - n_back
        read_ends(tables, rows[node], n_front, n_back, ends)
        heads, tails = ends[:n_machines], ends[n_machines : 2 * n_machines]
        remain = ends[2 * n_machines :]
        columns = table[: n_machines * count].reshape(n_machines, count)
        for i in range(count):
            job = int64(rows[node, n_front + i])
            for k in range(n_machines):
                columns[k, i] = tables.times[job, k]
        ahead, behind = sides[0, :count], sides[1, :count]
        compares = tables.rule <= 2
        side = tables.rule == 5 or (tables.rule == 3 and (n_front + n_back) % 2 == 1)
        if compares or not side:
            _bound_side(columns, heads, tails, remain, False, start, ahead)
        if compares or side:
            _bound_side(columns, tails, heads, remain, True, start, behind)
        if compares:
            side = _takes_back(tables.rule, tables.branching_ub, ahead, behind)
        chosen = behind if side else ahead
        before = int64(-1)
        for digit in range(count):
            kind = int64(tables.kinds[int64(rows[node, n_front + digit])])
            is_copy = kind == before
            before = kind
            if chosen[digit] < ub and not is_copy:
                parent[made] = node
                code[made] = digit + (BACK_BIT if side else 0)
                bounds[made] = chosen[digit]
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
