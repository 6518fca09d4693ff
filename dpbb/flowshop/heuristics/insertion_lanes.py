"""Insertion neighborhoods, compiled: as many jobs at a time as a vector has lanes.

The makespans of all positions of one job in a sequence of length l cost O(l m) together
(E. Taillard, EJOR 47(1), 1990). Nearly all of that are the heads and tails of the
sequence without the job, and their recursions are serial. Here every *lane* of a
vector is another job, with heads and tails of its own: nothing waits, no lane idles.

Jobs are in *groups* of at most ``GROUP_JOBS``, each with its own lane; the last lane is
nobody's: a job without times, whose makespans are those of the sequence itself. A job
that is taken out stays in the sequence with times of zero: as the heads of a sequence
never fall from one machine to the next, such a job changes nothing. So all lanes walk
along the same sequence, and a lane's *slots* are those of the whole one: slot s is
before the job at position s. Slots i and i + 1 of the job at position i are where it
came from.

Values are int16 where they fit, see ``narrowest``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.compiling import helper, int64
from dpbb.kernels.pointers import Ints, Lanes, Words, aligned_zeros
from dpbb.kernels.scalar import atomic_load, ctz, popcount
from dpbb.kernels.sequences import insert, random_below, remove, shuffle
from dpbb.kernels.simd import (
    blend,
    equal,
    load,
    load_pair,
    maximum,
    minimum,
    reduce_min,
    splat,
    store,
    zeros,
)

LANES = 32
NOBODY = LANES - 1
"""Lane of no job."""

GROUP_JOBS = LANES - 1
"""Most jobs of a group."""


class Room(NamedTuple):
    """Times of an instance and scratch memory of one chain.

    Parameters
    ----------
    n_jobs, n_machines, n_groups, largest
        Numbers of the instance; of groups; the largest value of the element type.
    times : ndarray of int16 or int32, shape (n_jobs * n_machines * 2,)
        Job by machine, each twice: two elements fill a vector faster than one.
    own : ndarray, shape (n_groups * n_machines * LANES,)
        Times of the lanes' jobs, group by group.
    keep, bar : ndarray, shape ((LANES + 1) * LANES,)
        Row i: all bits set but those of lane i; zeros but the largest value there.
    before, after : ndarray, shape (n_machines * LANES,)
        When each machine is free before the sequence; how long it takes behind it.
    tails : ndarray, shape ((n_jobs + 1) * n_machines * LANES,)
        Per slot and machine.
    front : ndarray, shape (n_machines * LANES,)
        Heads at the slot under way.
    costs : ndarray, shape ((n_jobs + 1) * LANES,)
        Makespans per slot; the largest value where a job came from.
    group_of, lane_of : ndarray of int64, shape (n_jobs,)
    place_of : ndarray of int64, shape (n_jobs,)
        Position of a job of the sequence.
    job_of : ndarray of int64, shape (n_groups * LANES,)
    order : ndarray of int64, shape (n_groups,)
        Groups in the order in which they are tried.
    ends : ndarray of int64, shape (n_jobs,)
        Of the jobs of a block, on the machine under way.
    """

    n_jobs: int
    n_machines: int
    n_groups: int
    largest: int
    times: Lanes
    own: Lanes
    keep: Lanes
    bar: Lanes
    before: Lanes
    after: Lanes
    tails: Lanes
    front: Lanes
    costs: Lanes
    group_of: Ints
    lane_of: Ints
    place_of: Ints
    job_of: Ints
    order: Ints
    ends: Ints

    @classmethod
    def of(cls, problem: FlowShopProblem, dtype: DTypeLike) -> Room:
        """Return room for searches of a flow shop."""
        times = problem.times
        n_jobs, n_machines = times.shape
        n_groups = -(-n_jobs // GROUP_JOBS)
        jobs = np.arange(n_jobs)
        group_of, lane_of = jobs % n_groups, jobs // n_groups
        own = np.zeros((n_groups, n_machines, LANES), np.int64)
        own[group_of, :, lane_of] = times
        job_of = np.zeros((n_groups, LANES), np.int64)
        job_of[group_of, lane_of] = jobs
        alone = np.eye(LANES + 1, LANES, dtype=bool)
        largest = int(np.iinfo(dtype).max)

        def lanes(values: NDArray[np.integer[Any]]) -> Lanes:
            memory = aligned_zeros(values.size, dtype)
            memory[:] = values.ravel()
            return memory

        return cls(
            n_jobs,
            n_machines,
            n_groups,
            largest,
            times=lanes(times.repeat(2)),
            own=lanes(own),
            keep=lanes(np.where(alone, 0, -1)),
            bar=lanes(np.where(alone, largest, 0)),
            before=lanes(problem.given.heads.repeat(LANES)),
            after=lanes(problem.given.tails.repeat(LANES)),
            tails=aligned_zeros((n_jobs + 1) * n_machines * LANES, dtype),
            front=aligned_zeros(n_machines * LANES, dtype),
            costs=aligned_zeros((n_jobs + 1) * LANES, dtype),
            group_of=group_of,
            lane_of=lane_of,
            place_of=np.zeros(n_jobs, np.int64),
            job_of=job_of.ravel(),
            order=np.arange(n_groups),
            ends=np.zeros(n_jobs, np.int64),
        )


def narrowest(
    problem: FlowShopProblem, value: int, n_out: int
) -> tuple[type[np.signedinteger[Any]], int]:
    """Return the element type for searches from a makespan, and the largest to accept.

    Parameters
    ----------
    value
        Makespan of the start.
    n_out
        How many jobs are taken out and put back without a look at the makespan.

    Notes
    -----
    A job taken out never makes a sequence longer, one put in at most by its total time:
    ``n_out`` jobs, and one more where it is tried. In 32 bits everything fits, because
    of ``dpbb.flowshop.times.MAX_TOTAL_TIME``.
    """
    longest = int(problem.times.sum(axis=1).max())
    limit = int(np.iinfo(np.int16).max) - (n_out + 1) * longest
    return (np.int16, limit) if value <= limit else (np.int32, np.iinfo(np.int32).max)


@helper
def lane_in(room: Room, group: int, job: int) -> int:
    """Lane of a job in a group; LANES if it is in another."""
    lane: int = int64(room.lane_of[job])
    return lane if room.group_of[job] == group else int64(LANES)


@helper
def evaluate(room: Room, sequence: Ints, length: int, group: int) -> None:
    """Insert all jobs of a group into all slots: ``room.costs``.

    Those of the sequence are taken out of it, each alone. The sequence has room for one
    element after its ``length`` jobs, which is a job, too.
    """
    m = room.n_machines
    mine = group * m * LANES
    zero = zeros(room.own, LANES)
    for k in range(m):
        store(room.tails, (length * m + k) * LANES, load(room.after, k * LANES, zero))
        store(room.front, k * LANES, load(room.before, k * LANES, zero))
    for s in range(length - 1, -1, -1):
        job = sequence[s]
        keep = load(room.keep, lane_in(room, group, job) * LANES, zero)
        at, row = job * m * 2, s * m * LANES
        end = zero
        for i in range(m):
            k = m - 1 - i
            end = maximum(end, load(room.tails, row + (m + k) * LANES, zero))
            end = end + (load_pair(room.times, at + 2 * k, zero) & keep)
            store(room.tails, row + k * LANES, end)
    behind = zero
    for s in range(length + 1):
        job = sequence[s]
        lane = lane_in(room, group, job) * LANES
        if s == length:  # none is there
            lane = int64(LANES * LANES)
        keep = load(room.keep, lane, zero)
        at, row = job * m * 2, s * m * LANES
        end, own_end, cost = zero, zero, zero
        for k in range(m):
            front = load(room.front, k * LANES, zero)
            own_end = maximum(own_end, front) + load(room.own, mine + k * LANES, zero)
            cost = maximum(cost, own_end + load(room.tails, row + k * LANES, zero))
            end = maximum(end, front) + (load_pair(room.times, at + 2 * k, zero) & keep)
            store(room.front, k * LANES, end)
        barred = load(room.bar, lane, zero)
        store(room.costs, s * LANES, maximum(maximum(cost, barred), behind))
        behind = barred


@helper
def evaluate_block(
    room: Room, sequence: Ints, length: int, block: Ints, size: int
) -> None:
    """As ``evaluate``, of ``size`` jobs that stay together, in the last lane.

    None of them is in the sequence.
    """
    m = room.n_machines
    evaluate(room, sequence, length, int64(0))  # for the tails
    for k in range(m):
        room.front[k * LANES] = room.before[k * LANES]
    for s in range(length + 1):
        for i in range(size):
            room.ends[i] = 0
        job = sequence[s]
        cost, end = int64(0), int64(0)
        for k in range(m):
            front = int64(room.front[k * LANES])
            own = front
            for i in range(size):
                own = max(own, room.ends[i]) + room.times[(block[i] * m + k) * 2]
                room.ends[i] = own
            cost = max(cost, own + room.tails[(s * m + k) * LANES + NOBODY])
            end = max(end, front) + room.times[(job * m + k) * 2]
            room.front[k * LANES] = end
        room.costs[s * LANES + NOBODY] = cost


@helper
def bit(lane: int) -> np.uint64:
    """Mask of one lane."""
    mask: np.uint64 = np.uint64(1) << np.uint64(lane)
    return mask


@helper
def least_cost(room: Room, length: int, used: np.uint64) -> int:
    """Least makespan of some lanes, a mask, in a sequence of ``length`` jobs."""
    zero = zeros(room.own, LANES)
    largest = splat(room.largest, zero)
    least = largest
    for s in range(length + 1):
        least = minimum(least, load(room.costs, s * LANES, zero))
    cost: int = int64(reduce_min(blend(used, least, largest)))
    return cost


@helper
def pick(
    room: Room, length: int, used: np.uint64, value: int, rng: Words
) -> tuple[int, int]:
    """Lane and slot of a random one of the makespans that are ``value``, or -1."""
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
    """Insert a job at the best slot but one, ties at random; returns the makespan."""
    evaluate(room, sequence, length, int64(room.group_of[job]))
    lane = int64(room.lane_of[job])
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
    helps to leave the plateaus of many machines. Ends when as many groups as there are
    were tried in vain, or, soon, when ``stop[0]`` is set. Returns the makespan; the
    sequence is changed in place.
    """
    value: int = int64(room.largest)
    cursor, vain = int64(room.n_groups), int64(0)
    while vain < room.n_groups and not atomic_load(stop, int64(0)):
        if cursor == room.n_groups:
            shuffle(room.order, room.n_groups, rng)
            cursor = int64(0)
        group = room.order[cursor]
        cursor += 1
        used = np.uint64(0)
        for s in range(length):
            job = sequence[s]
            if room.group_of[job] == group:
                room.place_of[job] = s
                used |= bit(room.lane_of[job])
        evaluate(room, sequence, length, group)
        if value == room.largest:
            value = int64(room.costs[NOBODY])
        least = least_cost(room, length, used)
        if least > value:
            vain += 1
            continue
        vain = int64(0) if least < value else vain + 1
        value = least
        lane, slot = pick(room, length, used, least, rng)
        old = room.place_of[room.job_of[group * LANES + lane]]
        job = remove(sequence, length, old)
        insert(sequence, length - 1, slot - int64(slot > old), job)
    return value
