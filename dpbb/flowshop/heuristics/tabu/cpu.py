"""Tabu search on CPU cores: the same trajectories as on a GPU, bit for bit.

A block of ``LANES`` swaps of one first position goes through the jobs between together:
columns are machine by neighbour, so that loops over neighbours become vector
instructions. Insertions use Taillard's acceleration (EJOR 47(1), 1990).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.heuristics.tabu.state import (
    Objective,
    Rules,
    Sharing,
    State,
    Tabu,
    codes,
    insertion_of,
    swap_of,
)
from dpbb.kernels.compiling import compiled

Array = NDArray[Any]
Tables = tuple[Array, Array, Array]
Lists = tuple[Array, Array, Array, np.uint64]

LANES = 64
NO_MOVE = (np.iinfo(np.int64).max, -1)

KIND = {Tabu.PAIRS: 0, Tabu.PERMUTATIONS: 1, Tabu.POSITIONS: 2}
SHARED = {Sharing.NONE: 0, Sharing.PREFIX: 1, Sharing.BOTH: 2}


@compiled
def fill_heads(
    times: Array, jobs: Array, first: int, heads: Array, sums: Array
) -> None:
    """Fill in the columns of the parent behind position ``first``.

    ``heads[k, c]``: end of the first c jobs on machine k; ``sums[c]``: their total
    flow time.
    """
    n_machines, n_jobs = times.shape[0], len(jobs)
    for c in range(first, n_jobs):
        end = np.int32(0)
        for k in range(n_machines):
            end = np.int32(max(end, heads[k, c]) + times[k, jobs[c]])
            heads[k, c + 1] = end
        sums[c + 1] = sums[c] + end


@compiled
def fill_tails(times: Array, jobs: Array, last: int, tails: Array) -> None:
    """Fill in the times from the start of positions up to ``last`` to the end."""
    n_machines = times.shape[0]
    for c in range(last, -1, -1):
        end = np.int32(0)
        for k in range(n_machines - 1, -1, -1):
            end = np.int32(max(end, tails[k, c + 1]) + times[k, jobs[c]])
            tails[k, c] = end


@compiled
def swap_values(
    times: Array,
    jobs: Array,
    i: int,
    j0: int,
    width: int,
    sharing: int,
    flow: bool,
    tables: Tables,
    scratch: tuple[Array, Array, Array],
    values: Array,
) -> None:
    """Write the values of the swaps (i, j0) to (i, j0 + width - 1).

    ``scratch``, int32: of shapes (n_machines, LANES), (LANES,) and (n_machines,).
    """
    heads, sums, tails = tables
    column, ends, own = scratch
    n_machines, n_jobs = times.shape[0], len(jobs)
    for lane in range(width):
        values[lane] = sums[i] if flow and sharing else 0
    for k in range(n_machines):
        for lane in range(width):
            column[k, lane] = heads[k, i] if sharing else 0
    if sharing == 0:
        for c in range(i):
            advance(times, jobs[c], column, ends, 0, width)
            if flow:
                for lane in range(width):
                    values[lane] += column[n_machines - 1, lane]
    for lane in range(width):
        job = jobs[j0 + lane]
        end = np.int32(0)
        for k in range(n_machines):
            end = np.int32(max(end, column[k, lane]) + times[k, job])
            column[k, lane] = end
        if flow:
            values[lane] += end
    for c in range(i + 1, j0 + width if sharing == 2 else n_jobs):
        lane = c - j0
        here = 0 <= lane < width
        if here:
            for k in range(n_machines):
                own[k] = column[k, lane]
        first = max(lane, 0) if sharing == 2 else 0
        advance(times, jobs[c], column, ends, first, width)
        if here:
            end = np.int32(0)
            for k in range(n_machines):
                end = np.int32(max(end, own[k]) + times[k, jobs[i]])
                column[k, lane] = end
            if sharing == 2:
                longest = np.int32(0)
                for k in range(n_machines):
                    longest = max(longest, np.int32(column[k, lane] + tails[k, c + 1]))
                values[lane] = longest
        if flow:
            for lane in range(width):
                values[lane] += column[n_machines - 1, lane]
    if not flow and sharing < 2:
        for lane in range(width):
            values[lane] = column[n_machines - 1, lane]


@compiled
def advance(
    times: Array, job: int, column: Array, ends: Array, first: int, width: int
) -> None:
    """Append a job to the columns from ``first`` on.

    ``ends``: scratch of its own, else the compiler cannot make vectors.
    """
    up = ends[first:width]
    up[:] = 0
    for k in range(times.shape[0]):
        time, row = times[k, job], column[k, first:width]
        for lane in range(len(up)):
            end, free = up[lane], row[lane]
            end = np.int32((end if end > free else free) + time)
            up[lane] = end
            row[lane] = end


@compiled
def insertion_values(
    times: Array,
    jobs: Array,
    source: int,
    heads: Array,
    tails: Array,
    scratch: Array,
    out: Array,
) -> None:
    """Write the makespans of all places for the job at ``source``; its own is last's.

    ``scratch``: int32 (2 * n_machines + 1, n_jobs + 1); ``out``: int64 (n_jobs,).
    """
    n_machines, n_jobs = times.shape[0], len(jobs)
    for k in range(n_machines):
        for c in range(source + 1):
            scratch[k, c] = heads[k, c]
        for c in range(source, n_jobs):
            scratch[n_machines + k, c] = tails[k, c + 1]
    for c in range(source + 1, n_jobs):
        end = np.int32(0)
        for k in range(n_machines):
            end = np.int32(max(end, scratch[k, c - 1]) + times[k, jobs[c]])
            scratch[k, c] = end
    for c in range(source - 1, -1, -1):
        end = np.int32(0)
        for k in range(n_machines - 1, -1, -1):
            tail = scratch[n_machines + k, c + 1]
            end = np.int32(max(end, tail) + times[k, jobs[c]])
            scratch[n_machines + k, c] = end
    ends = scratch[2 * n_machines]
    for c in range(n_jobs):
        ends[c] = 0
        out[c] = 0
    for k in range(n_machines):
        time = times[k, jobs[source]]
        head, tail = scratch[k], scratch[n_machines + k]
        for c in range(n_jobs):
            end = np.int32(max(ends[c], head[c]) + time)
            ends[c] = end
            out[c] = max(out[c], end + tail[c])


@compiled
def forbidden(
    i: int,
    j: int,
    change: np.uint64,
    jobs: Array,
    kind: int,
    generation: int,
    lists: Lists,
) -> bool:
    """Whether a move is tabu; ``change``: what it adds to the hash."""
    expiry, ring, _code, hash_now = lists
    if kind == 0:
        return bool(generation <= expiry[jobs[i], jobs[j]])
    if kind == 2:
        return bool(generation <= expiry[i, j])
    wanted = np.uint64(hash_now) + np.uint64(change)
    for slot in range(len(ring)):  # noqa: SIM110 (compiled)
        if ring[slot] == wanted:
            return True
    return False


@compiled
def best_swap(
    times: Array,
    jobs: Array,
    bounds: tuple[int, int, int],
    sharing: int,
    flow: bool,
    tables: Tables,
    kind: int,
    generation: int,
    best: int,
    lists: Lists,
    everything: Array,
) -> tuple[int, int]:
    """Return value and index of the best allowed swap of some first positions.

    ``bounds``: the first positions from ... to, and the end of what may move.
    ``everything``: where to write all values; empty: nowhere.
    """
    code = lists[2]
    begin, stop, last = bounds
    n_machines, n_jobs = times.shape[0], len(jobs)
    scratch = (
        np.empty((n_machines, LANES), np.int32),
        np.empty(LANES, np.int32),
        np.empty(n_machines, np.int32),
    )
    values = np.empty(LANES, np.int64)
    least, index = np.int64(np.iinfo(np.int64).max), np.int64(-1)
    for i in range(begin, stop):
        row = i * (2 * n_jobs - i - 1) // 2 - i - 1
        for j0 in range(i + 1, last, LANES):
            width = min(LANES, last - j0)
            swap_values(
                times, jobs, i, j0, width, sharing, flow, tables, scratch, values
            )
            for lane in range(width):
                j = j0 + lane
                value = values[lane]
                if len(everything):
                    everything[row + j] = value
                if value >= least:
                    continue
                if value >= best:
                    change = np.uint64(0)
                    if kind == 1:
                        change = swap_change(code, jobs, i, j)
                    if forbidden(i, j, change, jobs, kind, generation, lists):
                        continue
                least, index = value, np.int64(row + j)
    return int(least), int(index)


@compiled
def swap_change(code: Array, jobs: Array, i: int, j: int) -> np.uint64:
    """Return what a swap adds to the hash of a permutation, modulo 2^64."""
    a, b = jobs[i], jobs[j]
    return code[i, b] + code[j, a] - code[i, a] - code[j, b]


@compiled
def best_insertion(
    times: Array,
    jobs: Array,
    bounds: tuple[int, int, int, int],
    tables: Tables,
    kind: int,
    generation: int,
    best: int,
    lists: Lists,
    everything: Array,
) -> tuple[int, int]:
    """Return value and index of the best allowed insertion of some positions' jobs.

    ``bounds``: the positions from ... to, and the begin and end of what may move.
    """
    heads, _sums, tails = tables
    code = lists[2]
    begin, stop, first, last = bounds
    n_machines, n_jobs = times.shape[0], len(jobs)
    scratch = np.empty((2 * n_machines + 1, n_jobs + 1), np.int32)
    values = np.empty(n_jobs, np.int64)
    least, index = np.int64(np.iinfo(np.int64).max), np.int64(-1)
    for source in range(begin, stop):
        insertion_values(times, jobs, source, heads, tails, scratch, values)
        for target in range(first, last):
            if target == source:
                continue
            value = values[target]
            t = source * (n_jobs - 1) + target - (target > source)
            if len(everything):
                everything[t] = value
            if value >= least:
                continue
            if value >= best:
                change = np.uint64(0)
                if kind == 1:
                    change = insertion_change(code, jobs, source, target)
                if forbidden(source, target, change, jobs, kind, generation, lists):
                    continue
            least, index = value, np.int64(t)
    return int(least), int(index)


@compiled
def insertion_change(code: Array, jobs: Array, source: int, target: int) -> np.uint64:
    """Return what an insertion adds to the hash of a permutation, modulo 2^64."""
    job = jobs[source]
    change = code[target, job] - code[source, job]
    for c in range(source + 1, target + 1):
        change += code[c - 1, jobs[c]] - code[c, jobs[c]]
    for c in range(target, source):
        change += code[c + 1, jobs[c]] - code[c, jobs[c]]
    return change


class CpuSearch:
    """Searches on the cores of this machine; same use as ``GpuSearch``.

    One search shares its generations among the threads, several are shared out whole.
    """

    def __init__(
        self, rules: Rules, starts: NDArray[np.int32], threads: int = 1
    ) -> None:
        self._rules = rules
        self._threads = threads
        times = np.ascontiguousarray(rules.times.T, dtype=np.int32)
        code = codes(starts.shape[1]) if rules.tabu is Tabu.PERMUTATIONS else None
        self._searches = [_One(rules, times, jobs, code) for jobs in starts]

    def neighbours(self) -> NDArray[np.int64]:
        """Return the values of all neighbours of the first search's parent."""
        n_jobs = self._rules.times.shape[0]
        values = np.zeros(self._rules.neighbours(n_jobs), np.int64)
        with ThreadPoolExecutor(self._threads, "dpbb-tabu") as pool:
            self._searches[0].best_move(1, pool, self._threads, values)
        return values

    def run(
        self,
        state: State,
        generations: int,
        over: Callable[[], bool] = lambda: False,
        on_part: Callable[[State], None] = lambda state: None,
    ) -> None:
        """Advance the searches; parameters as of ``GpuSearch.run``."""
        one = len(self._searches) == 1
        with ThreadPoolExecutor(self._threads, "dpbb-tabu") as pool:
            while state.generation < generations and not over():
                g = state.generation + 1
                if one:
                    self._searches[0].advance(g, state, 0, pool, self._threads)
                else:
                    list(
                        pool.map(
                            lambda row, g=g: self._searches[row].advance(g, state, row),
                            range(len(self._searches)),
                        )
                    )
                state.generation = g
                on_part(state)


