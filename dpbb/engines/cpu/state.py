"""What the explorers of a session hold: the instance's tables, their stacks, the pool.

An explorer's state is the IVM's in another form (``dpbb.engines.ivm``): the row of a
level is a bit mask of the siblings that are still open, its vector entry is the job
taken. Jobs are numbered in root order throughout.

*Pairs.* The suffix recursion is the prefix recursion on the mirrored machines. So all
tables hold pairs of lanes: the even lane of machine k is the front's view of machine
k, the odd one the back's view of machine m - 1 - k; in a job table the even lane of a
job is its child at the front, the odd lane its child at the back. One pass over the
machines bounds both child sets. A row of machines is padded to ``row`` lanes, a
multiple of ``PAIR_LANES``; rows that hold ``remain`` are shifted to the *end* of the
row, so that reversing a whole row mirrors its machines.

*Job tables.* A table has one column per job that is unscheduled where it was built,
padded to whole groups of ``GROUP_JOBS``; deeper in the tree, when fewer jobs are left,
a smaller one is built from it and used below. Which table a depth uses is fixed
(``plan_tables``), so lanes can be told from a path alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpbb.options import BranchingRule

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

PAIR_LANES = 16
"""Lanes of the vectors that hold machines: 8 pairs."""

GROUP_JOBS = 8
"""Jobs of a group: its pairs fill ``PAIR_LANES`` lanes."""

JOBS_PER_WORD = 32
"""Jobs whose pairs of bits fill a mask word of 64 bits."""

LEAF_CAPACITY = 1024
"""Optimal leaves that an explorer holds; a full buffer ends the slice."""

_ALIGNMENT = 64


class Tables(NamedTuple):
    """What depends on the instance and the tree options alone; never written."""

    n_jobs: int
    n_machines: int
    row: int  # lanes of a row of machine pairs
    words: int  # mask words of a level, a pair of bits per slot
    job_words: int  # mask words that hold a pair of bits per job
    least_counts: int  # -1: children of the least bound decide the side, else 0
    threshold: int  # added to that: children with less decide the side
    fixed_side: int  # 0 front, 1 back, 2 back at odd depth, -1 not fixed
    all_optima: int
    largest: int  # of the element type; as a bound: no child
    leaf_capacity: int  # rows of Explorer.found
    sides: NDArray[Any]  # (-1, 0) front, (0, -1) back: masks of the side taken
    steps: NDArray[Any]  # (n, row + PAIR_LANES): time before each machine, in pairs
    shifted: NDArray[Any]  # (n, row): the job's times, in pairs, shifted
    times: NDArray[np.int64]  # (n, m)
    table_of: NDArray[np.int64]  # (n,): table that bounds a node of this depth
    build_at: NDArray[np.int64]  # (n,): table to build for the children, or -1
    groups: NDArray[np.int64]  # per table: groups of jobs
    first_slot: NDArray[np.int64]  # per table: first job slot in the flat arrays
    first_time: NDArray[np.int64]  # per table: first element in Explorer.columns


class Explorer(NamedTuple):
    """One sequential search; written by one thread at a time."""

    fronts: NDArray[Any]  # (n, row): front and back of the path's node, in pairs
    remain: NDArray[Any]  # (n, row): shifted
    exits: NDArray[Any]  # (row,): remain + the other side, shifted; current node
    real: NDArray[Any]  # (n, 2): -1 where a side holds a job, else 0
    columns: NDArray[Any]  # job tables: (machine, 2 * slot)
    taken: NDArray[Any]  # per slot a pair: the largest value if no child, else 0
    bounds: NDArray[Any]  # scratch, per slot a pair
    jobs: NDArray[np.int64]  # per slot: its job
    slots: NDArray[np.int64]  # (table, n): slot of a job in a table
    open: NDArray[np.uint64]  # (n, words): open children, a pair of bits per slot
    path: NDArray[np.int64]  # (n,): 2 job + side taken at each level
    place: NDArray[np.int64]  # (n,): where ``taken`` marks the job of each level
    least: NDArray[np.int64]  # (n,): least bound of a level, set by ``settle``
    mask: NDArray[np.uint64]  # (words,): scratch
    closed: NDArray[np.int64]  # (n + 1,)
    counts: NDArray[np.int64]  # DECOMPOSED ... below
    found: NDArray[np.int64]  # (capacity, n + 1): cost and permutation of leaves
    finish: NDArray[np.int64]  # (m,): scratch


DECOMPOSED, LEAVES, DEPTH, WAITING, N_FOUND, N_COUNTS = range(6)
"""Fields of ``Explorer.counts``; DEPTH is the level of the stack, -1 when empty."""


class Pool(NamedTuple):
    """Sibling sets that wait for an explorer; shared, a stack under a lock."""

    capacity: int
    control: NDArray[np.int64]  # UB ... below, each in a cache line of its own
    level: NDArray[np.int64]  # (capacity,): depth of the parent
    least: NDArray[np.int64]  # (capacity,): least bound of the set
    path: NDArray[np.int64]  # (capacity, n): as Explorer.path, of the parent
    mask: NDArray[np.uint64]  # (capacity, job_words): a pair of bits per job


UB, STOP, HUNGRY, LOCK, TOP, DONE, EXPLORERS, POLL = range(0, 8 * 8, 8)
"""Fields of ``Pool.control``.

