"""Tabu search on CPU cores: the same trajectories as on a GPU, bit for bit.

All swaps of one first position go through the jobs between together: columns are
machine by neighbour, so that loops over neighbours become vector instructions.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.heuristics.tabu.state import Rules, State
from dpbb.kernels.compiling import compiled

Array = NDArray[Any]
Tables = tuple[Array, Array, Array]

PART_OPERATIONS = 5e6
"""Of one search between two looks at the limits: some milliseconds."""


@compiled
def fill_tables(times: Array, jobs: Array, tables: Tables) -> None:
    """Fill in when prefixes end, their flow time, and how long suffixes take.

    ``heads[k, c]``: end of the first c jobs on machine k; ``sums[c]``: the sum of their
    ends; ``tails[k, c]``: from the start of position c on machine k to the end.
    """
    heads, sums, tails = tables
    n_machines, n_jobs = times.shape
    for c in range(n_jobs):
        end = np.int32(0)
        for k in range(n_machines):
            end = np.int32(max(end, heads[k, c]) + times[k, jobs[c]])
            heads[k, c + 1] = end
        sums[c + 1] = sums[c] + end
    for c in range(n_jobs - 1, -1, -1):
        end = np.int32(0)
        for k in range(n_machines - 1, -1, -1):
            end = np.int32(max(end, tails[k, c + 1]) + times[k, jobs[c]])
            tails[k, c] = end


@compiled
def swap_values(
    times: Array,
    jobs: Array,
    i: int,
    last: int,
    flow: bool,
    tables: Tables,
    scratch: Array,
    values: Array,
) -> None:
    """Write what the swaps (i, j) cost, i < j < last, to ``values[j]``.

    ``scratch``: int32, (n_machines + 2, at least as many as jobs and machines).
    """
    heads, sums, tails = tables
    n_machines, n_jobs = times.shape
    column, ends, own = scratch, scratch[n_machines], scratch[n_machines + 1]
    for j in range(i + 1, last):
        end = np.int32(0)
        for k in range(n_machines):
            end = np.int32(max(end, heads[k, i]) + times[k, jobs[j]])
            column[k, j] = end
        values[j] = sums[i] + end
    for c in range(i + 1, n_jobs if flow else last):
        if c < last:
            own[:n_machines] = column[:n_machines, c]
        first = i + 1 if flow else c  # with its tail a makespan is known
        append(times, jobs[c], column[:, first:last], ends[first:last])
        if c < last:
            end, longest = np.int32(0), np.int32(0)
            for k in range(n_machines):
                end = np.int32(max(end, own[k]) + times[k, jobs[i]])
                column[k, c] = end
                longest = np.int32(max(longest, end + tails[k, c + 1]))
            if not flow:
                values[c] = longest
        if flow:
            for j in range(first, last):
                values[j] += column[n_machines - 1, j]


@compiled
def append(times: Array, job: int, column: Array, ends: Array) -> None:
    """Append a job to all columns; ``ends``: scratch for one machine."""
    ends[:] = 0
    for k in range(times.shape[0]):
        time, row = times[k, job], column[k]
        for lane in range(len(ends)):
            end, free = ends[lane], row[lane]
            end = np.int32((end if end > free else free) + time)
            ends[lane] = end
            row[lane] = end


@compiled
def best_move(
    times: Array,
    jobs: Array,
    kept: tuple[int, int],
    flow: bool,
    tables: Tables,
    scratch: Array,
    values: Array,
    generation: int,
    best: int,
    expiry: Array,
    everything: Array,
) -> tuple[int, int, int, int]:
    """Return value and index of the best allowed neighbour, -1 for none, and its move.

    ``everything``: where to write all values; empty: nowhere.
    """
    n_jobs = len(jobs)
    first, last = kept[0], n_jobs - kept[1]
    found = (np.iinfo(np.int64).max, -1, 0, 0)
    for i in range(first, last):
        swap_values(times, jobs, i, last, flow, tables, scratch, values)
        for j in range(i + 1, last):
            index = i * (2 * n_jobs - i - 1) // 2 + j - i - 1
            value = values[j]
            if len(everything):
                everything[index] = value
            allowed = value < best or generation > expiry[jobs[i], jobs[j]]
            if value < found[0] and allowed:
                found = (value, index, i, j)
    return found


@compiled
def advance(
    times: Array,
    kept: tuple[int, int],
    flow: bool,
    tenure: int,
    begin: int,
    last: int,
    expiry: Array,
    jobs: Array,
    best: Array,
    costs: Array,
    history: Array,
    moves: Array,
    everything: Array,
) -> None:
    """Make the moves of the generations from ``begin`` to ``last`` of one search.

    ``jobs``, ``best``, ``costs``, ``history``, ``moves``: its rows of a ``State``.
    """
    n_machines, n_jobs = times.shape
    tables = (
        np.zeros((n_machines, n_jobs + 1), np.int32),
        np.zeros(n_jobs + 1, np.int64),
        np.zeros((n_machines, n_jobs + 1), np.int32),
    )
    scratch = np.zeros((n_machines + 2, max(n_jobs, n_machines)), np.int32)
    values = np.zeros(n_jobs, np.int64)
    for generation in range(begin, last + 1):
        fill_tables(times, jobs, tables)
        value, index, i, j = best_move(
            times,
            jobs,
            kept,
            flow,
            tables,
            scratch,
            values,
            generation,
            costs[1],
            expiry,
            everything,
        )
        if index >= 0:
            a, b = jobs[i], jobs[j]
            expiry[a, b] = expiry[b, a] = generation + tenure
            jobs[i], jobs[j] = b, a
            costs[0] = value
            if value < costs[1]:
                costs[1] = value
                best[:] = jobs
        moves[generation - 1] = index
        history[generation] = costs[0]


class CpuSearches:
    """Searches on the cores of this machine, a thread each; see ``Searches``."""

    def __init__(self, rules: Rules, state: State, threads: int = 1) -> None:
        self._rules, self._state, self._threads = rules, state, threads
        self._times = np.ascontiguousarray(rules.times.T, dtype=np.int32)
        n_searches, n_jobs = state.parents.shape
        self._expiry = np.zeros((n_searches, n_jobs, n_jobs), np.int32)
        self.part = max(1, int(PART_OPERATIONS / rules.operations))

    def advance(self, last: int, everything: Array | None = None) -> None:
        """See ``Searches``; ``everything``: room for what all neighbours cost."""
        rules, state = self._rules, self._state
        if everything is None:
            everything = np.empty(0, np.int64)

        arrays: list[Array] = [self._expiry, state.parents, state.bests, state.values]
        arrays += [state.history, state.moves]
        how = rules.kept, rules.flow, rules.tenure

        def one(row: int) -> None:
            rows = [*(array[row] for array in arrays), everything]
            advance(self._times, *how, state.generation + 1, last, *rows)

        if len(state.parents) == 1 or self._threads == 1:
            for row in range(len(state.parents)):
                one(row)
        else:
            with ThreadPoolExecutor(self._threads, "dpbb-tabu") as pool:
                list(pool.map(one, range(len(state.parents))))
        state.generation = last

    def neighbours(self) -> NDArray[np.int64]:
        """See ``Searches``."""
        values = np.zeros(self._rules.n_neighbours, np.int64)
        self.advance(self._state.generation + 1, values)
        return values
