"""One node of a sampled level: bound its children, choose the side, make a child.

The rules of the tree are those of ``dpbb.tree.branching``, the bound is LB1 as in
``dpbb.flowshop.bounds``; nodes are not visited in depth-first order here but level by
level, so each carries its whole state. Counts of nodes do not depend on the order in
which siblings are numbered, but paths do: jobs are in root order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpbb.engines.cpu.compilation import helper
from dpbb.flowshop.makespan import heads, tails
from dpbb.options import BranchingRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.flowshop.problem import FlowShopProblem
    from dpbb.options import TreeOptions

int32: Any = np.int32
"""The integer of all bounds."""

FRONT, BACK, ALTERNATE, COMPARE = 0, 1, 2, 3
"""How a side is chosen: always the front, the back, by depth, or by bounds."""

_SIDES = {
    BranchingRule.FRONT: FRONT,
    BranchingRule.BACK: BACK,
    BranchingRule.ALTERNATE: ALTERNATE,
}

PREFIX, SUFFIX = 1, 2
"""Bits of ``Level.sides``: the side holds a job."""


class Tables(NamedTuple):
    """The instance and the rules of its tree, for compiled code.

    Attributes
    ----------
    times : ndarray of int32, shape (n_jobs, n_machines)
        Processing times, jobs in root order.
    columns : ndarray of int32, shape (n_machines, n_jobs)
        The same, by machines.
    heads, tails : ndarray of int32, shape (n_machines,)
        Least heads and tails: fronts and backs of empty sides, in bounds only.
    onwards, backwards : ndarray of int64, shape (n_machines,)
        Machines in the order of the front's recursion, and of the back's.
    side
        FRONT, BACK, ALTERNATE or COMPARE.
    counted_above_least, counted_below
        Children count in the comparison of sides when their bound is below
        ``counted_below`` plus, where the other is 1, the least bound of both sides.
    """

    times: NDArray[np.int32]
    columns: NDArray[np.int32]
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    onwards: NDArray[np.int64]
    backwards: NDArray[np.int64]
    side: int
    counted_above_least: int
    counted_below: int


class Level(NamedTuple):
    """Nodes of one depth with their weights; r unscheduled jobs each.

    Attributes
    ----------
    weight : ndarray of float64, shape (size,)
        How many nodes of the tree each one stands for.
    front, back, remain : ndarray of int32, shape (size, n_machines)
        As in ``FlowShopState``: zeros on an empty side.
    sides : ndarray of uint8, shape (size,)
        PREFIX and SUFFIX bits.
    jobs : ndarray of uint16, shape (size, r)
        Unscheduled jobs, ascending.
    stratum : ndarray of int32, shape (size,)
        The least stratum on the way from the root: with an UB that is smaller by more
        the node is not visited.
    """

    weight: NDArray[np.float64]
    front: NDArray[np.int32]
    back: NDArray[np.int32]
    remain: NDArray[np.int32]
    sides: NDArray[np.uint8]
    jobs: NDArray[np.uint16]
    stratum: NDArray[np.int32]


class Scratch(NamedTuple):
    """Room for one node's children; one per thread.

    Attributes
    ----------
    columns : ndarray of int32, shape (n_machines, n_jobs)
        Times of the unscheduled jobs side by side.
    entry, front, back : ndarray of int32, shape (n_jobs,)
        Earliest start on the machine at hand; bounds of the children of each side.
    """

    columns: NDArray[np.int32]
    entry: NDArray[np.int32]
    front: NDArray[np.int32]
    back: NDArray[np.int32]


def make_tables(problem: FlowShopProblem, tree: TreeOptions) -> Tables:
    """Return the tables of a tree."""
    times = problem.instance.times
    if tree.root_order is not None:
        times = times[np.array(tree.root_order)]
    # an instance's times sum to less than 2**30, and so do bounds
    small = np.ascontiguousarray(times, np.int32)
    minmin = tree.branching is BranchingRule.MINMIN
    minbranch = tree.branching is BranchingRule.MINBRANCH
    return Tables(
        times=small,
        columns=np.ascontiguousarray(small.T),
        heads=heads(times).min(axis=0).astype(np.int32),
        tails=tails(times).min(axis=0).astype(np.int32),
        onwards=np.arange(times.shape[1]),
        backwards=np.arange(times.shape[1])[::-1].copy(),
        side=_SIDES.get(tree.branching, COMPARE),
        counted_above_least=int(minmin),
        counted_below=1 if minmin else (tree.branching_ub or 0) if minbranch else 0,
    )


def root_level(tables: Tables) -> Level:
    """Return the level of depth 0: the tree's root, of weight 1."""
    n_jobs, n_machines = tables.times.shape
    nothing = np.zeros((1, n_machines), np.int32)
    return Level(
        weight=np.ones(1),
        front=nothing,
        back=nothing.copy(),
        remain=tables.times.sum(axis=0, dtype=np.int32)[None],
        sides=np.zeros(1, np.uint8),
        jobs=np.arange(n_jobs, dtype=np.uint16)[None],
        stratum=np.full(1, np.iinfo(np.int32).max, np.int32),
    )