HUNGRY counts the explorers that wait for work; POLL is the number of nodes between two
looks at what other threads want, a power of two, less one.
"""

CONTROL_SIZE = 8 * 8

POLL_MASK = 31
"""POLL of all slices but those of no time, which stop after every node."""


def words_for(n_jobs: int) -> int:
    """Mask words that hold a pair of bits per job."""
    return -(-n_jobs // JOBS_PER_WORD)


def plan_tables(n_jobs: int) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
    """Decide where in the tree smaller job tables are built.

    Returns
    -------
    table_of, build_at : ndarray of int64, shape (n_jobs,)
        See ``Tables``.
    groups : list of int
        Groups of jobs of each table.
    """
    table_of = np.zeros(n_jobs, np.int64)
    build_at = np.full(n_jobs, -1, np.int64)
    groups = [max(2, -(-n_jobs // GROUP_JOBS))]
    for depth in range(n_jobs - 1):
        left = n_jobs - depth  # jobs that the children of this depth choose from
        needed = max(2, -(-left // GROUP_JOBS))
        if left % GROUP_JOBS == 0 and 4 * needed <= 3 * groups[-1]:
            build_at[depth] = len(groups)
            groups.append(needed)
        table_of[depth + 1] = len(groups) - 1
    return table_of, build_at, groups


def aligned_zeros(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Zeros from the start of a cache line on, so that no vector spans two."""
    item = np.dtype(dtype).itemsize
    memory = np.zeros(size * item + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size * item].view(dtype)


