"""Tabu searches, so far, and on cores: the same trajectories as on a GPU, bit for bit.

All swaps of one first position go through the jobs between together: columns are
machine by neighbour, so that loops over neighbours become vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.makespan import makespans
from dpbb.kernels.compiling import entry, helper
from dpbb.kernels.cores import in_parts

Array = NDArray[Any]

PART_OPERATIONS = 5e6
"""Of one search between two looks at the limits: some milliseconds."""


class Searches:
    """Some searches of one shop, side by side, so far.

    Parameters
    ----------
    times : ndarray of int64, shape (n_jobs, n_machines)
    starts : ndarray of int32, shape (searches, n_jobs)
    generations
        How many there will be.
    tenure
        Generations for which two jobs are not moved against each other.
    kept
        Positions at the front and at the back that stay as they are.

    Attributes
    ----------
    parents, bests : ndarray of int32, shape (searches, n_jobs)
    values : ndarray of int64, shape (searches, 2)
        Of the parent and of the best.
    history : ndarray of int64, shape (searches, generations + 1)
        Values of the parents, the start first.
    moves : ndarray of int32, shape (searches, generations)
        Index of the neighbour that became the parent; -1: all were tabu.
    generation
        How many are done.
    part
        How many go together between two looks at the limits.
    """

    part: int

    def __init__(
        self,
        times: NDArray[np.int64],
        starts: NDArray[np.int32],
        generations: int,
        tenure: int,
        kept: tuple[int, int] = (0, 0),
    ) -> None:
        n_jobs, n_machines = times.shape
        self.times, self.tenure, self.kept = times, tenure, kept
        self.n_neighbours = n_jobs * (n_jobs - 1) // 2
        self.operations = float(n_jobs) ** 3 / 6 * n_machines
        """Of one generation of one search, about."""
        self.parents, self.bests = starts.copy(), starts.copy()
        values = makespans(times, starts.astype(np.intp))
        self.values = np.repeat(values[:, None], 2, axis=1)
        self.history = np.zeros((len(starts), generations + 1), np.int64)
        self.history[:, 0] = values
        self.moves = np.full((len(starts), generations), -1, np.int32)
        self.generation = 0

    def run(
        self,
        over: Callable[[], bool] = lambda: False,
        on_part: Callable[[], None] = lambda: None,
    ) -> None:
        """Make the moves of all generations, or until ``over``.

        ``on_part`` is called whenever some generations are done.
        """
        generations = self.moves.shape[1]
        while self.generation < generations and not over():
            self.advance(min(generations, self.generation + self.part))
            on_part()

    def advance(self, last: int) -> None:
        """Make the moves of all generations up to ``last``, counted from 1."""
        raise NotImplementedError

    def neighbours(self) -> NDArray[np.int64]:
        """Return the makespans of all neighbours of the first parent.

        Searches on a GPU advance by a generation.
        """
        raise NotImplementedError


@helper
def tables_of(times: Array, jobs: Array) -> tuple[Array, Array]:
    """Return when prefixes end and how long suffixes take, machine by position.

    ``heads[k, c]``: end of the first c jobs on machine k; ``tails[k, c]``: from the
    start of position c on machine k to the end.
    """
    n_machines, n_jobs = times.shape
    heads = np.zeros((n_machines, n_jobs + 1), np.int32)
    tails = np.zeros((n_machines, n_jobs + 1), np.int32)
    for c in range(n_jobs):
        end = np.int32(0)
        for k in range(n_machines):
            end = np.int32(max(end, heads[k, c]) + times[k, jobs[c]])
            heads[k, c + 1] = end
    for c in range(n_jobs - 1, -1, -1):
        end = np.int32(0)
        for k in range(n_machines - 1, -1, -1):
            end = np.int32(max(end, tails[k, c + 1]) + times[k, jobs[c]])
            tails[k, c] = end
    return heads, tails


@helper
def swap_values(
    times: Array,
    jobs: Array,
    i: int,
    last: int,
    heads: Array,
    tails: Array,
    column: Array,
    values: Array,
) -> None:
    """Write the makespans after the swaps (i, j), i < j < last, to ``values[j]``.

    ``column``: scratch memory, int32, shape (n_machines + 1, n_jobs).
    """
    n_machines = len(times)
    for j in range(i + 1, last):
        end = np.int32(0)
        for k in range(n_machines):
            end = np.int32(max(end, heads[k, i]) + times[k, jobs[j]])
            column[k, j] = end
    for c in range(i + 1, last):
        end, longest = np.int32(0), np.int32(0)
        for k in range(n_machines):
            end = np.int32(max(end, column[k, c]) + times[k, jobs[i]])
            longest = np.int32(max(longest, end + tails[k, c + 1]))
        values[c] = longest
        append(times, jobs[c], column[:n_machines, c + 1 : last], column[n_machines])


@helper
def append(times: Array, job: int, column: Array, ends: Array) -> None:
    """Append a job to all columns; ``ends``: scratch memory for one machine."""
    ends[:] = 0
    for k in range(times.shape[0]):
        time, row = times[k, job], column[k]
        for lane in range(len(row)):
            end, free = ends[lane], row[lane]
            end = np.int32((end if end > free else free) + time)
            ends[lane] = end
            row[lane] = end


@entry
def advance(
    times: Array,
    kept: tuple[int, int],
    tenure: int,
    begin: int,
    end: int,
    expiry: Array,
    jobs: Array,
    best: Array,
    costs: Array,
    history: Array,
    moves: Array,
) -> None:
    """Make the moves of the generations from ``begin`` to ``end`` of one search.

    ``jobs``, ``best``, ``costs``, ``history``, ``moves``: its rows of ``Searches``.
    """
    n_machines, n_jobs = times.shape
    first, last = kept[0], n_jobs - kept[1]
    column = np.zeros((n_machines + 1, n_jobs), np.int32)
    values = np.zeros(n_jobs, np.int64)
    for generation in range(begin, end + 1):
        heads, tails = tables_of(times, jobs)
        least, index, a, b = np.iinfo(np.int64).max, -1, 0, 0
        for i in range(first, last):
            swap_values(times, jobs, i, last, heads, tails, column, values)
            for j in range(i + 1, last):
                value = values[j]
                allowed = value < costs[1] or generation > expiry[jobs[i], jobs[j]]
                if value < least and allowed:
                    least, a, b = value, i, j
                    index = i * (2 * n_jobs - i - 1) // 2 + j - i - 1
        if index >= 0:
            expiry[jobs[a], jobs[b]] = expiry[jobs[b], jobs[a]] = generation + tenure
            jobs[a], jobs[b] = jobs[b], jobs[a]
            costs[0] = least
            if least < costs[1]:
                costs[1] = least
                best[:] = jobs
        moves[generation - 1] = index
        history[generation] = costs[0]


@entry
def all_swaps(times: Array, jobs: Array) -> Array:
    """Return the makespans of all neighbours, in their order."""
    n_machines, n_jobs = times.shape
    heads, tails = tables_of(times, jobs)
    column = np.zeros((n_machines + 1, n_jobs), np.int32)
    values = np.zeros(n_jobs, np.int64)
    found = np.zeros(n_jobs * (n_jobs - 1) // 2, np.int64)
    at = 0
    for i in range(n_jobs):
        swap_values(times, jobs, i, n_jobs, heads, tails, column, values)
        found[at : at + n_jobs - i - 1] = values[i + 1 :]
        at += n_jobs - i - 1
    return found


class CpuSearches(Searches):
    """Searches on the cores of this machine, a thread each.

    ``threads``, and the other parameters of ``Searches``.
    """

    def __init__(self, threads: int, *how: Any, **more: Any) -> None:
        super().__init__(*how, **more)
        self.part = max(1, int(PART_OPERATIONS / self.operations))
        self._threads = threads
        self._machine_times = np.ascontiguousarray(self.times.T, dtype=np.int32)
        n_searches, n_jobs = self.parents.shape
        self._expiry = np.zeros((n_searches, n_jobs, n_jobs), np.int32)

    def advance(self, last: int) -> None:
        """See ``Searches``."""
        how = self._machine_times, self.kept, self.tenure, self.generation + 1, last
        arrays: list[Array] = [self._expiry, self.parents, self.bests, self.values]
        arrays += [self.history, self.moves]

        def part(first: int, end: int) -> None:
            for row in range(first, end):
                advance(*how, *(array[row] for array in arrays))

        in_parts(part, len(self.parents), 1, self._threads)
        self.generation = last

    def neighbours(self) -> Array:
        """See ``Searches``."""
        return all_swaps(self._machine_times, self.parents[0])