@helper
def make_scratch(tables: Tables) -> Scratch:
    """Room for the children of one node."""
    n = tables.times.shape[0]
    return Scratch(
        np.empty_like(tables.columns),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
    )


@helper
def bound_side(
    ahead: NDArray[np.int32],
    behind: NDArray[np.int32],
    remain: NDArray[np.int32],
    columns: NDArray[np.int32],
    machines: NDArray[np.int64],
    entry: NDArray[np.int32],
    bounds: NDArray[np.int32],
) -> None:
    """LB1 of the children that go between ``ahead`` and the rest, machine by machine.

    ``int32(...)`` keeps Numba from computing in 64 bits, which halves the lanes of a
    vector.
    """
    entry[:] = 0
    bounds[: entry.size] = 0
    for k in machines:
        earliest = ahead[k]
        after = int32(remain[k] + behind[k])
        times = columns[k]
        for i in range(entry.size):
            start = max(entry[i], earliest)
            bounds[i] = max(bounds[i], int32(start + after))
            entry[i] = int32(start + times[i])


@helper
def bound_children(tables: Tables, level: Level, node: int, scratch: Scratch) -> None:
    """Bound the children of both sides, into the scratch."""
    n_machines = tables.columns.shape[0]
    jobs = level.jobs[node]
    for k in range(n_machines):
        source, target = tables.columns[k], scratch.columns[k]
        for i in range(jobs.size):
            target[i] = source[jobs[i]]
    front = level.front[node] if level.sides[node] & PREFIX else tables.heads
    back = level.back[node] if level.sides[node] & SUFFIX else tables.tails
    remain = level.remain[node]
    columns, entry = scratch.columns, scratch.entry[: jobs.size]
    bound_side(front, back, remain, columns, tables.onwards, entry, scratch.front)
    bound_side(back, front, remain, columns, tables.backwards, entry, scratch.back)


@helper
def takes_back(tables: Tables, depth: int, r: int, scratch: Scratch) -> bool:
    """Whether the node whose children were bounded takes the back ones."""
    if tables.side != COMPARE:
        if tables.side == ALTERNATE:
            return depth % 2 == 1
        return tables.side == BACK
    front, back = scratch.front, scratch.back
    least = front[0]
    for i in range(r):
        least = min(least, front[i], back[i])
    limit = tables.counted_below
    if tables.counted_above_least:
        limit += least
    count: Any = 0
    total: Any = 0
    for i in range(r):
        count += np.int64(back[i] < limit) - np.int64(front[i] < limit)
        total += np.int64(back[i]) - np.int64(front[i])
    return bool(count < 0 if count != 0 else total > 0)


@helper
def make_child(
    tables: Tables,
    level: Level,
    node: int,
    slot: int,
    back: bool,
    below: Level,
    at: int,
) -> None:
    """Write the child that takes the job of a slot to ``below[at]``, but its weight."""
    n_machines = tables.columns.shape[0]
    job = level.jobs[node, slot]
    for k in range(n_machines):
        below.front[at, k] = level.front[node, k]
        below.back[at, k] = level.back[node, k]
        below.remain[at, k] = level.remain[node, k] - tables.times[job, k]
    end = int32(0)
    if back:
        for k in range(n_machines - 1, -1, -1):
            end = max(end, level.back[node, k]) + tables.times[job, k]
            below.back[at, k] = end
        below.sides[at] = level.sides[node] | SUFFIX
    else:
        for k in range(n_machines):
            end = max(end, level.front[node, k]) + tables.times[job, k]
            below.front[at, k] = end
        below.sides[at] = level.sides[node] | PREFIX
    for i in range(slot):
        below.jobs[at, i] = level.jobs[node, i]
    for i in range(slot, below.jobs.shape[1]):
        below.jobs[at, i] = level.jobs[node, i + 1]


@helper
def make_level(tables: Tables, size: int, r: int) -> Level:
    """Room for nodes with r unscheduled jobs."""
    n_machines = tables.columns.shape[0]
    return Level(
        np.empty(size, np.float64),
        np.empty((size, n_machines), np.int32),
        np.empty((size, n_machines), np.int32),
        np.empty((size, n_machines), np.int32),
        np.empty(size, np.uint8),
        np.empty((size, r), np.uint16),
        np.empty(size, np.int32),
    )


@helper
def copy_node(source: Level, node: int, target: Level, at: int) -> None:
    """Copy a node; of the wider of two rows of jobs, the end is not looked at."""
    target.weight[at] = source.weight[node]
    target.sides[at] = source.sides[node]
    target.stratum[at] = source.stratum[node]
    for k in range(source.front.shape[1]):
        target.front[at, k] = source.front[node, k]
        target.back[at, k] = source.back[node, k]
        target.remain[at, k] = source.remain[node, k]
    for i in range(min(source.jobs.shape[1], target.jobs.shape[1])):
        target.jobs[at, i] = source.jobs[node, i]
