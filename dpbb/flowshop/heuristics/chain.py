"""State of one chain of a local-search heuristic, in Python and in compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.heuristics.insertion_lanes import Room, narrowest
from dpbb.flowshop.heuristics.search import Search, machine_times, random_state
from dpbb.kernels.pointers import Ints, Words
from dpbb.problem import Incumbent

JOBS = 0
"""Single jobs, all at once; a local search without them; then one by one back."""

BLOCK = 1
"""As JOBS, but at most so many consecutive jobs, which stay together."""

RECURSIVE = 2
"""At most so many single jobs, each put elsewhere before the next is taken out."""


class Moves(NamedTuple):
    """What a chain does.

    Parameters
    ----------
    kind
        What is taken out in an iteration: ``JOBS``, ``BLOCK`` or ``RECURSIVE``.
    removed
        How many jobs.
    temperature
        Of the acceptance, in tenths of the mean processing time.
    patience
        How often a local search goes over all jobs in vain before it ends.
    """

    kind: int
    removed: int = 2
    temperature: float = 0.7
    patience: float = 1.0


class Chain(NamedTuple):
    """One chain, changed in place by compiled code.

    Parameters
    ----------
    room : Room
        The instance, and scratch memory.
    limit
        No schedule with a longer makespan is gone on from.
    target
        A schedule of this makespan ends the chain.
    first, last
        The first and last slot that jobs are moved to.
    moves : Moves
        What it does; the temperature in time units.
    current, best, trial : ndarray of int64, shape (n_jobs + 1,)
        The chain's sequence, the best one it has seen, and scratch memory.
    out : ndarray of int64, shape (n_jobs,)
        Jobs that are taken out.
    values : ndarray of int64, shape (2,)
        Makespans of ``current`` and ``best``.
    rng : ndarray of uint64, shape (1,)
        Pseudo-random stream.
    stop : ndarray of int64, shape (1,)
        Set from outside to end what runs.
    """

    room: Room
    limit: int
    target: int
    first: int
    last: int
    moves: Moves
    current: Ints
    best: Ints
    trial: Ints
    out: Ints
    values: Ints
    rng: Words
    stop: Ints

    @classmethod
    def start(
        cls,
        search: Search,
        incumbent: Incumbent,
        moves: Moves,
        stream: int,
        stop: NDArray[np.int64],
    ) -> Chain:
        """Return a chain at an incumbent, with a pseudo-random stream of its own."""
        times = machine_times(search)
        n_jobs = search.instance.n_jobs
        dtype, limit = narrowest(times, incumbent.value, moves.removed)
        temperature = moves.temperature * float(times.mean()) / 10
        sequence = np.zeros(n_jobs + 1, np.int64)
        sequence[:n_jobs] = incumbent.permutation
        return cls(
            Room.of(times, dtype),
            limit,
            search.lower_bound,
            search.kept[0],
            n_jobs - search.kept[1],
            moves._replace(temperature=max(temperature, 1e-9)),
            sequence,
            sequence.copy(),
            sequence.copy(),
            np.zeros(n_jobs, np.int64),
            np.full(2, incumbent.value, np.int64),
            random_state(search.seed, 1 + stream),
            stop,
        )

    def restart(self, permutation: NDArray[np.integer[Any]], value: int) -> None:
        """Go on from another schedule, which is no worse than the best so far."""
        self.current[:-1] = self.best[:-1] = permutation
        self.values[:] = value
