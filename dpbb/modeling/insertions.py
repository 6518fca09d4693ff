"""Insertion neighborhoods, compiled: as many jobs at a time as a vector has lanes.

The costs of all places of one job in a sequence of l jobs take one pass from each end:
what is before the place is the front of a node, what is after it its back (E. Taillard,
EJOR 47(1), 1990, for any problem with two sides and no shared fields). Passes are
serial. So every *lane* of a vector is another job, with nodes of its own: nothing
waits, no lane idles. With one side, or fields that both share, the jobs after each
place are taken one by one.

Jobs are in *groups* of at most ``LANES``, each with its own lane: group job mod
n_groups, lane job // n_groups. A job that is taken
out stays in the sequence, and its lane does not take it. So all lanes walk along the
same sequence, and a lane's *slots* are those of the whole one: slot s is before the job
at position s. Slots i and i + 1 of the job at position i are where it came from.

Nodes that have no vectors (``dpbb.modeling.node_lanes``) take one job after the other,
each a group of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpbb.kernels import models
from dpbb.kernels.compiling import helper, inlined, int64
from dpbb.kernels.pointers import Ints, Lanes, Words, aligned_zeros
from dpbb.kernels.scalar import atomic_load, ctz, popcount
from dpbb.kernels.sequences import insert, random_below, remove, shuffle
from dpbb.kernels.simd import (
    blend,
    equal,
    load,
    minimum,
    reduce_min,
    splat,
    store,
    zeros,
)
from dpbb.modeling import cpu
from dpbb.modeling.model import Model
from dpbb.modeling.node_lanes import LANES


class Room(NamedTuple):
    """The compiled text with the tables of an instance, and scratch memory of a thread.

    Parameters
    ----------
    model
        The compiled text.
    joins
        1: a node's front and another's back are one permutation; else 0.
    size, height
        Vectors of a node, 0: it has none; rows of a job's column.
    n_groups, largest
        Number of groups; the largest value of the element type.
    columns : ndarray, shape (2 * n_jobs * height * 2,)
        Side by job by row, each twice.
    own : ndarray, shape (n_groups * height * LANES,)
        Columns of the lanes' jobs as the front sees them, group by group.
    moved : ndarray, shape ((2 * LANES + 1) * LANES,)
        Row i: all bits set but those of lane i. Row LANES + 1 + i: those alone.
    roots : ndarray, shape (2 * size * LANES,)
        The empty node of each side.
    tails : ndarray, shape ((n_jobs + 1) * size * LANES,)
        Nodes of what is behind each slot.
    front : ndarray, shape (2 * size * LANES,)
        Nodes at the slot under way; these with a job more.
    nodes : ndarray
        Without vectors: nodes of all beginnings and all ends, and one more. Where none
        joins: fronts of all slots (``dpbb.modeling.fronts``).
    costs : ndarray, shape ((n_jobs + 1) * LANES,)
        By slot.
    place_of : ndarray of int64, shape (n_jobs,)
        Position of a job of the sequence.
    order : ndarray of int64, shape (n_groups,)
        Groups in the order in which they are tried.
    rest : ndarray of int64, shape (n_jobs + 1,)
        Without vectors: the sequence without a job.
    """

    model: Any
    joins: int
    size: int
    height: int
    n_groups: int
    largest: int
    columns: Lanes
    own: Lanes
    moved: Lanes
    roots: Lanes
    tails: Lanes
    front: Lanes
    nodes: Lanes
    costs: Lanes
    place_of: Ints
    order: Ints
    rest: Ints

    @classmethod
    def of(cls, problem: Model, dtype: DTypeLike) -> Room:
        """Return room for searches of an instance in integers of this type."""
        n_jobs = problem.n_jobs
        model = cpu.model_of(problem).of(problem, None, dtype)
        roots, columns = cpu.lane_tables(problem)
        size, height = roots.shape[1], columns.shape[2]
        n_groups = -(-n_jobs // LANES) if size else n_jobs
        lanes_of, groups_of = np.divmod(np.arange(n_jobs), n_groups)
        own = np.zeros((n_groups, height, LANES), np.int64)
        own[groups_of, :, lanes_of] = columns[0]

        def lanes(values: NDArray[np.integer[Any]]) -> Lanes:
            memory = aligned_zeros(values.size, dtype)
            memory[:] = values.ravel()
            return memory

        def room(size: int) -> Lanes:
            return aligned_zeros(size, dtype)

        nodes = room((2 * n_jobs + 3) * (size or model.node_lanes))
        root = roots[0] if size else model.root
        nodes[: len(root)] = root
        return cls(
            model,
            joins=int(joined(problem)),
            size=size,
            height=height,
            n_groups=n_groups,
            largest=int(np.iinfo(dtype).max),
            columns=lanes(columns.repeat(2)),
            own=lanes(own),
            moved=lanes(np.concatenate([np.eye(LANES + 1, LANES) - 1, -np.eye(LANES)])),
            roots=lanes(roots.repeat(LANES)),
            tails=room((n_jobs + 1) * size * LANES),
            front=room(2 * size * LANES),
            nodes=nodes,
            costs=room((n_jobs + 1) * LANES),
            place_of=np.zeros(n_jobs, np.int64),
            order=np.arange(n_groups),
            rest=np.zeros(n_jobs + 1, np.int64),
        )


def narrowest(
    problem: Model, value: int, n_out: int
) -> tuple[type[np.signedinteger[Any]], int]:
    """Return the element type for searches from a cost, and the largest to accept.

    Parameters
    ----------
    value
        Cost of the start.
    n_out
        How many jobs are taken out and put back without a look at the cost.

    Notes
    -----
    Where two sides join, a job taken out makes a sequence no longer, one put in at most
    by its total time: ``n_out`` jobs, and one more where it is tried. Other costs fit
    as those of all permutations do.
    """
    _, columns = cpu.lane_tables(problem)
    limit = np.iinfo(np.int16).max - (n_out + 1) * np.abs(columns).sum(axis=2).max()
    joins = columns.size > 0 and joined(problem)
    dtype = cpu.narrowest_dtype(problem, value + 1 if joins else problem.trivial_ub)
    if not joins:
        return dtype, int(np.iinfo(dtype).max)
    if value <= limit and dtype is np.int16:
        return np.int16, int(limit)
    return np.int32, int(np.iinfo(np.int32).max)


def joined(problem: Model) -> bool:
    """Whether a node's front and another's back are one permutation."""
    return len(problem.sides) > 1 and not problem.shared


@helper
def evaluate(room: Room, sequence: Ints, length: int, group: int) -> None:
    """Insert all jobs of a group into all slots: ``room.costs``.

    Those of the sequence are taken out of it, each alone.
    """
    if not room.size:
        evaluate_one(room, sequence, length, group)
        return
    size, like = room.size * LANES, zeros(room.own, LANES)
    for i in range(0, size, LANES):
        store(room.front, i, load(room.roots, i, like))
        store(room.tails, length * size + i, load(room.roots, size + i, like))
    for s in range(length - 1, -1, -1):
        at, who = s * size, own_lane(room, sequence[s], group)
        take(room, room.tails, at + size, at, sequence[s], who, int64(1))
    model, front, mine = room.model, room.front, group * room.height * LANES
    for s in range(length + 1):
        models.take_each(
            model, front, int64(0), front, size, room.own, mine, int64(0), like
        )
        found = models.joined_lanes(
            model, front, size, room.tails, s * size, int64(0), like
        )
        store(room.costs, s * LANES, found)
        if s < length:
            who = own_lane(room, sequence[s], group)
            take(room, front, int64(0), int64(0), sequence[s], who, int64(0))


@inlined
def own_lane(room: Room, job: int, group: int) -> int:
    """Lane of a job, ``LANES`` if it is in another group."""
    return job // room.n_groups if job % room.n_groups == group else int64(LANES)


@inlined
def take(
    room: Room, nodes: Lanes, at: int, to: int, job: int, who: int, side: int
) -> None:
    """Let the lanes of a row of ``room.moved`` take a job."""
    like = zeros(room.own, LANES)
    moved = load(room.moved, who * LANES, like)
    start = 2 * room.height * (side * room.model.n_jobs + job)
    models.take_common(
        room.model, nodes, at, nodes, to, room.columns, start, side, moved, like
    )


@helper
def evaluate_one(room: Room, sequence: Ints, length: int, job: int) -> None:
    """As ``evaluate``, of the one job of a group without vectors: in lane 0."""
    model, nodes, rest, costs = room.model, room.nodes, room.rest, room.costs
    size, own, left = int64(model.node_lanes), length, int64(0)
    for s in range(length):
        if sequence[s] == job:
            own = int64(s)
        else:
            rest[left] = sequence[s]
            left += 1
    back = (left + 1) * size
    work = 2 * back
    for lane in range(size):
        nodes[lane] = nodes[back + left * size + lane] = model.root[lane]
    for s in range(left):
        copy(nodes, s * size, (s + 1) * size, size)
        models.grow(model, nodes, (s + 1) * size, int64(rest[s]), int64(0))
    for s in range(left - 1, -1, -1):
        at = back + s * size
        copy(nodes, at + size, at, size)
        models.grow(model, nodes, at, int64(rest[s]), int64(1))
    for s in range(left + 1):
        copy(nodes, s * size, work, size)
        models.grow(model, nodes, work, job, int64(0))
        found = models.joined(model, nodes, work, back + s * size)
        if s <= own:
            costs[s * LANES] = found
        if s >= own:
            costs[(s + int64(own < length)) * LANES] = found


@helper
def copy(nodes: Lanes, at: int, to: int, lanes: int) -> None:
    """Copy so many lanes."""
    for lane in range(lanes):
        nodes[to + lane] = nodes[at + lane]


@helper
def bit(lane: int) -> np.uint64:
    """Mask of one lane."""
    mask: np.uint64 = np.uint64(1) << np.uint64(lane)
    return mask


@helper
def least_cost(room: Room, length: int, used: np.uint64) -> int:
    """Least cost of some lanes, a mask, in a sequence of ``length`` jobs."""
    largest = splat(room.largest, zeros(room.own, LANES))
    least = largest
    for s in range(length + 1):
        least = minimum(least, load(room.costs, s * LANES, largest))
    cost: int = int64(reduce_min(blend(used, least, largest)))
    return cost


@helper
def pick(
    room: Room, length: int, used: np.uint64, value: int, rng: Words
) -> tuple[int, int]:
    """Lane and slot of a random one of the costs that are ``value``, or -1."""
    wanted = splat(value, zeros(room.own, LANES))
    total = int64(0)
    for s in range(length + 1):
        total += popcount(equal(load(room.costs, s * LANES, wanted), wanted) & used)
    if total == 0:
        return int64(-1), int64(-1)
    left = random_below(rng, total)
    for s in range(length + 1):
        bits = equal(load(room.costs, s * LANES, wanted), wanted) & used
        count = popcount(bits)
        if left < count:
            for _ in range(left):
                bits &= bits - np.uint64(1)
            return ctz(bits), int64(s)
        left -= count
    return int64(-1), int64(-1)


@helper
def put(
    room: Room, sequence: Ints, length: int, job: int, forbidden: int, rng: Words
) -> int:
    """Insert a job at the best slot but one, ties at random; returns the cost."""
    evaluate(room, sequence, length, job % room.n_groups)
    lane = job // room.n_groups
    if forbidden >= 0:
        room.costs[forbidden * LANES + lane] = room.largest
    value = least_cost(room, length, bit(lane))
    _, slot = pick(room, length, bit(lane), value, rng)
    insert(sequence, length, slot, job)
    return value


@helper
def local_search(
    room: Room, sequence: Ints, length: int, rng: Words, stop: Ints
) -> int:
    """Move jobs to other slots as long as that gives something.

    Of the jobs of a group at a time the best move is made, also an equal one: that
    helps to leave plateaus. Ends when as many groups as there are were tried in vain,
    or, soon, when ``stop[0]`` is set. Returns the cost; the sequence is changed in
    place.
    """
    value: int = int64(room.largest)
    cursor, vain = int64(room.n_groups), int64(0)
    while vain < room.n_groups and not atomic_load(stop, int64(0)):
        if cursor == room.n_groups:
            shuffle(room.order, room.n_groups, rng)
            cursor = int64(0)
        group = int64(room.order[cursor])
        cursor += 1
        used = np.uint64(0)
        for s in range(length):
            job = sequence[s]
            if job % room.n_groups == group:
                room.place_of[job] = s
                used |= bit(job // room.n_groups)
        vain += 1
        if used == np.uint64(0):
            continue
        evaluate(room, sequence, length, group)
        bits, largest = used, room.largest
        while bits != np.uint64(0):
            lane = ctz(bits)
            bits &= bits - np.uint64(1)
            at = room.place_of[lane * room.n_groups + group] * LANES + lane
            value = int64(room.costs[at])  # as it is
            room.costs[at] = room.costs[at + LANES] = largest
        least = least_cost(room, length, used)
        if least > value:
            continue
        if least < value:
            vain = int64(0)
        lane, slot = pick(room, length, used, least, rng)
        if slot < 0:
            continue
        value = least
        old = room.place_of[lane * room.n_groups + group]
        job = remove(sequence, length, old)
        insert(sequence, length - 1, slot - int64(slot > old), job)
    return value
