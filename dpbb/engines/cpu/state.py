"""What the explorers of a session hold: the tree's tables, their stacks, the pool.

An explorer's state is the textbook IVM's in another form: the row of a level is a bit
mask of the siblings that are still open, its vector entry is the job taken. Jobs are
numbered in root order throughout. Of the problem, and of what a node is, only the model
knows (``dpbb.kernels.models``); bounds come in pairs of lanes, front and back
(``dpbb.kernels.pairs``), and so do the bits of masks.

*Job tables.* A table has a multiple of ``TILE_GROUPS`` groups of ``GROUP_JOBS`` slots.
The first has one per job, and is padded; deeper in the tree, where just so many jobs
are left as fill a smaller one, that is built from it and used below. Which table a
depth uses is fixed (``plan_tables``), so lanes can be told from a path alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.kernels.pairs import (
    GROUP_JOBS,
    PAIR_LANES,
    TILE_4,
    EqualJobs,
    Rule,
    groups_of,
)
from dpbb.kernels.pointers import Ints, Lanes, Words, aligned_zeros
from dpbb.options import TreeOptions
from dpbb.problem import Problem

JOBS_PER_WORD = 32
"""Jobs whose pairs of bits fill a mask word of 64 bits."""

LEAF_CAPACITY = 1024
"""Optimal leaves that an explorer holds; a full buffer ends the slice."""


class Tables(NamedTuple):
    """What depends on the problem and the tree options alone; never written."""

    model: Any  # of the problem
    rule: Rule
    equal: EqualJobs | None
    n_jobs: int
    words: int  # mask words of a level, a pair of bits per slot
    job_words: int  # mask words that hold a pair of bits per job
    all_optima: int
    keeps_ub: int  # 1: leaves are counted, and no more
    largest: int  # of the element type; as a bound: no child
    leaf_capacity: int  # rows of Explorer.found
    table_of: Ints  # (n,): table that bounds a node of this depth
    build_at: Ints  # (n,): table to build for the children, or -1
    groups: Ints  # per table: groups of jobs
    first_slot: Ints  # per table: first job slot in the flat arrays
    first_lane: Ints  # per table: first element in Explorer.columns


class Explorer(NamedTuple):
    """One sequential search; written by one thread at a time."""

    nodes: Lanes  # (n, node_lanes): the path's nodes
    scratch: Lanes  # of the model, for the current node
    columns: Lanes  # job tables: (height, 2 * slot) each
    taken: Lanes  # per slot a pair: the largest value if no child, else 0
    alike: Lanes  # per slot a pair: 1 if the next slot has an equal job, else 0
    bounds: Lanes  # scratch, per slot a pair
    jobs: Ints  # per slot: its job
    slots: Ints  # (table, n): slot of a job in a table
    open: Words  # (n, words): open children, a pair of bits per slot
    path: Ints  # (n,): 2 job + side taken at each level
    place: Ints  # (n,): where ``taken`` marks the job of each level
    least: Ints  # (n,): least bound of a level, set by ``settle``
    mask: Words  # (words,): scratch
    kept: Ints  # (slots of the largest table,): scratch for what is tightened
    work: Lanes  # the same, of the model
    closed: Ints  # (n + 1,)
    counts: Ints  # DECOMPOSED ... below
    found: Ints  # (capacity, n + 1): cost and permutation of leaves
    cost_ints: Ints  # scratch of the model, for the cost of a leaf


DECOMPOSED, LEAVES, DEPTH, WAITING, N_FOUND, N_COUNTS = range(6)
"""Fields of ``Explorer.counts``; DEPTH is the level of the stack, -1 when empty."""


class Pool(NamedTuple):
    """Sibling sets that wait for an explorer; shared, a stack under a lock."""

    capacity: int
    control: Ints  # UB ... below, each in a cache line of its own
    level: Ints  # (capacity,): depth of the parent
    least: Ints  # (capacity,): least bound of the set
    path: Ints  # (capacity, n): as Explorer.path, of the parent
    mask: Words  # (capacity, job_words): a pair of bits per job


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
    groups = [groups_of(n_jobs)]
    for depth in range(n_jobs - 1):
        left = n_jobs - depth  # jobs that the children of this depth choose from
        needed = groups_of(left)
        if left == GROUP_JOBS * needed and 4 * needed <= 3 * groups[-1]:
            build_at[depth] = len(groups)
            groups.append(needed)
        table_of[depth + 1] = len(groups) - 1
    return table_of, build_at, groups


def make_tables(
    model: Any, problem: Problem[Any], tree: TreeOptions, *, all_optima: bool
) -> Tables:
    """Tables of a problem's tree; ``model`` is the problem's."""
    n_jobs = model.n_jobs
    table_of, build_at, groups = plan_tables(n_jobs)
    slots = np.array(groups) * GROUP_JOBS
    sizes = slots * 2 * model.height
    largest = int(np.iinfo(model.root.dtype).max)
    return Tables(
        model=model,
        rule=Rule.of(tree.branching, tree.branching_ub, largest),
        equal=EqualJobs.of(problem, tree),
        n_jobs=n_jobs,
        words=words_for(int(slots[0])),
        job_words=words_for(n_jobs),
        all_optima=int(all_optima),
        keeps_ub=0,
        largest=largest,
        leaf_capacity=LEAF_CAPACITY if all_optima else 3,  # best, next, never full
        table_of=table_of,
        build_at=build_at,
        groups=np.array(groups, np.int64),
        first_slot=np.concatenate([[0], slots.cumsum()[:-1]]),
        first_lane=np.concatenate([[0], sizes.cumsum()[:-1]]),
    )


def make_explorer(tables: Tables) -> Explorer:
    """Return an idle explorer."""
    n_jobs, model = tables.n_jobs, tables.model
    dtype = model.root.dtype
    slots = int(tables.groups.sum()) * GROUP_JOBS
    first = int(tables.groups[0]) * GROUP_JOBS
    # a table is built in whole squares: room past the end of each, not the last alone
    rows = -(-model.height // GROUP_JOBS) * GROUP_JOBS
    ends = tables.first_lane + rows * PAIR_LANES * tables.groups
    columns = aligned_zeros(int(ends.max()), dtype)
    columns[: 2 * first * model.height] = model.job_table(first).ravel()
    jobs = np.zeros(slots + 1, np.int64)  # see node.build_table
    jobs[:n_jobs] = np.arange(n_jobs)
    slot_of = np.zeros((len(tables.groups), n_jobs), np.int64)
    slot_of[0] = np.arange(n_jobs)
    # of the last table, too, whole words are read
    taken = aligned_zeros(2 * slots + TILE_4, dtype)
    # slots without a job, which only the first table has, are never children
    taken[2 * n_jobs : 2 * first] = tables.largest
    alike = np.zeros_like(taken)
    if tables.equal is not None:
        kinds = tables.equal.kinds
        alike[: 2 * n_jobs - 2] = np.repeat(kinds[1:] == kinds[:-1], 2)
    nodes = aligned_zeros(n_jobs * model.node_lanes, dtype)
    nodes[: model.node_lanes] = model.root
    counts = np.zeros(N_COUNTS, np.int64)
    counts[DEPTH] = -1
    return Explorer(
        nodes=nodes,
        scratch=aligned_zeros(model.scratch_lanes, dtype),
        columns=columns,
        taken=taken,
        alike=alike,
        bounds=aligned_zeros(2 * first + TILE_4, dtype),
        jobs=jobs,
        slots=slot_of.ravel(),
        open=np.zeros(n_jobs * tables.words, np.uint64),
        path=np.zeros(n_jobs, np.int64),
        place=np.zeros(n_jobs, np.int64),
        least=np.zeros(n_jobs, np.int64),
        mask=np.zeros(tables.words, np.uint64),
        kept=np.zeros(first, np.int64),
        work=aligned_zeros(getattr(model, "tighten_lanes", 0), dtype),
        closed=np.zeros(n_jobs + 1, np.int64),
        counts=counts,
        found=np.zeros((tables.leaf_capacity, n_jobs + 1), np.int64),
        cost_ints=np.zeros(model.cost_ints, np.int64),
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
