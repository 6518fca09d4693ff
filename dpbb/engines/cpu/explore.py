"""The depth-first search of explorers, and how those of one session share their work.

A busy explorer that sees a hungry one gives away half of the open siblings of its
shallowest open level: sets of siblings go through a pool. Locks are only ever *tried*:
whoever finds one taken goes on with something else, so that a thread that the system
puts to sleep holds up nobody.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpbb.engines.cpu.node import descend, enter, open_children, release, settle
from dpbb.engines.cpu.state import (
    DECOMPOSED,
    DEPTH,
    DONE,
    EXPLORERS,
    HUNGRY,
    JOBS_PER_WORD,
    LEAVES,
    LOCK,
    N_FOUND,
    POLL,
    STOP,
    TOP,
    UB,
    WAITING,
    Explorer,
    Pool,
    Tables,
)
from dpbb.kernels import models
from dpbb.kernels.compiling import entry, helper, inlined, int64
from dpbb.kernels.pointers import pointers
from dpbb.kernels.scalar import (
    atomic_add,
    atomic_load,
    atomic_min,
    atomic_store,
    compare_exchange,
    ctz,
    popcount,
)

MOST_JOBS_BY_TURNS = 64
"""Up to this many jobs two explorers of a thread take turns.

With 100 or 200 jobs a node has work enough for the processor, and a second explorer's
stack only takes room in its caches: measured 2 to 6 % slower.
"""

LEAST_GIVEN_JOBS = 5
"""A subtree with fewer jobs left is explored sooner than handed over."""

PATIENCE = 4096
"""Times that an idle explorer looks for work before it lets its thread sleep."""

IDLE, STOPPED, FINISHED = -1, -2, -3


# -- sharing ---------------------------------------------------------------------------


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
    level = next_open(tables, explorer, int64(0), depth)
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


# -- the search ------------------------------------------------------------------------


@helper
def refilter(tables: Tables, explorer: Explorer, depth: int, ub: int) -> None:
    """Bound all open levels again: close what a lower ub prunes, note least bounds."""
    for level in range(depth + 1):
        is_open = False
        for word in range(tables.words):
            if explorer.open[level * tables.words + word] != np.uint64(0):
                is_open = True
        if is_open:
            explorer.least[level] = settle(tables, explorer, level, ub)


@helper
def visit_leaf(
    tables: Tables, explorer: Explorer, pool: Pool, job: int, side: int
) -> None:
    """Evaluate the leaf below the path's node at depth n - 2 that takes ``job``."""
    n = tables.n_jobs
    explorer.counts[LEAVES] += 1
    explorer.closed[n - 1] += 1
    row = explorer.counts[N_FOUND] * (n + 1)
    # path and job in their places; the job that is left over in the middle
    left_over = n * (n - 1) // 2
    ahead = 1
    behind = n
    for level in range(n - 1):
        code = explorer.path[level] if level < n - 2 else 2 * job + side
        left_over -= code // 2
        if code % 2:
            explorer.found[row + behind] = code // 2
            behind -= 1
        else:
            explorer.found[row + ahead] = code // 2
            ahead += 1
    explorer.found[row + ahead] = left_over
    record_leaf(tables, explorer, pool)


@helper
def record_leaf(tables: Tables, explorer: Explorer, pool: Pool) -> None:
    """Keep the permutation in the next row of ``explorer.found`` if it is better."""
    n = tables.n_jobs
    count = explorer.counts[N_FOUND]
    row = count * (n + 1)
    if tables.keeps_ub:
        return
    cost = models.cost(tables.model, explorer.found, row + 1, explorer.cost_ints)
    # a better leaf lowers ub at once, for all explorers
    if cost >= atomic_min(pool.control, UB, cost + tables.all_optima):
        return
    explorer.found[row] = cost
    if count and (not tables.all_optima or cost < explorer.found[0]):
        for position in range(n + 1):
            explorer.found[position] = explorer.found[row + position]
        count = 0
    explorer.counts[N_FOUND] = count + 1


class Place(NamedTuple):
    """Where an explorer is between two of its turns."""

    depth: int  # of the path's node; negative: no work
    word: int  # of its mask of open children
    bits: np.uint64  # those of this word that are still open
    looked: int  # open children of the child bounded last, LEAF or NOTHING


NOTHING, LEAF = -1, -2


@inlined
def place_at(tables: Tables, explorer: Explorer, depth: int, word: int) -> Place:
    """Return the place at a word of a level, with no child bounded."""
    bits = np.uint64(0)
    if depth >= 0:
        bits = explorer.open[depth * tables.words + word]
    return Place(depth, word, bits, int64(NOTHING))


@inlined
def follow(tables: Tables, explorer: Explorer, place: Place) -> Place:
    """Go down to the child that was bounded last if it has open children."""
    depth, word, bits, looked = place
    if looked >= 0:
        explorer.closed[depth + 2] += tables.n_jobs - depth - 1 - looked
        if looked:
            depth += 1
            enter(tables, explorer, depth)
            word = int64(0)
            bits = explorer.open[depth * tables.words]
        else:
            release(explorer, depth)
    return Place(depth, word, bits, int64(NOTHING))


