"""LB1 and LB2 of many nodes on the cores of this machine: a node in every lane.

All lanes walk the jobs in the Johnson order of the same pair of machines, so that a
job's times are one broadcast; in lanes where it is scheduled a mask makes them nothing.
The masks, heads and tails of a block of nodes, which are not the same work for all, are
made lane by lane before. Twins: ``nodes`` in NumPy, ``cuda/nodes.cu``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.bounds.lb2 import JohnsonTables
from dpbb.flowshop.makespan import longest_makespan
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.cores import in_parts, thread_count
from dpbb.kernels.pointers import aligned_zeros, pointer_of
from dpbb.kernels.simd import less, load, maximum, minimum, splat, store, zeros

LANES = 64
"""Nodes of a block: a vector of as many lanes is one or several of the processor's."""

INVALID = -1
"""Bound of what is no node: numbers that are no permutation, or sides that overlap."""

PARTS_PER_THREAD = 4
"""Parts of a batch for each thread: others may have the cores, too."""


class Shop(NamedTuple):
    """An instance with pairs of machines, as compiled code reads it."""

    times: NDArray[Any]  # (n_jobs, n_machines)
    pairs: NDArray[np.int64]  # (n_pairs, 2)
    steps: NDArray[np.int64]  # (n_pairs, n_jobs, 4): job, time on u, lag, time on v

    @classmethod
    def of(
        cls, times: NDArray[np.int64], tables: JohnsonTables, most: int | None = None
    ) -> Shop:
        """Return the arrays of an instance, in integers that hold its bounds.

        No bound is above ``most``; default: the longest makespan.
        """
        most = longest_makespan(times) if most is None else most
        narrow = most <= np.iinfo(np.int16).max
        parts = (tables.order, tables.first, tables.lag, tables.second)
        steps = np.stack(parts, axis=2).astype(np.int64)
        table = times.astype(np.int16 if narrow else np.int32)
        return cls(table, tables.pairs.astype(np.int64), steps)


class Block(NamedTuple):
    """Room for ``LANES`` nodes at a time, all in rows of as many integers.

    A mask is -1 or 0.
    """

    heads: NDArray[Any]  # n_machines rows, as the next four
    tails: NDArray[Any]
    remain: NDArray[Any]
    least: NDArray[Any]
    columns: NDArray[Any]  # times of one job a lane
    free: NDArray[Any]  # n_jobs rows of masks: the unscheduled jobs
    bounds: NDArray[Any]  # one row, as the next four
    valid: NDArray[Any]  # 0: no node
    grows: NDArray[Any]  # mask: the job is added to the lane's side
    waits: NDArray[Any]  # mask: the job is unscheduled
    wants: NDArray[Any]  # mask: it counts among those that may come next

    @classmethod
    def of(cls, shop: Shop) -> Block:
        """Return room for nodes of an instance."""
        n_jobs, n_machines = shop.times.shape
        rows = (*[n_machines] * 5, n_jobs, *[1] * 5)
        return cls(*(aligned_zeros(n * LANES, shop.times.dtype) for n in rows))


