"""From nodes of a beam to local optima: what is missing is inserted, then all moved."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from dpbb.flowshop.heuristics.beam_levels import BACK
from dpbb.flowshop.heuristics.insertion import (
    best_insertion,
    fill_tables,
    insert,
    jit,
    local_search,
    workspace,
)
from dpbb.flowshop.heuristics.search import Search, machine_times, random_state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.flowshop.heuristics.insertion import Flag, Ints, Random

MOST_POLISHED = 256
"""Nodes of a run that are completed and searched locally, at most."""

POLISHED_SHARE = 64
"""One node of so many is, of the width."""

POLL_S = 0.005
"""How often limits are looked at while nodes are polished."""


class Polish:
    """Completes nodes of a beam and searches locally from them.

    Parameters
    ----------
    search
        Its limits hold.
    prefix, suffix
        Jobs of the root, which stay where they are; if there are any, nothing is
        searched, and only complete schedules are used.
    """

    def __init__(
        self, search: Search, prefix: NDArray[np.intp], suffix: NDArray[np.intp]
    ) -> None:
        self._search = search
        self._prefix, self._suffix = prefix, suffix
        self._times = machine_times(search)
        self._by_work = np.argsort(-search.instance.times.sum(axis=1), kind="stable")
        self._runs = 0

    def __call__(self, moves: NDArray[np.uint16]) -> list[NDArray[np.int32]]:
        """Return schedules made of nodes, the best node's as it is if it is complete.

        Parameters
        ----------
        moves : ndarray of uint16, shape (rows, depth)
            Of an ``Outcome``.
        """
        starts = [self._sequence(row) for row in moves]
        n_jobs = len(self._by_work)
        found = [start for start in starts[:1] if len(start) == n_jobs]
        if len(self._prefix) or len(self._suffix):
            return found
        stop = np.zeros(1, np.uint8)
        self._runs += 1

        def improved(index: int, start: NDArray[np.int32]) -> NDArray[np.int32]:
            rest = self._by_work[~np.isin(self._by_work, start)]
            sequence = np.concatenate([start, rest]).astype(np.int32)
            rng = random_state(self._search.seed, self._runs << 16 | index)
            complete(self._times, sequence, len(start), rng, stop)
            return sequence

        with ThreadPoolExecutor(self._search.threads, "dpbb-polish") as pool:
            running = [pool.submit(improved, *item) for item in enumerate(starts)]
            for future in running:
                while not future.done():
                    try:
                        future.result(timeout=POLL_S)
                    except TimeoutError:
                        if self._search.over:
                            stop[0] = 1
                found.append(future.result())
        return found

    def _sequence(self, moves: NDArray[np.uint16]) -> NDArray[np.int32]:
        jobs = (moves % BACK).astype(np.int32)
        back = moves >= BACK
        return np.concatenate(
            [self._prefix, jobs[~back], jobs[back][::-1], self._suffix]
        ).astype(np.int32)


@jit
def complete(times: Ints, sequence: Ints, length: int, rng: Random, stop: Flag) -> int:
    """Insert what follows the first jobs of a sequence, then search locally, in place.

    Returns the makespan.
    """
    scratch = workspace(times.shape[0], times.shape[1])
    value = fill_tables(times, sequence, length, scratch)
    for at in range(length, len(sequence)):
        job = sequence[at]
        value, position = best_insertion(times, sequence, at, job, rng, scratch)
        insert(sequence, at, position, job)
    return local_search(times, sequence, len(sequence), value, rng, stop, scratch)
