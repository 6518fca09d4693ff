"""Insertion neighborhoods, compiled: as many jobs at a time as a vector has lanes.

The makespans of all positions of one job in a sequence of length l cost O(l m) together
(E. Taillard, EJOR 47(1), 1990). Nearly all of that are the heads and tails of the
sequence without the job, and their recursions are serial. Here every *lane* of a
vector is another job, with heads and tails of its own: nothing waits, no lane idles.

A job that is taken out stays in the sequence with times of zero: as the heads of a
sequence never fall from one machine to the next, such a job changes nothing. So all
lanes walk along the same sequence, and a lane's *slots* are those of the whole one:
slot s is before the job at position s. Slots i and i + 1 of the job at position i are
where it came from.

Values are int16 where they fit, see ``Room.of``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpbb.kernels.compiling import helper, int64
from dpbb.kernels.pointers import Ints, Lanes, Words, aligned_zeros
from dpbb.kernels.scalar import atomic_load, popcount
from dpbb.kernels.simd import (
    blend,
    equal,
    load,
    maximum,
    minimum,
    reduce_min,
    splat,
    store,
    zeros,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

LANES = 32

SPARE_JOBS = 4
"""Jobs that a sequence may be worse by, in longest total times, in 16 bits."""


class Room(NamedTuple):
    """Times of an instance and scratch memory of one chain.

    Parameters
    ----------
    n_jobs, n_machines, largest
        Numbers of the instance; the largest value of the element type.
    times : ndarray of int16 or int32, shape (n_jobs * n_machines,)
        Job by machine.
    keep : ndarray, shape ((LANES + 1) * LANES,)
        Row i: all bits set but those of lane i.
    tails : ndarray, shape ((n_jobs + 1) * n_machines * LANES,)
        Per slot and machine.
    front, own : ndarray, shape (n_machines * LANES,)
        Heads at the slot under way; times of the lanes' jobs.
    costs : ndarray, shape ((n_jobs + 1) * LANES,)
        Makespans per slot.
    lane_of : ndarray of int64, shape (n_jobs,)
        Lane of a job that is taken out, LANES for all others.
    jobs, places : ndarray of int64, shape (LANES,)
        Jobs of the lanes and where they came from; place -1: from nowhere.
    order : ndarray of int64, shape (n_jobs,)
        Jobs in the order in which they are tried.
    ends : ndarray of int64, shape (n_jobs,)
        Of the jobs of a block, on the machine under way.
    """

    n_jobs: int
    n_machines: int
    largest: int
    times: Lanes
    keep: Lanes
    tails: Lanes
    front: Lanes
    own: Lanes
    costs: Lanes
    lane_of: Ints
    jobs: Ints
    places: Ints
    order: Ints
    ends: Ints

    @classmethod
    def of(cls, times: NDArray[np.int32], dtype: DTypeLike) -> Room:
        """Return room for times of shape (n_machines, n_jobs)."""
        n_machines, n_jobs = times.shape
        keep = np.full((LANES + 1, LANES), -1)
        np.fill_diagonal(keep, 0)
        room = cls(
            n_jobs,
            n_machines,
            int(np.iinfo(dtype).max),
            aligned_zeros(n_jobs * n_machines, dtype),
            aligned_zeros(keep.size, dtype),
            aligned_zeros((n_jobs + 1) * n_machines * LANES, dtype),
            aligned_zeros(n_machines * LANES, dtype),
            aligned_zeros(n_machines * LANES, dtype),
            aligned_zeros((n_jobs + 1) * LANES, dtype),
            np.full(n_jobs, LANES, np.int64),
            np.zeros(LANES, np.int64),
            np.zeros(LANES, np.int64),
            np.zeros(n_jobs, np.int64),
            np.zeros(n_jobs, np.int64),
        )
        room.times[:] = times.T.ravel()
        room.keep[:] = keep.ravel()
        return room


def narrowest(
    times: NDArray[np.int32], value: int
) -> tuple[type[np.signedinteger], int]:
    """Return the element type for searches from a makespan, and the largest to accept.

    Notes
    -----
    A job taken out never makes a sequence longer, one put in at most by its total time.
    """
    spare = SPARE_JOBS * int(times.sum(axis=0).max())
    for dtype in (np.int16, np.int32):
        limit = int(np.iinfo(dtype).max) - spare
        if value <= limit:
            return dtype, limit
    raise OverflowError(f"makespans of {value} and times of {spare} exceed 32 bits")


@helper
def random_below(rng: Words, limit: int) -> int:
    """Return the next pseudo-random integer in [0, limit), limit <= 2**31.

    xorshift64* (Vigna 2016); Numba's own generator is global per thread, which would
    make results depend on what else runs in the thread.
    """
    x = rng[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    rng[0] = x
    high = (x * np.uint64(2685821657736338717)) >> np.uint64(33)
    below: int = (int64(high) * int64(limit)) >> 31
    return below


@helper
def insert(sequence: Ints, length: int, position: int, job: int) -> None:
    """Put ``job`` at ``position`` of a sequence of ``length`` jobs."""
    for i in range(length, position, -1):
        sequence[i] = sequence[i - 1]
    sequence[position] = job


@helper
def remove(sequence: Ints, length: int, position: int) -> int:
    """Take the job at ``position`` out of a sequence of ``length`` jobs."""
    job: int = int64(sequence[position])
    for i in range(position, length - 1):
        sequence[i] = sequence[i + 1]
    return job


@helper
def shuffle(values: Ints, length: int, rng: Words) -> None:
    """Put the first ``length`` values in random order."""
    for i in range(length - 1, 0, -1):
        other = random_below(rng, i + 1)
        value = values[i]
        values[i] = values[other]
        values[other] = value


@helper
def take(room: Room, lane: int, job: int, place: int) -> None:
    """Give a lane its job, which is at ``place`` of the sequence; -1: nowhere."""
    room.jobs[lane] = job
    room.places[lane] = place
    if place >= 0:
        room.lane_of[job] = lane
    m = room.n_machines
    for k in range(m):
        room.own[k * LANES + lane] = room.times[job * m + k]


@helper
def evaluate(
    room: Room, sequence: Ints, length: int, first: int, last: int, count: int
) -> int:
    """Insert the first ``count`` lanes' jobs into all slots from first to last.

    The makespans are in ``room.costs`` afterwards; returns the least. The sequence has
    room for one element after its ``length`` jobs, which is a job, too.
    """
    m = room.n_machines
    zero = zeros(room.own, LANES)
    for k in range(m):
        store(room.tails, (length * m + k) * LANES, zero)
        store(room.front, k * LANES, zero)
    for s in range(length - 1, first - 1, -1):
        job = sequence[s]
        keep = load(room.keep, room.lane_of[job] * LANES, zero)
        at, row = job * m, s * m * LANES
        end = zero
        for i in range(m):
            k = m - 1 - i
            end = maximum(end, load(room.tails, row + (m + k) * LANES, zero))
            end = end + (splat(room.times[at + k], zero) & keep)
            store(room.tails, row + k * LANES, end)
    for s in range(first):
        at = sequence[s] * m
        end = zero
        for k in range(m):
            end = maximum(end, load(room.front, k * LANES, zero))
            end = end + splat(room.times[at + k], zero)
            store(room.front, k * LANES, end)
    least = splat(room.largest, zero)
    for s in range(first, last + 1):
        job = sequence[s]
        keep = load(room.keep, room.lane_of[job] * LANES, zero)
        at, row = job * m, s * m * LANES
        end, own_end, cost = zero, zero, zero
        for k in range(m):
            front = load(room.front, k * LANES, zero)
            own_end = maximum(own_end, front) + load(room.own, k * LANES, zero)
            cost = maximum(cost, own_end + load(room.tails, row + k * LANES, zero))
            end = maximum(end, front) + (splat(room.times[at + k], zero) & keep)
            store(room.front, k * LANES, end)
        store(room.costs, s * LANES, cost)
        least = minimum(least, cost)
    used = (np.uint64(1) << np.uint64(count)) - np.uint64(1)
    best: int = int64(reduce_min(blend(used, least, splat(room.largest, zero))))
    return best


@helper
def evaluate_block(
    room: Room,
    sequence: Ints,
    length: int,
    first: int,
    last: int,
    block: Ints,
    size: int,
) -> int:
    """As ``evaluate``, of ``size`` jobs that stay together, in lane 0."""
    m = room.n_machines
    take(room, int64(0), block[0], int64(-1))
    evaluate(room, sequence, length, first, last, int64(1))  # for the tails
    for k in range(m):
        room.front[k * LANES] = 0
    least: int = int64(room.largest)
    for s in range(last + 1):
        for i in range(size):
            room.ends[i] = 0
        job = sequence[s]
        cost, end = int64(0), int64(0)
        for k in range(m):
            front = int64(room.front[k * LANES])
            own = front
            for i in range(size):
                own = max(own, room.ends[i]) + room.times[block[i] * m + k]
                room.ends[i] = own
            cost = max(cost, own + room.tails[(s * m + k) * LANES])
            end = max(end, front) + room.times[job * m + k]
            room.front[k * LANES] = end
        if s >= first:
            room.costs[s * LANES] = cost
            least = min(least, cost)
    return least


@helper
def pick(
    room: Room, first: int, last: int, count: int, value: int, rng: Words
) -> tuple[int, int]:
    """Lane and slot of a random one of the makespans that are ``value``.

    The slots that a job came from do not count; lane -1 if there is no other.
    """
    zero = zeros(room.own, LANES)
    wanted = splat(value, zero)
    used = (np.uint64(1) << np.uint64(count)) - np.uint64(1)
    total = int64(0)
    for s in range(first, last + 1):
        total += popcount(equal(load(room.costs, s * LANES, zero), wanted) & used)
    for lane in range(count):
        place = room.places[lane]
        if place >= 0:
            for s in range(place, place + 2):
                if first <= s <= last and room.costs[s * LANES + lane] == value:
                    room.costs[s * LANES + lane] = room.largest
                    total -= 1
    if total == 0:
        return int64(-1), int64(-1)
    left = random_below(rng, total)
    for s in range(first, last + 1):
        bits = equal(load(room.costs, s * LANES, zero), wanted) & used
        here = popcount(bits)
        if left < here:
            for lane in range(count):
                if (bits >> np.uint64(lane)) & np.uint64(1):
                    if left == 0:
                        return int64(lane), int64(s)
                    left -= 1
        left -= here
    return int64(-1), int64(-1)


@helper
def put(
    room: Room,
    sequence: Ints,
    length: int,
    first: int,
    last: int,
    job: int,
    rng: Words,
) -> int:
    """Insert a job at the best slot, ties at random; returns the makespan."""
    take(room, int64(0), job, int64(-1))
    value = evaluate(room, sequence, length, first, last, int64(1))
    _, slot = pick(room, first, last, int64(1), value, rng)
    insert(sequence, length, slot, job)
    return value


@helper
def local_search(
    room: Room,
    sequence: Ints,
    length: int,
    first: int,
    last: int,
    patience: int,
    rng: Words,
    stop: Ints,
) -> int:
    """Move jobs between the slots first and last as long as that gives something.

    Of ``LANES`` random jobs at a time the best move is made, also an equal one: that
    helps to leave the plateaus of many machines. Ends when ``patience`` times as many
    jobs as there are were tried in vain, or, soon, when ``stop[0]`` is set. Returns the
    makespan; the sequence is changed in place.
    """
    free = last - first
    value: int = int64(room.largest)
    blocks = (free + LANES - 1) // LANES
    size = (free + blocks - 1) // blocks
    for i in range(free):
        room.order[i] = sequence[first + i]
    cursor, vain = free, int64(0)
    while vain < patience * blocks and not atomic_load(stop, int64(0)):
        if cursor >= free:
            shuffle(room.order, free, rng)
            cursor = int64(0)
        count = min(size, free - cursor)
        for lane in range(count):
            room.lane_of[room.order[cursor + lane]] = lane
        for s in range(first, last):
            lane = room.lane_of[sequence[s]]
            if lane < LANES:
                take(room, lane, sequence[s], int64(s))
        least = evaluate(room, sequence, length, first, last, count)
        for lane in range(count):
            room.lane_of[room.jobs[lane]] = LANES
        vain = int64(0) if least < value else vain + 1
        value = least
        lane, slot = pick(room, first, last, count, least, rng)
        if lane >= 0:
            old = room.places[lane]
            job = remove(sequence, length, old)
            insert(sequence, length - 1, slot - int64(slot > old), job)
        cursor += count
    return value
