"""Insertions where sides do not join, compiled: one job at many slots at a time.

All lanes of a vector walk along the sequence, and one after the other takes the job on
the way. They begin with the front of the first slot that is tried, or of the job's own
place if that is before it; fronts of the sequence are kept. So a job that is tried near
its place costs less than half a walk. Nodes that have no vectors take the job at one
slot after the other.
"""

from __future__ import annotations

from dpbb.kernels import models
from dpbb.kernels.compiling import helper, inlined, int64
from dpbb.kernels.pointers import Ints, Words
from dpbb.kernels.scalar import atomic_load
from dpbb.kernels.sequences import insert, random_below, remove
from dpbb.kernels.simd import splat, store, zeros
from dpbb.modeling.insertions import Room, copy, take
from dpbb.modeling.node_lanes import LANES

FAR = 4
"""One job of so many is tried anywhere."""


@inlined
def spread(room: Room, slot: int) -> None:
    """Have all lanes begin with the front of a slot."""
    like = zeros(room.own, LANES)
    for i in range(room.size):
        store(room.front, i * LANES, splat(room.nodes[slot * room.size + i], like))


@helper
def walk(room: Room, sequence: Ints, length: int, start: int) -> None:
    """Keep the fronts of all slots behind ``start``: ``room.nodes``."""
    size, nodes, none = int64(room.size), room.nodes, int64(0)
    if not size:
        size = int64(room.model.node_lanes)
        for s in range(start, length):
            copy(nodes, s * size, (s + 1) * size, size)
            models.grow(room.model, nodes, (s + 1) * size, int64(sequence[s]), none)
        return
    spread(room, start)
    for s in range(start, length):
        take(room, room.front, none, none, sequence[s], int64(LANES), none)
        for i in range(size):
            nodes[(s + 1) * size + i] = room.front[i * LANES]


@helper
def try_slots(
    room: Room, sequence: Ints, length: int, job: int, first: int, begin: int
) -> None:
    """Insert a job at each of ``LANES`` slots from ``first`` on: ``room.costs``.

    Fronts of the sequence are kept up to ``begin``.
    """
    model, nodes, none = room.model, room.nodes, int64(0)
    if room.size:
        spread(room, begin)
        for s in range(begin, length + 1):
            if 0 <= s - first < LANES:
                alone = LANES + 1 + s - first
                take(room, room.front, none, none, job, alone, none)
            if s < length:
                take(room, room.front, none, none, sequence[s], int64(LANES), none)
        like, back = zeros(room.own, LANES), room.size * LANES
        found = models.joined_lanes(
            model, room.front, none, room.roots, back, none, like
        )
        store(room.costs, none, found)
        return
    size = int64(model.node_lanes)
    base, work = (model.n_jobs + 1) * size, (model.n_jobs + 2) * size
    copy(nodes, begin * size, base, size)
    for s in range(begin, min(first + LANES, length + 1)):
        if s >= first:
            copy(nodes, base, work, size)
            models.grow(model, nodes, work, job, none)
            for t in range(s, length):
                models.grow(model, nodes, work, int64(sequence[t]), none)
            room.costs[s - first] = models.joined(model, nodes, work, none)
        if s < length:
            models.grow(model, nodes, base, int64(sequence[s]), none)


@helper
def put(room: Room, sequence: Ints, length: int, job: int, rng: Words) -> int:
    """Insert a job at the best slot of all, ties at random; returns the cost.

    Fronts are those of the sequence, before and after.
    """
    least, slot = int64(room.largest), int64(0)
    for first in range(0, length + 1, LANES):
        try_slots(room, sequence, length, job, int64(first), int64(first))
        at = least_slot(room, int64(first), length + 1, rng)
        cost = int64(room.costs[at - first])
        if cost < least:
            least, slot = cost, at
    insert(sequence, length, slot, job)
    walk(room, sequence, length + 1, slot)
    return least


@helper
def least_slot(room: Room, first: int, end: int, rng: Words) -> int:
    """Return a random one of the best of the slots that were tried."""
    slot, ties = first, int64(0)
    for s in range(first, min(first + LANES, end)):
        cost, least = room.costs[s - first], room.costs[slot - first]
        if cost > least:
            continue
        ties = ties + 1 if cost == least else int64(1)
        if random_below(rng, ties) == 0:
            slot = int64(s)
    return slot


@helper
def search(room: Room, sequence: Ints, length: int, rng: Words, stop: Ints) -> int:
    """Move random jobs to the best slots near by as long as that gives something.

    Ends when as many as there are were tried in vain, or, soon, when ``stop[0]`` is
    set. Returns the cost; the sequence is changed in place.
    """
    walk(room, sequence, length, int64(0))
    value, vain = int64(room.largest), int64(0)
    while vain < length and not atomic_load(stop, int64(0)):
        place = random_below(rng, length)
        job = remove(sequence, length, place)
        first = place - random_below(rng, int64(LANES))
        if vain > 0 and random_below(rng, int64(FAR)) == 0:
            first = random_below(rng, length)
        first = max(int64(0), min(first, length - LANES))
        try_slots(room, sequence, length - 1, job, first, min(first, place))
        slot = least_slot(room, first, length, rng)
        cost = int64(room.costs[slot - first])
        if cost > value:
            slot = place
        insert(sequence, length - 1, slot, job)
        if slot != place:
            walk(room, sequence, length, min(slot, place))
        vain += 1
        if cost < value:
            value, vain = cost, int64(0)
    return value