def _pairs(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of machines as pairs (machine k, machine m - 1 - k)."""
    return np.stack([rows, rows[:, ::-1]], axis=2).reshape(len(rows), -1)


def make_tables(
    times: NDArray[np.int64],
    rule: BranchingRule,
    branching_ub: int | None,
    dtype: DTypeLike,
    *,
    all_optima: bool,
) -> Tables:
    """Tables of an instance whose jobs are in root order.

    Parameters
    ----------
    times : ndarray of int64, shape (n_jobs, n_machines)
        Processing times.
    dtype
        int16 or int32; no bound may pass its largest value.
    """
    n_jobs, n_machines = times.shape
    row = -(-2 * n_machines // PAIR_LANES) * PAIR_LANES
    steps = np.zeros((n_jobs, row + PAIR_LANES), np.int64)
    backwards = times[:, ::-1]
    ahead = np.stack([times.cumsum(axis=1), backwards.cumsum(axis=1)], axis=2)
    steps[:, 2 : 2 * n_machines + 2] = ahead.reshape(n_jobs, -1)
    # past the last machine nothing is added: the padding repeats the sum
    steps[:, 2 * n_machines + 2 :: 2] = times.sum(axis=1, keepdims=True)
    steps[:, 2 * n_machines + 3 :: 2] = times.sum(axis=1, keepdims=True)
    shifted = np.zeros((n_jobs, row), np.int64)
    shifted[:, row - 2 * n_machines :] = _pairs(times)
    table_of, build_at, groups = plan_tables(n_jobs)
    slots = np.array(groups) * GROUP_JOBS
    sizes = slots * 2 * n_machines
    largest = int(np.iinfo(dtype).max)
    return Tables(
        n_jobs=n_jobs,
        n_machines=n_machines,
        row=row,
        words=words_for(int(slots[0])),
        job_words=words_for(n_jobs),
        least_counts=-1 if rule is BranchingRule.MINMIN else 0,
        threshold=_threshold(rule, branching_ub, largest),
        fixed_side=_FIXED_SIDES.get(rule, -1),
        all_optima=int(all_optima),
        largest=largest,
        leaf_capacity=LEAF_CAPACITY if all_optima else 3,  # best, next, never full
        sides=np.array([-1, 0, 0, -1], dtype),
        steps=_aligned_copy(steps, dtype),
        shifted=_aligned_copy(shifted, dtype),
        times=np.ascontiguousarray(times),
        table_of=table_of,
        build_at=build_at,
        groups=np.array(groups, np.int64),
        first_slot=np.concatenate([[0], slots.cumsum()[:-1]]),
        first_time=np.concatenate([[0], sizes.cumsum()[:-1]]),
    )


_FIXED_SIDES = {
    BranchingRule.FRONT: 0,
    BranchingRule.BACK: 1,
    BranchingRule.ALTERNATE: 2,
}


def _threshold(rule: BranchingRule, branching_ub: int | None, largest: int) -> int:
    """Return the value that bounds (less the least one: MinMin) stay below to count."""
    if rule is BranchingRule.MINBRANCH:
        return max(0, min(branching_ub or 0, largest))
    return 1 if rule is BranchingRule.MINMIN else 0


def _aligned_copy(rows: NDArray[np.int64], dtype: DTypeLike) -> NDArray[Any]:
    """Flat copy; a vector that starts at any of its elements may be read."""
    flat = aligned_zeros(rows.size + PAIR_LANES, dtype)
    flat[: rows.size] = rows.ravel()
    return flat


def make_explorer(tables: Tables) -> Explorer:
    """Return an idle explorer."""
    n_jobs, row, dtype = tables.n_jobs, tables.row, tables.steps.dtype
    slots = int(tables.groups.sum()) * GROUP_JOBS
    first = int(tables.groups[0]) * GROUP_JOBS
    # a table is built in whole squares: room past the end of each, not the last alone
    rows = -(-tables.n_machines // GROUP_JOBS) * GROUP_JOBS
    ends = tables.first_time + rows * PAIR_LANES * tables.groups
    columns = aligned_zeros(int(ends.max()), dtype)
    jobs = np.zeros(slots, np.int64)
    jobs[:n_jobs] = np.arange(n_jobs)
    slot_of = np.zeros((len(tables.groups), n_jobs), np.int64)
    slot_of[0] = np.arange(n_jobs)
    # slots without a job are never children
    taken = aligned_zeros(2 * slots, dtype)
    for table, groups in enumerate(tables.groups):
        depth = int(np.flatnonzero(tables.table_of == table)[0])
        used = n_jobs - depth + (table > 0)
        start = int(tables.first_slot[table])
        taken[2 * (start + used) : 2 * (start + groups * GROUP_JOBS)] = np.iinfo(
            dtype
        ).max
    times = tables.times
    pairs = _pairs(times)
    whole = columns[: 2 * first * tables.n_machines].reshape(tables.n_machines, -1, 2)
    whole[:, :n_jobs] = pairs.reshape(n_jobs, -1, 2).transpose(1, 0, 2)
    fronts = aligned_zeros(n_jobs * row, dtype)
    # on an empty side the bound, and the bound alone, uses least heads and tails
    heads = times.cumsum(axis=1) - times
    tails = times[:, ::-1].cumsum(axis=1)[:, ::-1] - times
    least = np.stack([heads.min(axis=0), tails.min(axis=0)[::-1]], axis=1)
    fronts[: 2 * tables.n_machines] = least.ravel()
    remain = aligned_zeros(n_jobs * row, dtype)
    remain[row - 2 * tables.n_machines : row] = _pairs(times.sum(axis=0)[None])[0]
    counts = np.zeros(N_COUNTS, np.int64)
    counts[DEPTH] = -1
    return Explorer(
        fronts=fronts,
        remain=remain,
        exits=aligned_zeros(row, dtype),
        real=np.zeros(2 * n_jobs, dtype),
        columns=columns,
        taken=taken,
        bounds=aligned_zeros(2 * first + 64, dtype),
        jobs=jobs,
        slots=slot_of.ravel(),
        open=np.zeros(n_jobs * tables.words, np.uint64),
        path=np.zeros(n_jobs, np.int64),
        place=np.zeros(n_jobs, np.int64),
        least=np.zeros(n_jobs, np.int64),
        mask=np.zeros(tables.words, np.uint64),
        closed=np.zeros(n_jobs + 1, np.int64),
        counts=counts,
        found=np.zeros((tables.leaf_capacity, n_jobs + 1), np.int64),
        finish=np.zeros(tables.n_machines, np.int64),
    )


def make_pool(n_jobs: int, capacity: int, control: NDArray[np.int64]) -> Pool:
    """Return an empty pool for ``capacity`` sibling sets; ``control`` is kept."""
    return Pool(
        capacity=capacity,
        control=control,
        level=np.zeros(capacity, np.int64),
        least=np.zeros(capacity, np.int64),
        path=np.zeros((capacity, n_jobs), np.int64),
        mask=np.zeros((capacity, words_for(n_jobs)), np.uint64),
    )
