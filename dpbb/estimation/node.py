"""Nodes of a sampled level: what compiled code holds of them, and a node's children.

Nodes are not visited in depth-first order here but level by level, so each carries its
whole state. What that is, and the bounds, are the model's (``dpbb.kernels.models``),
the choice of the side is that of ``dpbb.kernels.pairs``: both as in the CPU engine.
Counts of nodes do not depend on the order in which siblings are numbered, but paths do:
jobs are in root order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.kernels import models
from dpbb.kernels.compiling import helper, int64
from dpbb.kernels.pairs import (
    EqualJobs,
    Room,
    Rule,
    best_side,
    bound_children,
    close_copies,
    groups_of,
)
from dpbb.kernels.pointers import pointer_of
from dpbb.options import TreeOptions
from dpbb.problem import Problem


class Tables(NamedTuple):
    """The problem and the rule of its tree, for compiled code; never written."""

    model: Any
    rule: Rule
    equal: EqualJobs | None
    n_jobs: int
    largest: int  # of the type of bounds; as a bound: no child
    ub: int  # bounds of at least this need not be the tightest


class Level(NamedTuple):
    """Nodes of one depth with their weights; r unscheduled jobs each.

    Attributes
    ----------
    weight : ndarray of float64, shape (size,)
        How many nodes of the tree each one stands for.
    nodes : ndarray of int16 or int32, shape (size, node_lanes)
        As the model has them.
    jobs : ndarray of uint16, shape (size, r)
        Unscheduled jobs, ascending.
    stratum : ndarray of int32, shape (size,)
        The least stratum on the way from the root: with an UB that is smaller by more
        the node is not visited.
    """

    weight: NDArray[np.float64]
    nodes: NDArray[Any]
    jobs: NDArray[np.uint16]
    stratum: NDArray[np.int32]


def make_tables(
    model: Any, problem: Problem[Any], tree: TreeOptions, ub: int
) -> Tables:
    """Return the tables of a tree; ``model`` is the class of models of the problem."""
    dtype = model.narrowest_dtype(problem, ub)
    largest = int(np.iinfo(dtype).max)
    return Tables(
        model=model.of(problem, tree.root_order, dtype),
        rule=Rule.of(tree.branching, tree.branching_ub, largest),
        equal=EqualJobs.of(problem, tree),
        n_jobs=problem.n_jobs,
        largest=largest,
        ub=min(ub, problem.trivial_ub),
    )


def root_level(tables: Tables) -> Level:
    """Return the level of depth 0: the tree's root, of weight 1."""
    return Level(
        weight=np.ones(1),
        nodes=tables.model.root[None].copy(),
        jobs=np.arange(tables.n_jobs, dtype=np.uint16)[None],
        stratum=np.full(1, np.iinfo(np.int32).max, np.int32),
    )


@helper
def decompose(tables: Tables, level: Level, node: int, depth: int, room: Room) -> bool:
    """Bound the children of both sides into the room; True if it takes the back.

    Copies of equal jobs have the largest bound afterwards; the others on the side that
    is taken are tightened.
    """
    r = level.jobs.shape[1]
    for slot in range(r):
        room.slot_jobs[slot] = level.jobs[node, slot]
    model = tables.model
    nodes = pointer_of(level.nodes)
    at = node * model.node_lanes
    least = bound_children(model, nodes, at, room, r, tables.largest)
    side = int64(best_side(tables.rule, depth, room, groups_of(r), least))
    close_copies(tables.equal, room, r, tables.largest)
    if models.tightens(model, depth + 1) and least < tables.ub:
        tighten_children(tables, level, node, depth, side, room)
    return bool(side)


@helper
def tighten_children(
    tables: Tables, level: Level, node: int, depth: int, side: int, room: Room
) -> None:
    """Tighten the bounds in the room of children below the UB on a side."""
    count = 0
    for slot in range(level.jobs.shape[1]):
        if room.bounds[2 * slot + side] < tables.ub:
            room.kept[count] = slot
            count += 1
    models.tighten(
        tables.model,
        pointer_of(level.nodes),
        node * tables.model.node_lanes,
        depth + 1,
        side,
        room.slot_jobs,
        int64(0),
        room.kept,
        count,
        room.work,
        tables.ub,
        int64(0),
    )
    for child in range(count):
        at = 2 * room.kept[child] + side
        room.bounds[at] = max(room.bounds[at], room.work[child])


@helper
def make_child(
    tables: Tables,
    level: Level,
    node: int,
    slot: int,
    side: int,
    below: Level,
    to: int,
    room: Room,
) -> None:
    """Write the child of a slot to ``below``, all but its weight."""
    model = tables.model
    models.step(
        model,
        pointer_of(level.nodes),
        node * model.node_lanes,
        pointer_of(below.nodes),
        to * model.node_lanes,
        room.scratch,
        int64(level.jobs[node, slot]),
        side,
    )
    for i in range(slot):
        below.jobs[to, i] = level.jobs[node, i]
    for i in range(slot, below.jobs.shape[1]):
        below.jobs[to, i] = level.jobs[node, i + 1]


@helper
def make_level(like: Level, size: int, r: int) -> Level:
    """Room for nodes with r unscheduled jobs."""
    return Level(
        np.empty(size, np.float64),
        np.empty((size, like.nodes.shape[1]), like.nodes.dtype),
        np.empty((size, r), np.uint16),
        np.empty(size, np.int32),
    )


@helper
def copy_node(source: Level, node: int, target: Level, at: int) -> None:
    """Copy a node; of rows of jobs that differ in width, the common part."""
    target.weight[at] = source.weight[node]
    target.stratum[at] = source.stratum[node]
    for lane in range(source.nodes.shape[1]):
        target.nodes[at, lane] = source.nodes[node, lane]
    for i in range(min(source.jobs.shape[1], target.jobs.shape[1])):
        target.jobs[at, i] = source.jobs[node, i]