def bounds(
    times: NDArray[np.int64],
    tables: JohnsonTables,
    permutations: NDArray[np.int32],
    d1: NDArray[np.int32],
    d2: NDArray[np.int32],
    *,
    strong: bool,
    threads: int | None = None,
) -> NDArray[np.int32]:
    """Return the bounds of nodes, int32, shape (r,); ``INVALID`` of what is none.

    Parameters
    ----------
    times, permutations, d1, d2, strong
        As in ``Nodes.of``.
    tables
        The pairs that LB2 looks at; without any it is LB1.
    threads
        Default: as many as this process may use cores.
    """
    count = len(permutations)
    shop = Shop.of(times, tables)
    result = np.empty(count, np.int32)

    def part(begin: int, end: int) -> None:
        some = slice(begin, end)
        arrays = (permutations[some], d1[some], d2[some])
        _bound_nodes(shop, Block.of(shop), *arrays, strong, result[some])

    n_threads = thread_count(threads)
    blocks = -(-count // (PARTS_PER_THREAD * n_threads * LANES))
    in_parts(part, count, LANES * max(1, blocks), n_threads)
    return result


@helper
def mark_free(block: Block, lane: int, jobs: Any, n_front: int, n_back: int) -> bool:
    """Mark the unscheduled jobs of a node in its lane; False if it is none."""
    n_jobs = len(jobs)
    end = n_jobs - n_back
    if n_front < 0 or n_back < 0 or n_front > end:
        return False
    free = pointer_of(block.free)
    for i in range(n_jobs):
        job = int64(jobs[i])
        if job < 0 or job >= n_jobs or free[job * LANES + lane]:
            return False
        free[job * LANES + lane] = -1
    for i in range(n_front):
        free[int64(jobs[i]) * LANES + lane] = 0
    for i in range(end, n_jobs):
        free[int64(jobs[i]) * LANES + lane] = 0
    return True


@helper
def _grow(shop: Shop, block: Block, ends: Any, backwards: bool, wanted: bool) -> None:
    """Take a job a lane, in ``columns``, into account on one side of the nodes.

    On the way through the machines a job ends where it is added to the side, and can
    begin where it is unscheduled; ``wanted`` says whether that counts anywhere.
    """
    n_machines = shop.times.shape[1]
    side, least = pointer_of(ends), pointer_of(block.least)
    columns, remain = pointer_of(block.columns), pointer_of(block.remain)
    like = zeros(columns, LANES)
    grows = load(pointer_of(block.grows), int64(0), like)
    waits = load(pointer_of(block.waits), int64(0), like)
    wants = load(pointer_of(block.wants), int64(0), like)
    time = like
    for step in range(n_machines):
        at = (n_machines - 1 - step if backwards else step) * LANES
        end = load(side, at, like)
        time = maximum(time, end)
        if wanted:
            before = load(least, at, like)
            store(least, at, before ^ ((before ^ minimum(before, time)) & wants))
        needed = load(columns, at, like)
        time = time + needed
        store(side, at, end ^ ((end ^ time) & grows))
        if not backwards:
            store(remain, at, load(remain, at, like) + (needed & waits))


@helper
def read_side(
    shop: Shop,
    block: Block,
    permutations: Any,
    own: Any,
    other: Any,
    first: int,
    used: int,
    start: NDArray[np.int32],
    backwards: bool,
    strong: bool,
) -> None:
    """Make the heads of a block's nodes, and what remains; or, backwards, the tails.

    Parameters
    ----------
    own, other
        Number of jobs that are fixed on this side and on the other one.
    first, used
        The nodes.
    start : ndarray of int32, shape (n_machines,)
        Where the first job of a side begins.
    """
    n_jobs, n_machines = shop.times.shape
    ends = block.tails if backwards else block.heads
    times, columns = pointer_of(shop.times), pointer_of(block.columns)
    for at in range(n_machines * LANES):
        ends[at] = start[at // LANES]
        block.least[at] = np.iinfo(block.least.dtype).max
    for place in range(n_jobs):
        some = wanted = False
        for lane in range(used):
            node = first + lane
            valid = block.valid[lane] != 0
            grows = valid and place < own[node]
            waits = valid and not grows and place < n_jobs - other[node]
            wants = waits and (strong or own[node] == 0)
            block.grows[lane] = -1 if grows else 0
            block.waits[lane] = -1 if waits else 0
            block.wants[lane] = -1 if wants else 0
            if grows or wants or (waits and not backwards):
                some = True
                wanted |= wants
                i = n_jobs - 1 - place if backwards else place
                row = int64(permutations[node, i]) * n_machines
                for k in range(n_machines):
                    columns[k * LANES + lane] = times[row + k]
        if some:
            _grow(shop, block, ends, backwards, wanted)
    # where unscheduled jobs count, they have the say
    for lane in range(used):
        node = first + lane
        n_free = n_jobs - own[node] - other[node]
        if block.valid[lane] and n_free and (strong or own[node] == 0):
            for k in range(n_machines):
                ends[k * LANES + lane] = block.least[k * LANES + lane]


@helper
def bound_machines(shop: Shop, block: Block) -> None:
    """Raise the bounds of all lanes to LB1."""
    heads, tails = pointer_of(block.heads), pointer_of(block.tails)
    remain, bounds = pointer_of(block.remain), pointer_of(block.bounds)
    like = zeros(bounds, LANES)
    best = load(bounds, int64(0), like)
    for k in range(shop.times.shape[1]):
        at = k * LANES
        ends = load(heads, at, like) + load(remain, at, like) + load(tails, at, like)
        best = maximum(best, ends)
    store(bounds, int64(0), best)


@helper
def bound_pairs(shop: Shop, block: Block, ub: int) -> None:
    """Raise the bounds of all lanes to those of the pairs, or to ``ub`` and no further.

    A lane's walk begins with the tail added: what it ends with is the bound. Where a
    job is scheduled its sum may overflow, and counts as nothing. It ends when no lane
    is below ``ub``.
    """
    heads, tails = pointer_of(block.heads), pointer_of(block.tails)
    free, bounds = pointer_of(block.free), pointer_of(block.bounds)
    like = zeros(free, LANES)
    best = load(bounds, int64(0), like)
    limit = splat(ub, like)
    for pair in range(shop.pairs.shape[0]):
        if less(best, limit) == np.uint64(0):
            break
        u, v = shop.pairs[pair, 0], shop.pairs[pair, 1]
        tail = load(tails, v * LANES, like)
        on_first = load(heads, u * LANES, like) + tail
        on_second = load(heads, v * LANES, like) + tail
        for place in range(shop.steps.shape[1]):
            here = load(free, shop.steps[pair, place, 0] * LANES, like)
            first = splat(shop.steps[pair, place, 1], like)
            lag = splat(shop.steps[pair, place, 2], like)
            second = splat(shop.steps[pair, place, 3], like)
            on_first = on_first + (first & here)
            on_second = maximum(on_second, (on_first + lag) & here) + (second & here)
        best = maximum(best, on_second)
    store(bounds, int64(0), best)


@entry
def _bound_nodes(
    shop: Shop,
    block: Block,
    permutations: NDArray[np.int32],
    d1: NDArray[np.int32],
    d2: NDArray[np.int32],
    strong: bool,
    result: NDArray[np.int32],
) -> None:
    """Bound nodes, a block of lanes after the other."""
    count = len(permutations)
    n_jobs, n_machines = shop.times.shape
    no_limit = int64(np.iinfo(block.bounds.dtype).max)
    nothing = np.zeros(n_machines, np.int32)
    for first in range(0, count, LANES):
        for at in range(n_jobs * LANES):
            block.free[at] = 0
        for at in range(n_machines * LANES):
            block.remain[at] = 0
        used = min(LANES, count - first)
        for lane in range(LANES):
            block.bounds[lane] = block.grows[lane] = 0
            block.waits[lane] = block.wants[lane] = 0
        for lane in range(used):
            node = first + lane
            jobs = permutations[node]
            valid = mark_free(block, lane, jobs, int64(d1[node]), int64(d2[node]))
            block.valid[lane] = 1 if valid else 0
        nodes = (int64(first), int64(used))
        here = (shop, block, permutations)
        read_side(*here, d1, d2, *nodes, nothing, False, strong)
        read_side(*here, d2, d1, *nodes, nothing, True, strong)
        bound_machines(shop, block)
        bound_pairs(shop, block, no_limit)
        for lane in range(used):
            valid = block.valid[lane] != 0
            result[first + lane] = block.bounds[lane] if valid else INVALID
