"""Sequences of jobs in compiled code: random choices, jobs put in and taken out."""

from __future__ import annotations

import numpy as np

from dpbb.kernels.compiling import helper, int64
from dpbb.kernels.pointers import Ints, Words


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
