"""Explorers of one session share their work: sibling sets go through a pool.

A busy explorer that sees a hungry one gives away half of the open siblings of its
shallowest open level. Locks are only ever *tried*: whoever finds one taken goes on
with something else, so that a thread that the system puts to sleep holds up nobody.
"""

from __future__ import annotations

import numpy as np

from dpbb.engines.cpu.node import descend, enter, release, settle
from dpbb.engines.cpu.state import (
    DEPTH,
    DONE,
    EXPLORERS,
    HUNGRY,
    JOBS_PER_WORD,
    LOCK,
    STOP,
    TOP,
    UB,
    WAITING,
    Explorer,
    Pool,
    Tables,
)
from dpbb.kernels.compiling import helper
from dpbb.kernels.scalar import (
    atomic_add,
    atomic_load,
    atomic_store,
    compare_exchange,
    ctz,
    popcount,
)

LEAST_GIVEN_JOBS = 5
"""A subtree with fewer jobs left is explored sooner than handed over."""

PATIENCE = 4096
"""Times that an idle explorer looks for work before it lets its thread sleep."""

IDLE, STOPPED, FINISHED = -1, -2, -3


@helper
def try_lock(pool: Pool) -> bool:
    """Take the pool's lock if it is free."""
    if atomic_load(pool.control, LOCK) != 0:
        return False
    locked: bool = compare_exchange(pool.control, LOCK, 0, 1)
    return locked


@helper
def unlock(pool: Pool) -> None:
    """Give the lock back."""
    atomic_store(pool.control, LOCK, 0)