class _One:
    """One search: its parent, tables and tabu list."""

    def __init__(
        self,
        rules: Rules,
        times: NDArray[np.int32],
        jobs: NDArray[np.int32],
        code: NDArray[np.uint64] | None,
    ) -> None:
        n_machines, n_jobs = times.shape
        self.rules, self.times = rules, times
        self.jobs = jobs.astype(np.int32)
        self.tables = (
            np.zeros((n_machines, n_jobs + 1), np.int32),
            np.zeros(n_jobs + 1, np.int64),
            np.zeros((n_machines, n_jobs + 1), np.int32),
        )
        side = 1 if code is not None else n_jobs
        self.expiry = np.zeros((side, side), np.int32)
        self.ring = np.zeros(rules.tenure if code is not None else 0, np.uint64)
        self.code = np.zeros((1, 1), np.uint64) if code is None else code
        self.hash = np.uint64(0)
        if code is not None:
            self.hash = code[np.arange(n_jobs), jobs].sum(dtype=np.uint64)
        self.value, self.best = 0, 0
        self._refill(0, n_jobs - 1)
        heads, sums, _ = self.tables
        flow = rules.objective is Objective.FLOW_TIME
        self.value = self.best = int(sums[-1] if flow else heads[-1, -1])

    def _refill(self, first: int, last: int) -> None:
        heads, sums, tails = self.tables
        fill_heads(self.times, self.jobs, first, heads, sums)
        fill_tails(self.times, self.jobs, last, tails)

    def best_move(
        self,
        generation: int,
        pool: ThreadPoolExecutor | None,
        threads: int,
        everything: NDArray[np.int64] | None = None,
    ) -> tuple[int, int]:
        """Return value and index of the best allowed neighbour."""
        rules = self.rules
        first, last = rules.kept[0], len(self.jobs) - rules.kept[1]
        kind = KIND[rules.tabu]
        lists = self.expiry, self.ring, self.code, self.hash
        if everything is None:
            everything = np.empty(0, np.int64)

        def part(begin: int, end: int) -> tuple[int, int]:
            common = self.tables, kind, generation, self.best, lists, everything
            if rules.insert:
                bounds = begin, end, first, last
                return best_insertion(self.times, self.jobs, bounds, *common)
            flow = rules.objective is Objective.FLOW_TIME
            share, bounds_of_swaps = SHARED[rules.sharing], (begin, end, last)
            return best_swap(
                self.times, self.jobs, bounds_of_swaps, share, flow, *common
            )

        if pool is None or threads == 1:
            return part(first, last)
        cuts = self._cuts(first, last, 4 * threads)
        found = list(pool.map(part, cuts[:-1], cuts[1:]))
        return min((one for one in found if one[1] >= 0), default=NO_MOVE)

    def _cuts(self, first: int, last: int, parts: int) -> list[int]:
        """Return first positions that cut the neighbourhood in equal parts, about."""
        share = np.arange(parts + 1) / parts
        if not self.rules.insert:
            share = 1 - np.sqrt(1 - share)
        cuts = first + np.rint(share * (last - first)).astype(int)
        return [int(cut) for cut in np.unique(cuts)]

    def advance(
        self,
        generation: int,
        state: State,
        row: int,
        pool: ThreadPoolExecutor | None = None,
        threads: int = 1,
    ) -> None:
        """Make the move of a generation and write it into the state."""
        value, index = self.best_move(generation, pool, threads)
        index = int(index)
        if index >= 0:
            self._move(generation, index)
            self.value = int(value)
        elif len(self.ring):
            self.ring[generation % len(self.ring)] = 0
        state.moves[row, generation - 1] = index
        state.history[row, generation] = self.value
        state.parents[row] = self.jobs
        if self.value < self.best:
            self.best = self.value
            state.bests[row] = self.jobs
        state.values[row] = self.value, self.best

    def _move(self, generation: int, index: int) -> None:
        rules, jobs = self.rules, self.jobs
        n_jobs = len(jobs)
        i, j = (insertion_of if rules.insert else swap_of)(index, n_jobs)
        end = generation + rules.tenure
        change = insertion_change if rules.insert else swap_change
        if rules.tabu is Tabu.PERMUTATIONS:
            with np.errstate(over="ignore"):
                self.hash = self.hash + np.uint64(change(self.code, jobs, i, j))
            if rules.tenure:
                self.ring[generation % rules.tenure] = self.hash
        elif rules.tabu is Tabu.PAIRS:
            a, b = jobs[i], jobs[j]
            self.expiry[a, b] = self.expiry[b, a] = end
        else:
            self.expiry[i, j] = end
            if rules.insert:
                self.expiry[j, i] = end
        if rules.insert:
            job = jobs[i]
            jobs[:] = np.insert(np.delete(jobs, i), j, job)
        else:
            jobs[[i, j]] = jobs[[j, i]]
        self._refill(min(i, j), max(i, j))
