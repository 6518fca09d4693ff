"""Simulated annealing by insertions, compiled, where sides do not join.

A job is tried at as many slots at a time as a vector has lanes: all lanes walk along
the sequence, and one after the other takes the job on the way. They begin with the
front of the first slot, or of the job's own place if that is before it; fronts are
kept. So a job that is tried near its place, as most are, costs less than half a walk.

The best other slot is gone to as the temperature allows (Metropolis et al., Journal of
Chemical Physics 21(6), 1953; Osman and Potts, Omega 17(6), 1989). A cycle begins at the
best permutation with a descent, which says what a move to a worse slot costs there; the
temperature is a falling share of that. Each cycle is twice as long as the one before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbb.kernels import models
from dpbb.kernels.compiling import entry, helper, inlined, int64
from dpbb.kernels.pointers import Ints, Words, pointers
from dpbb.kernels.scalar import atomic_load
from dpbb.kernels.sequences import insert, random_below, remove
from dpbb.kernels.simd import splat, store, zeros
from dpbb.modeling.insertions import Room, copy, take
from dpbb.modeling.node_lanes import LANES

HOT, COLD = 0.3, 0.1
"""Temperatures that a cycle begins and ends with, in means of what a move costs."""

DESCENT = 4
"""Sweeps that a cycle begins with."""

CYCLE = 100
"""Sweeps of the first cycle."""

FAR = 8
"""One job of so many is tried anywhere."""

NONE = int64(-1)
"""Place of a job that has none."""


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
def best_slot(
    room: Room, sequence: Ints, length: int, job: int, first: int, own: int, rng: Words
) -> tuple[int, int]:
    """Least cost of a job at some slots but its own, and one of these slots.

    Fronts are kept up to its own place, if it has one.
    """
    begin = first if own < 0 else min(first, own)
    try_slots(room, sequence, length, job, first, begin)
    least, slot, ties = int64(room.largest), int64(-1), int64(0)
    for s in range(first, min(first + LANES, length + 1)):
        cost = int64(room.costs[s - first])
        if s == own or cost > least:
            continue
        ties = ties + 1 if cost == least else int64(1)
        least = cost
        if random_below(rng, ties) == 0:
            slot = int64(s)
    return least, slot


@helper
def build(chain: Any, n_jobs: int) -> None:
    """Make the current permutation anew: each of its jobs at the best slot of all."""
    room, current = chain.room, chain.current
    for length in range(n_jobs):
        job = int64(current[length])
        least, slot = int64(room.largest), int64(0)
        for first in range(0, length + 1, LANES):
            cost, at = best_slot(room, current, length, job, first, NONE, chain.rng)
            if cost < least:
                least, slot = cost, at
        insert(current, length, slot, job)
        walk(room, current, length + 1, slot)
        chain.values[0] = least
    keep(chain, n_jobs)


@helper
def keep(chain: Any, n_jobs: int) -> None:
    """Keep the current permutation if it is better than the best one so far."""
    if chain.values[0] < chain.values[1]:
        for i in range(n_jobs):
            chain.best[i] = chain.current[i]
        chain.values[1] = chain.values[0]


@helper
def sweep(chain: Any, n_jobs: int) -> None:
    """Try as many random jobs as there are."""
    room, current, values, rng = chain.room, chain.current, chain.values, chain.rng
    cycle = chain.cycle
    if cycle[0] == cycle[1]:
        cycle[0], cycle[1], cycle[2], cycle[3] = 0, 2 * cycle[1], 0, 1
        for i in range(n_jobs):
            current[i] = chain.best[i]
        values[0] = values[1]
    heat, descends = 0.0, cycle[0] < DESCENT
    if not descends:
        heat = HOT * (COLD / HOT) ** (cycle[0] / cycle[1]) * cycle[2] / cycle[3]
    cycle[0] += 1
    walk(room, current, n_jobs, int64(0))
    for _ in range(n_jobs):
        if atomic_load(chain.stop, int64(0)):
            return
        place = random_below(rng, n_jobs)
        job = remove(current, n_jobs, place)
        near = place - random_below(rng, int64(LANES))
        if random_below(rng, int64(FAR)) == 0:
            near = random_below(rng, n_jobs)
        first = max(int64(0), min(near, n_jobs - LANES))
        least, slot = best_slot(room, current, n_jobs - 1, job, first, place, rng)
        worse = least - values[0]
        if descends and worse > 0:
            cycle[2] += worse
            cycle[3] += 1
        uniform = (1 + random_below(rng, int64(1 << 30))) / (1 << 30)
        if slot < 0 or worse > -heat * np.log(uniform):
            insert(current, n_jobs - 1, place, job)
            continue
        insert(current, n_jobs - 1, slot, job)
        walk(room, current, n_jobs, min(slot, place))
        values[0] = least
        keep(chain, n_jobs)


@entry
def anneal(
    chain_in: Any, lane: np.signedinteger[Any], iterations: int, builds: bool
) -> None:
    """Sweep so many times, or make a permutation; see ``dpbb.modeling.greedy.Chain``.

    Ends earlier at the chain's target, and soon when it is stopped.
    """
    chain = pointers(chain_in, lane)
    n_jobs = int64(chain.room.model.n_jobs)
    for _ in range(iterations):
        if chain.values[1] <= chain.target or atomic_load(chain.stop, int64(0)):
            return
        if builds:
            build(chain, n_jobs)
        else:
            sweep(chain, n_jobs)
