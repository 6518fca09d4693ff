"""Compiled building blocks of the constructive and local-search heuristics.

Insertion by Taillard's acceleration (E. Taillard, EJOR 47(1), 1990): the makespans of
all positions of one job in a sequence of length l cost O(l m) together. Tables are
machine by position, so that the loops over positions become vector instructions.

All functions take the processing times as int32 of shape (n_machines, n_jobs) and
sequences as int32; a makespan fits because of ``dpbb.flowshop.times.MAX_TOTAL_TIME``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from dpbb.kernels.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Job = int | np.int32
    Ints = NDArray[np.int32]
    Scratch = tuple[Ints, Ints, Ints, Ints]
    Random = NDArray[np.uint64]
    Flag = NDArray[np.uint8]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def jit(function: Kernel) -> Kernel:
    """Compile on the first call, once per machine; typed, unlike Numba's own."""
    return cast("Kernel", compiled(function, nogil=True, boundscheck=False))


@jit
def workspace(n_machines: int, n_jobs: int) -> Scratch:
    """Scratch memory: heads and tails (machine by position) and two rows."""
    return (
        np.zeros((n_machines, n_jobs + 1), np.int32),
        np.zeros((n_machines, n_jobs + 1), np.int32),
        np.zeros(n_jobs + 1, np.int32),
        np.zeros(n_jobs + 1, np.int32),
    )


@jit
def random_below(rng: Random, limit: int) -> int:
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
    return (int(high) * limit) >> 31


@jit
def fill_tables(times: Ints, sequence: Ints, length: int, scratch: Scratch) -> int:
    """Fill in the heads and tails of a sequence; return its makespan.

    ``head[k, i]``: end of the first i jobs on machine k; ``tail[k, i]``: time from the
    start of the job at position i on machine k to the end of everything.
    """
    head, tail = scratch[0], scratch[1]
    n_machines = times.shape[0]
    for k in range(n_machines):
        head[k, 0] = 0
        tail[k, length] = 0
    for i in range(length):
        job = sequence[i]
        end = np.int32(0)
        for k in range(n_machines):
            end = np.int32(max(end, head[k, i]) + times[k, job])
            head[k, i + 1] = end
    for i in range(length - 1, -1, -1):
        job = sequence[i]
        end = np.int32(0)
        for k in range(n_machines - 1, -1, -1):
            end = np.int32(max(end, tail[k, i + 1]) + times[k, job])
            tail[k, i] = end
    return int(tail[0, 0])


@jit
def insertion_makespans(times: Ints, length: int, job: Job, scratch: Scratch) -> None:
    """Write the makespan for every position of ``job`` to the last row of scratch."""
    head, tail, end, total = scratch
    for i in range(length + 1):
        end[i] = 0
        total[i] = 0
    for k in range(times.shape[0]):
        time = times[k, job]
        for i in range(length + 1):
            finish = np.int32(max(end[i], head[k, i]) + time)
            end[i] = finish
            total[i] = max(total[i], np.int32(finish + tail[k, i]))


@jit
def best_insertion(
    times: Ints, sequence: Ints, length: int, job: Job, rng: Random, scratch: Scratch
) -> tuple[int, int]:
    """Least makespan and position of ``job`` among the first ``length`` jobs.

    Ties are broken at random.
    """
    fill_tables(times, sequence, length, scratch)
    insertion_makespans(times, length, job, scratch)
    total = scratch[3]
    least = total[0]
    for i in range(1, length + 1):
        least = min(least, total[i])
    ties = 0
    for i in range(length + 1):
        ties += total[i] == least
    pick = random_below(rng, ties) if ties > 1 else 0
    position = -1
    while pick >= 0:
        position += 1
        pick -= total[position] == least
    return int(least), position


@jit
def insert(sequence: Ints, length: int, position: int, job: Job) -> None:
    """Put ``job`` at ``position`` of a sequence of ``length`` jobs."""
    for i in range(length, position, -1):
        sequence[i] = sequence[i - 1]
    sequence[position] = job


@jit
def remove(sequence: Ints, length: int, position: int) -> int:
    """Take the job at ``position`` out of a sequence of ``length`` jobs."""
    job = sequence[position]
    for i in range(position, length - 1):
        sequence[i] = sequence[i + 1]
    return int(job)


@jit
def shuffle(values: Ints, length: int, rng: Random) -> None:
    """Put the first ``length`` values in random order."""
    for i in range(length - 1, 0, -1):
        other = random_below(rng, i + 1)
        value = values[i]
        values[i] = values[other]
        values[other] = value


@jit
def local_search(
    times: Ints,
    sequence: Ints,
    length: int,
    value: int,
    rng: Random,
    stop: Flag,
    scratch: Scratch,
) -> int:
    """Reinsert job after job at its best position until a whole pass gives nothing.

    Equal moves are taken too: they help to leave the plateaus of many machines.
    Returns the makespan; the sequence is changed in place. Ends early, with a valid
    sequence, when ``stop[0]`` is set from outside.
    """
    order = sequence[:length].copy()
    improved = True
    while improved:
        improved = False
        shuffle(order, length, rng)
        for job in order:
            if stop[0]:
                return value
            old = 0
            while sequence[old] != job:
                old += 1
            remove(sequence, length, old)
            found, position = best_insertion(
                times, sequence, length - 1, job, rng, scratch
            )
            if found <= value:
                insert(sequence, length - 1, position, job)
                improved |= found < value
                value = found
            else:
                insert(sequence, length - 1, old, job)
    return value
