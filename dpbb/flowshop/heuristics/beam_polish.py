"""From nodes of a beam to local optima: what is missing is inserted, then all moved."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.heuristics.beam_levels import BACK
from dpbb.flowshop.heuristics.insertion_lanes import Room, local_search, narrowest, put
from dpbb.flowshop.heuristics.search import (
    Search,
    machine_times,
    random_state,
    wait_for,
)
from dpbb.kernels.compiling import entry, int64
from dpbb.kernels.pointers import addresses, pointer_of, pointers
from dpbb.problem import Incumbent

MOST_POLISHED = 256
"""Nodes of a run that are completed and searched locally, at most."""

POLISHED_SHARE = 64
"""One node of so many is, of the width."""

POLISHED_OUT = 1
"""Jobs that are out of a sequence at a time while it is searched locally."""


class Polish:
    """Completes nodes of a beam and searches locally from them."""

    def __init__(self, search: Search, incumbent: Incumbent) -> None:
        self._search = search
        n_jobs = search.instance.n_jobs
        first, last = search.kept
        order = np.asarray(incumbent.permutation, np.int64)
        self._prefix, self._suffix = order[:first], order[n_jobs - last :]
        self._by_work = np.argsort(-search.instance.times.sum(axis=1), kind="stable")
        times = machine_times(search)
        dtype, self._limit = narrowest(times, incumbent.value, POLISHED_OUT)
        self._lane = dtype(0)
        self._rooms: SimpleQueue[Room] = SimpleQueue()
        for _ in range(search.threads):
            self._rooms.put(Room.of(times, dtype))
        self._runs = 0

    def __call__(
        self, moves: NDArray[np.uint16], *, alone: bool = False
    ) -> list[NDArray[np.int64]]:
        """Return schedules made of nodes, the best node's as it is if it is complete.

        Parameters
        ----------
        moves : ndarray of uint16, shape (rows, depth)
            Of an ``Outcome``.
        alone
            Return the best node's alone: there is nothing better.
        """
        starts = [self.sequence(row) for row in moves]
        n_jobs = len(self._by_work)
        found = [start for start in starts[:1] if len(start) == n_jobs]
        if alone or n_jobs - sum(self._search.kept) < 2:
            return found
        stop = np.zeros(1, np.int64)
        self._runs += 1

        def improved(index: int, start: NDArray[np.int64]) -> NDArray[np.int64] | None:
            rest = self._by_work[~np.isin(self._by_work, start)]
            sequence = np.concatenate([start, rest, [0]])
            rng = random_state(self._search.seed, self._runs << 16 | index)
            first, last = len(self._prefix), len(self._suffix)
            room = self._rooms.get()
            try:
                done = complete(
                    addresses(room),
                    self._lane,
                    sequence,
                    len(start),
                    first,
                    last,
                    self._limit,
                    rng,
                    stop,
                )
            finally:
                self._rooms.put(room)
            return sequence[:-1] if done else None

        with ThreadPoolExecutor(self._search.threads, "dpbb-polish") as pool:
            running = [pool.submit(improved, *item) for item in enumerate(starts)]
            better = wait_for(running, self._search, stop)
        return found + [one for one in better if one is not None]

    def sequence(self, moves: NDArray[np.uint16]) -> NDArray[np.int64]:
        """Return the jobs of a node in the order of the schedule, with a gap."""
        jobs = (moves % BACK).astype(np.int64)
        back = moves >= BACK
        return np.concatenate(
            [self._prefix, jobs[~back], jobs[back][::-1], self._suffix]
        )


@entry
def complete(
    room_in: Room,
    lane: np.signedinteger[Any],
    sequence: NDArray[np.int64],
    length: int,
    kept_first: int,
    kept_last: int,
    limit: int,
    rng: NDArray[np.uint64],
    stop: NDArray[np.int64],
) -> bool:
    """Insert what follows ``length`` first jobs, search locally; whether all are in.

    Parameters
    ----------
    room_in, lane
        Room with addresses, and any integer of its element type.
    sequence : ndarray of int64, shape (n_jobs + 1,)
        The jobs that are in, and then the others, in the order of insertion.
    kept_first, kept_last
        How many jobs at the ends stay there.
    limit
        With a makespan above this nothing is done.
    """
    room = pointers(room_in, lane)
    jobs, state, flag = pointer_of(sequence), pointer_of(rng), pointer_of(stop)
    first = int64(kept_first)
    for at in range(length, room.n_jobs):
        job = int64(jobs[at])
        last = int64(at - kept_last)
        value = put(room, jobs, int64(at), first, last, job, int64(-1), state)
        if value > limit or stop[0]:
            return False
    last = int64(room.n_jobs - kept_last)
    local_search(room, jobs, int64(room.n_jobs), first, last, state, flag)
    return True