@helper
def push(
    tables: Tables, explorer: Explorer, pool: Pool, depth: int, least: int
) -> None:
    """Put the children in ``explorer.mask`` of the path's node on the pool.

    The caller holds the lock or is alone, and there is room.
    """
    top = atomic_load(pool.control, TOP)
    pool.level[top] = depth
    pool.least[top] = least
    for level in range(depth):
        pool.path[top * tables.n_jobs + level] = explorer.path[level]
    first = tables.first_slot[tables.table_of[depth]]
    mask = top * tables.job_words
    for word in range(tables.job_words):
        pool.mask[mask + word] = np.uint64(0)
    for word in range(tables.words):
        bits = explorer.mask[word]
        while bits != np.uint64(0):
            bit = ctz(bits)
            bits &= bits - np.uint64(1)
            job = explorer.jobs[first + JOBS_PER_WORD * word + bit // 2]
            place = np.uint64(2 * (job % JOBS_PER_WORD) + bit % 2)
            pool.mask[mask + job // JOBS_PER_WORD] |= np.uint64(1) << place
    atomic_store(pool.control, TOP, top + 1)


@helper
def next_open(tables: Tables, explorer: Explorer, first: int, depth: int) -> int:
    """Least level from ``first`` on with open children, depth + 1 if there is none."""
    for level in range(first, depth + 1):
        for word in range(tables.words):
            if explorer.open[level * tables.words + word] != np.uint64(0):
                return level
    return depth + 1


@helper
def split(tables: Tables, explorer: Explorer, level: int, kept: int) -> None:
    """Move all open children of a level but the first ``kept`` to the mask."""
    count = 0
    for word in range(tables.words):
        bits = explorer.open[level * tables.words + word]
        give = np.uint64(0)
        while bits != np.uint64(0):
            rest = bits & (bits - np.uint64(1))
            if count >= kept:
                give |= bits ^ rest
            bits = rest
            count += 1
        explorer.mask[word] = give
        explorer.open[level * tables.words + word] ^= give


@helper
def least_of_mask(tables: Tables, explorer: Explorer, level: int, ub: int) -> int:
    """Least bound of a level's children in the mask; drops those pruned from it."""
    words = tables.words
    for word in range(words):
        at = level * words + word
        bits = explorer.open[at]
        explorer.open[at] = explorer.mask[word]
        explorer.mask[word] = bits
    least = settle(tables, explorer, level, ub)
    for word in range(words):
        at = level * words + word
        bits = explorer.open[at]
        explorer.open[at] = explorer.mask[word]
        explorer.mask[word] = bits
    return least


@helper
def share(tables: Tables, explorer: Explorer, pool: Pool, depth: int, ub: int) -> None:
    """Give half of the shallowest open level to the pool, its later siblings.

    An only sibling is given if deeper levels are open.
    """
    level = next_open(tables, explorer, 0, depth)
    if level > depth or tables.n_jobs - level <= LEAST_GIVEN_JOBS:
        return
    total = 0
    for word in range(tables.words):
        total += popcount(explorer.open[level * tables.words + word])
    if total == 1 and next_open(tables, explorer, level + 1, depth) > depth:
        return
    if not try_lock(pool):
        return
    if atomic_load(pool.control, TOP) < pool.capacity:
        split(tables, explorer, level, total // 2)
        least = least_of_mask(tables, explorer, level, ub)
        push(tables, explorer, pool, level, least)
    unlock(pool)


@helper
def pop(tables: Tables, explorer: Explorer, pool: Pool) -> int:
    """Copy the pool's top to path and mask; the caller holds the lock; its level."""
    top = atomic_load(pool.control, TOP) - 1
    depth: int = pool.level[top]
    for level in range(depth):
        explorer.path[level] = pool.path[top * tables.n_jobs + level]
    for word in range(tables.job_words):
        explorer.mask[word] = pool.mask[top * tables.job_words + word]
    atomic_store(pool.control, TOP, top)
    return depth


@helper
def replay(tables: Tables, explorer: Explorer, depth: int, ub: int) -> None:
    """Go down ``explorer.path`` and open the children of jobs in ``explorer.mask``."""
    words = tables.words
    for level in range(depth):
        for word in range(words):
            explorer.open[level * words + word] = np.uint64(0)
        code = explorer.path[level]
        enter(tables, explorer, level)
        table = tables.table_of[level]
        slot = explorer.slots[table * tables.n_jobs + code // 2]
        descend(tables, explorer, level, slot, code % 2)
    for word in range(words):
        explorer.open[depth * words + word] = np.uint64(0)
    table = tables.table_of[depth]
    for word in range(tables.job_words):
        bits = explorer.mask[word]
        while bits != np.uint64(0):
            bit = ctz(bits)
            bits &= bits - np.uint64(1)
            job = JOBS_PER_WORD * word + bit // 2
            slot = explorer.slots[table * tables.n_jobs + job]
            place = np.uint64(2 * (slot % JOBS_PER_WORD) + bit % 2)
            at = depth * words + slot // JOBS_PER_WORD
            explorer.open[at] |= np.uint64(1) << place
    explorer.least[depth] = settle(tables, explorer, depth, ub)
    enter(tables, explorer, depth)


@helper
def take(
    tables: Tables, explorer: Explorer, pool: Pool, worked: bool, patience: int
) -> int:
    """Find work for an empty explorer.

    A stop is obeyed by who has worked in this slice, so that even the shortest slice
    gets on; or by who finds nothing.

    Returns
    -------
    int
        Level of the siblings taken; IDLE if none came soon, STOPPED, or FINISHED
        when all explorers wait and the pool is empty.
    """
    control = pool.control
    for _ in range(patience):
        top = atomic_load(control, TOP)
        if (worked or top == 0) and atomic_load(control, STOP):
            return STOPPED
        if atomic_load(control, DONE):
            return FINISHED
        if explorer.counts[WAITING] and top == 0:
            continue
        if not try_lock(pool):
            continue
        depth = IDLE
        if atomic_load(control, TOP) > 0:
            depth = pop(tables, explorer, pool)
            if explorer.counts[WAITING]:
                explorer.counts[WAITING] = 0
                atomic_add(control, HUNGRY, -1)
        elif not explorer.counts[WAITING]:
            explorer.counts[WAITING] = 1
            hungry = atomic_add(control, HUNGRY, 1) + 1
            if hungry == atomic_load(control, EXPLORERS):
                atomic_store(control, DONE, 1)
        unlock(pool)
        if depth >= 0:
            replay(tables, explorer, depth, atomic_load(control, UB))
            return depth
    return IDLE


@helper
def unload(tables: Tables, explorer: Explorer, pool: Pool) -> None:
    """Move all open children of an explorer to the pool; the caller is alone."""
    words = tables.words
    depth = explorer.counts[DEPTH]
    for level in range(depth + 1):
        total = 0
        for word in range(words):
            explorer.mask[word] = explorer.open[level * words + word]
            total += popcount(explorer.mask[word])
            explorer.open[level * words + word] = np.uint64(0)
        if total:
            push(tables, explorer, pool, level, explorer.least[level])
    for level in range(depth):
        release(explorer, level)
    explorer.counts[DEPTH] = -1
