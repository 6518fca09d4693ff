"""The flow shop for the pool engine: which children nodes have, and their bounds.

Nodes are branched on as in every other engine: LB1 of the children on both sides, or on
the only one that the rule looks at, chooses the side; then two-machine bounds tighten
those below the upper bound, where the tree's bound has any. On an empty side heads
(tails) are the least ones of all jobs. The bounds themselves are those of
``dpbb.flowshop.bounds.batch_cpu``, a node in every lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.bounds import batch_cpu
from dpbb.flowshop.bounds.cascade import cascade_of
from dpbb.flowshop.bounds.lb2 import JohnsonTables
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.pool_models import BACK_BIT, Nodes
from dpbb.options import BranchingRule, TreeOptions
from dpbb.problem import Problem
from dpbb.tree.branching import fixed_side

if TYPE_CHECKING:
    from dpbb.flowshop.models.pool_cuda import PoolDevice

LARGEST = np.iinfo(np.int32).max
"""Above every bound."""

RULES = tuple(BranchingRule)


class PoolTables(NamedTuple):
    """An instance, jobs in root order, as compiled code reads it."""

    times: NDArray[np.int32]  # (n, m)
    least_heads: NDArray[np.int32]  # (m,)
    least_tails: NDArray[np.int32]
    kinds: NDArray[np.int32]  # (n,): equal jobs of which one is branched on have one
    rule: int  # place in RULES
    branching_ub: int


class PoolFlowShop:
    """A flow shop with a tree, as the pool engine asks for it.

    Parameters
    ----------
    problem, tree
        What the tree is a function of.

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

    def __init__(self, problem: FlowShopProblem, tree: TreeOptions) -> None:
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
        if cascade is not None:
            self.first, self.last = cascade.first, cascade.last
            self.pairs = np.array(cascade.pairs, np.intp)
        self.johnson = JohnsonTables.of(times, self.pairs)
        self.most = problem.trivial_ub
        self.shop = batch_cpu.Shop.of(times, self.johnson, self.most)
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
        block = batch_cpu.Block.of(self.shop)
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


@entry
def _bound(
    shop: batch_cpu.Shop,
    block: batch_cpu.Block,
    nodes: Nodes,
    least_heads: NDArray[np.int32],
    least_tails: NDArray[np.int32],
    ub: int,
    result: NDArray[np.int32],
) -> None:
    """Bound nodes of a tree, a block of lanes after the other."""
    rows, front, back = nodes
    lanes = batch_cpu.LANES
    n_machines = shop.times.shape[1]
    for first in range(0, len(rows), lanes):
        block.free[:] = 0
        block.remain[:] = 0
        used = min(lanes, len(rows) - first)
        for lane in range(lanes):
            block.grows[lane] = block.waits[lane] = block.wants[lane] = 0
            block.bounds[lane] = ub  # no lane waits for those without a node
            block.valid[lane] = 0
        for lane in range(used):
            node = first + lane
            n_front, n_back = int64(front[node]), int64(back[node])
            batch_cpu.mark_free(block, int64(lane), rows[node], n_front, n_back)
            block.bounds[lane] = 0
            block.valid[lane] = 1
        which = (int64(first), int64(used))
        here = (shop, block, rows)
        batch_cpu.read_side(*here, front, back, *which, least_heads, False, False)
        batch_cpu.read_side(*here, back, front, *which, least_tails, True, False)
        for lane in range(used):
            node = first + lane
            for k in range(n_machines):
                if front[node] == 0:
                    block.heads[k * lanes + lane] = least_heads[k]
                if back[node] == 0:
                    block.tails[k * lanes + lane] = least_tails[k]
        batch_cpu.bound_machines(shop, block)
        batch_cpu.bound_pairs(shop, block, int64(ub))
        for lane in range(used):
            result[first + lane] = block.bounds[lane]