@inlined
def turn(
    tables: Tables, explorer: Explorer, pool: Pool, place: Place, ub: int
) -> Place:
    """Follow the child bounded last, and bound the children of the next open one."""
    depth, word, bits, _ = follow(tables, explorer, place)
    words = tables.words
    while bits == np.uint64(0):
        word += 1
        if word == words:
            depth -= 1
            if depth < 0:
                return Place(depth, word, bits, int64(NOTHING))
            release(explorer, depth)
            word = int64(0)
        bits = explorer.open[depth * words + word]
    bit = ctz(bits)
    bits &= bits - np.uint64(1)
    explorer.open[depth * words + word] = bits
    slot = JOBS_PER_WORD * word + (bit >> 1)
    side = bit & 1
    if depth == tables.n_jobs - 2:
        first = tables.first_slot[tables.table_of[depth]]
        job = explorer.jobs[first + slot]
        visit_leaf(tables, explorer, pool, job, side)
        return Place(depth, word, bits, int64(LEAF))
    explorer.counts[DECOMPOSED] += 1
    descend(tables, explorer, depth, slot, side)
    looked = open_children(tables, explorer, depth + 1, ub)
    return Place(depth, word, bits, looked)


@entry
def explore(
    tables_in: Tables,
    first_in: Explorer,
    second_in: Explorer,
    pool_in: Pool,
    lane: np.signedinteger[Any],
) -> int:
    """Search until there is no work, or a stop.

    Two explorers take turns, or the first works alone where there are more than
    ``MOST_JOBS_BY_TURNS`` jobs. What one finds is looked at only when the other has had
    its turn: the processor works on both at once, where the long chain of steps that
    bounds a node, and the branches that depend on it, would leave it waiting.

    Returns
    -------
    int
        IDLE: nothing to do at the moment, call again; STOPPED; FINISHED.
    """
    tables = pointers(tables_in, lane)
    first = pointers(first_in, lane)
    second = pointers(second_in, lane)
    pool = pointers(pool_in, lane)
    control = pool.control
    poll = control[POLL]
    ub = atomic_load(control, UB)
    before = first.counts[DECOMPOSED] + second.counts[DECOMPOSED]
    turns = 0
    one = place_at(tables, first, first.counts[DEPTH], int64(0))
    two = place_at(tables, second, second.counts[DEPTH], int64(0))
    while True:
        if one.depth >= 0:
            one = turn(tables, first, pool, one, ub)
        if two.depth >= 0:
            two = turn(tables, second, pool, two, ub)
        turns += 1
        if (
            turns & poll
            and min(one.looked, two.looked) != LEAF
            and max(one.depth, two.depth) >= 0
        ):
            continue
        depth1, word1, _, _ = follow(tables, first, one)
        depth2, word2, _, _ = follow(tables, second, two)
        worked = first.counts[DECOMPOSED] + second.counts[DECOMPOSED] > before
        code = STOPPED
        if max(first.counts[N_FOUND], second.counts[N_FOUND]) + 1 == (
            tables.leaf_capacity
        ):
            atomic_store(control, STOP, 1)
            break
        if worked and atomic_load(control, STOP):
            break
        latest = atomic_load(control, UB)
        if latest < ub:
            refilter(tables, first, depth1, latest)
            refilter(tables, second, depth2, latest)
            ub = latest
        if depth1 < 0:
            depth1 = take(tables, first, pool, worked, int64(1))
            word1 = int64(0)
        if depth2 < 0 and tables.n_jobs <= MOST_JOBS_BY_TURNS:
            depth2 = take(tables, second, pool, worked, int64(1))
            word2 = int64(0)
        if max(depth1, depth2) < 0:
            depth1 = take(tables, first, pool, worked, int64(PATIENCE))
            if depth1 < 0:
                code = depth1
                break
        if atomic_load(control, HUNGRY) > atomic_load(control, TOP):
            share(tables, first, pool, depth1, ub)
            share(tables, second, pool, depth2, ub)
        one = place_at(tables, first, depth1, word1)
        two = place_at(tables, second, depth2, word2)
    first.counts[DEPTH] = max(depth1, -1)
    second.counts[DEPTH] = max(depth2, -1)
    return code


@entry
def settle_stack(
    tables_in: Tables, explorer_in: Explorer, lane: np.signedinteger[Any], ub: int
) -> tuple[int, int]:
    """Bound the open levels of a stack again.

    Returns
    -------
    n_open, least : int
        Number of open roots of the stack and their least bound, -1 if none.
    """
    tables = pointers(tables_in, lane)
    explorer = pointers(explorer_in, lane)
    depth = explorer.counts[DEPTH]
    refilter(tables, explorer, depth, ub)
    n_open = 0
    least = -1
    for level in range(depth + 1):
        here = 0
        for word in range(tables.words):
            here += popcount(explorer.open[level * tables.words + word])
        if here and (least < 0 or explorer.least[level] < least):
            least = explorer.least[level]
        n_open += here
    return n_open, least


@entry
def unload_stack(
    tables_in: Tables, explorer_in: Explorer, pool_in: Pool, lane: np.signedinteger[Any]
) -> None:
    """Move all open roots of a stack to the pool, bounded by ``settle_stack``."""
    unload(
        pointers(tables_in, lane), pointers(explorer_in, lane), pointers(pool_in, lane)
    )
