"""Truncated best-upper-bound-first branch and bound.

Source: one of the heuristic threads of Gmys, INFORMS Journal on Computing 34(5), 2022.
A node's *upper bound* is the makespan of its completion by the unscheduled jobs in the
order of the start. Depth first, the child of the least upper bound first, LB1 prunes;
the stack and the nodes that are expanded are limited. At every ``WINDOW``-th depth only
so many nodes of the least upper bounds are gone on from: one in the first round, twice
as many in each one after it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.heuristics.beam_kernels import root_node, side_below
from dpbb.flowshop.heuristics.beam_levels import Root
from dpbb.flowshop.heuristics.loading import tiny_searches
from dpbb.flowshop.heuristics.plain import neh
from dpbb.flowshop.heuristics.search import Search, improve
from dpbb.flowshop.models.lb1_cpu import Lb1, front_at
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.models import step
from dpbb.kernels.pairs import Room, bound_children
from dpbb.kernels.pointers import Lanes, addresses, pointer_of, pointers
from dpbb.problem import Incumbent

WINDOW = 8
"""Depths between those at which the best nodes are chosen."""

STACK = 256
"""Nodes of a stack."""

MOST_KEPT = 1 << 12
"""Nodes that are gone on from, at most."""

NODES = 100
"""Nodes that are expanded below one node, within a window."""

CALL_OPERATIONS = 10_000_000
"""Nodes x jobs^2 x machines that are expanded without a look at the limits: 5 ms."""


def upper_bound_first(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule), round after round, in one thread.

    Ends at a limit (``search.iterations``: rounds) or when a round dropped nothing; the
    incumbent is ``proved`` then, unless jobs are kept at the ends of ``start``.
    """
    incumbent = neh(search) if start is None else start
    n_jobs, n_machines = search.instance.n_jobs, search.instance.n_machines
    problem = FlowShopProblem(search.instance)
    first, last = search.kept
    order = np.asarray(incumbent.permutation, np.intp)
    root = Root.of(problem, order[:first], order[n_jobs - last :])
    dtype = Lb1.narrowest_dtype(problem, incumbent.value)
    model, lane = Lb1.of(problem, None, dtype), dtype(0)
    room = Room.of(model, n_jobs, dtype)
    tables = addresses(model), addresses(room), lane
    stack = Pool.empty(model, STACK + 1)
    best = np.zeros(n_jobs, np.int32)
    counts = np.zeros(4, np.int64)
    once = max(1, min(NODES, CALL_OPERATIONS // (n_jobs * n_jobs * n_machines)))
    width, rounds = 1, 0
    while rounds != search.iterations and not incumbent.proved:
        below, nodes = (Pool.empty(model, width) for _ in range(2))
        nodes.nodes[0] = root_node(model, root)
        nodes.orders[0] = order
        nodes.ends[0] = first, last
        nodes.bounds[0] = 0
        nodes.values[0] = incumbent.value
        counts[CUT], count = 0, 1
        for depth in range(first + last + WINDOW, n_jobs + WINDOW, WINDOW):
            counts[KEPT] = 0
            for row in range(count):
                incumbent = search.latest(incumbent)
                if search.over or incumbent.proved:
                    return incumbent
                counts[VALUE], counts[LEFT] = incumbent.value, once
                descend(*tables, nodes, row, depth, stack, below, width, best, counts)
                if counts[VALUE] < incumbent.value:
                    incumbent = improve(search, incumbent, best, "bub")
            nodes, below, count = below, nodes, int(counts[KEPT])
        rounds += 1
        if not counts[CUT]:
            whole = not first and not last
            return replace(incumbent, proved=True) if whole else incumbent
        width = min(2 * width, MOST_KEPT)
    return incumbent


def load(search: Search, start: Incumbent) -> None:
    """Load or compile the kernels, so that it takes no time from a search."""
    lane = Lb1.narrowest_dtype(FlowShopProblem(search.instance), start.value)
    for tiny in tiny_searches((lane,)):
        upper_bound_first(*tiny)


VALUE, KEPT, CUT, LEFT = range(4)
"""Places in ``descend``'s counters: the incumbent's makespan, how many nodes are kept,
whether a node was ever dropped that was not pruned, nodes that may still be expanded.
"""


class Pool(NamedTuple):
    """Nodes, one a row.

    Parameters
    ----------
    nodes : ndarray of int16 or int32, shape (size, node_lanes)
        As the model has them.
    orders : ndarray of int32, shape (size, n_jobs)
        Prefix, unscheduled jobs in the order in which they complete it, suffix.
    ends : ndarray of int32, shape (size, 2)
        Lengths of prefix and suffix.
    bounds, values : ndarray of int64, shape (size,)
        Lower bound; makespan of the order.
    """

    nodes: NDArray[Any]
    orders: NDArray[np.int32]
    ends: NDArray[np.int32]
    bounds: NDArray[np.int64]
    values: NDArray[np.int64]

    @classmethod
    def empty(cls, model: Lb1, size: int) -> Pool:
        """Return room for nodes."""
        return cls(
            np.zeros((size, model.node_lanes), model.root.dtype),
            np.zeros((size, model.n_jobs), np.int32),
            np.zeros((size, 2), np.int32),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
        )


@helper
def copy_node(source: Pool, row: int, target: Pool, to: int) -> None:
    """Copy a node from one pool to another."""
    for i in range(source.nodes.shape[1]):
        target.nodes[to, i] = source.nodes[row, i]
    for i in range(source.orders.shape[1]):
        target.orders[to, i] = source.orders[row, i]
    for i in range(2):
        target.ends[to, i] = source.ends[row, i]
    target.bounds[to] = source.bounds[row]
    target.values[to] = source.values[row]


@helper
def keep(pool: Pool, row: int, kept: Pool, width: int, counts: NDArray[Any]) -> None:
    """Keep a node if it is among the ``width`` of the least makespans."""
    count = int64(counts[KEPT])
    if count < width:
        copy_node(pool, row, kept, count)
        counts[KEPT] = count + 1
        return
    counts[CUT] = 1
    worst = int64(0)
    for i in range(1, count):
        if kept.values[i] > kept.values[worst]:
            worst = int64(i)
    if pool.values[row] < kept.values[worst]:
        copy_node(pool, row, kept, worst)


@helper
def completion(
    model: Lb1,
    nodes: Lanes,
    at: int,
    pool: Pool,
    row: int,
    place: int,
    side: int,
    ends: NDArray[np.int64],
) -> int:
    """Makespan if the job at a place goes to an end and the others stay in order."""
    m, n_jobs = model.height, model.n_jobs
    first, last = int64(pool.ends[row, 0]), n_jobs - int64(pool.ends[row, 1])
    for k in range(m):
        ends[k] = front_at(nodes, at, k, int64(0))
    for position in range(first, last):
        if side:
            taken = position + int64(position >= place)
            taken = place if position == last - 1 else taken
        else:
            taken = position - int64(position <= place)
            taken = place if position == first else taken
        times = int64(pool.orders[row, taken]) * m
        end = int64(0)
        for k in range(m):
            end = max(end, ends[k]) + model.times[times + k]
            ends[k] = end
    value: int = int64(0)
    for k in range(m):
        value = max(value, ends[k] + front_at(nodes, at, m - 1 - k, int64(1)))
    return value


@helper
def move(order: NDArray[np.int32], start: int, stop: int) -> None:
    """Move what is at one place to another one; what is between them moves up."""
    job = order[start]
    towards = 1 if stop > start else -1
    for i in range(start, stop, towards):
        order[i] = order[i + towards]
    order[stop] = job


@entry
def descend(
    model_in: Lb1,
    room_in: Room,
    lane: np.signedinteger[Any],
    start: Pool,
    row: int,
    depth: int,
    stack: Pool,
    kept: Pool,
    width: int,
    best: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Search depth first below a node, children of the least makespans first.

    Parameters
    ----------
    start, row
        The node.
    depth
        Nodes with so many jobs scheduled are not expanded but kept.
    stack
        Room; what does not fit is dropped.
    kept, width
        The best ``width`` of these nodes, of all calls.
    best : ndarray of int32, shape (n_jobs,)
        Receives every better schedule.
    counts : ndarray of int64, shape (4,)
        ``VALUE``, ``KEPT``, ``CUT``, ``LEFT``.
    """
    model = pointers(model_in, lane)
    room = pointers(room_in, lane)
    nodes = pointer_of(stack.nodes)
    n_jobs = int64(model.n_jobs)
    now = int64(len(stack.values) - 1)  # the node under way
    at = now * model.node_lanes
    ends = np.empty(model.height, np.int64)
    values = np.empty(n_jobs, np.int64)
    places = np.empty(n_jobs, np.int64)
    copy_node(start, row, stack, int64(0))
    top = int64(1)
    while top > 0:
        top -= 1
        if stack.bounds[top] >= counts[VALUE]:
            continue
        first, last = int64(stack.ends[top, 0]), n_jobs - int64(stack.ends[top, 1])
        r = last - first
        if n_jobs - r >= depth:
            keep(stack, top, kept, width, counts)
            continue
        if r < 2:
            continue  # its makespan is known
        if counts[LEFT] <= 0:
            counts[CUT] = 1
            return
        counts[LEFT] -= 1
        copy_node(stack, top, stack, now)
        for slot in range(r):
            room.slot_jobs[slot] = stack.orders[now, first + slot]
        bound_children(model, nodes, at, room, r, model.largest)
        side = side_below(room, r, counts[VALUE])
        count = int64(0)
        for slot in range(r):
            if room.bounds[2 * slot + side] >= counts[VALUE]:
                continue
            place = first + slot
            value = completion(model, nodes, at, stack, now, place, side, ends)
            target = last - 1 if side else first
            if value < counts[VALUE]:
                counts[VALUE] = value
                for i in range(n_jobs):
                    best[i] = stack.orders[now, i]
                move(best, place, target)
            # the least last, of equal ones the first: that is the next on the stack
            i = count
            while i > 0 and values[i - 1] <= value:
                values[i] = values[i - 1]
                places[i] = places[i - 1]
                i -= 1
            values[i] = value
            places[i] = place
            count += 1
        left = now - top
        if count > left:
            counts[CUT] = 1
        for i in range(max(count - left, int64(0)), count):
            place = int64(places[i])
            job = int64(stack.orders[now, place])
            to = top * model.node_lanes
            step(model, nodes, at, nodes, to, room.scratch, job, side)
            for position in range(n_jobs):
                stack.orders[top, position] = stack.orders[now, position]
            move(stack.orders[top], place, last - 1 if side else first)
            stack.ends[top, 0] = stack.ends[now, 0] + (1 - side)
            stack.ends[top, 1] = stack.ends[now, 1] + side
            stack.bounds[top] = int64(room.bounds[2 * (place - first) + side])
            stack.values[top] = values[i]
            top += 1
