"""The depth-first search of one explorer: the loop that takes all the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.cpu.node import descend, enter, open_children, release, settle
from dpbb.engines.cpu.sharing import STOPPED, share, take, unload
from dpbb.engines.cpu.state import (
    DECOMPOSED,
    DEPTH,
    HUNGRY,
    JOBS_PER_WORD,
    LEAVES,
    N_FOUND,
    POLL,
    STOP,
    TOP,
    UB,
)
from dpbb.kernels import models
from dpbb.kernels.compiling import entry, helper
from dpbb.kernels.pointers import pointers
from dpbb.kernels.scalar import (
    atomic_load,
    atomic_min,
    atomic_store,
    ctz,
    popcount,
)

if TYPE_CHECKING:
    from dpbb.engines.cpu.state import Explorer, Pool, Tables


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
def follow_ub(
    tables: Tables, explorer: Explorer, pool: Pool, depth: int, ub: int
) -> int:
    """Return the current upper bound; if it has fallen, prune the stack again."""
    latest: int = atomic_load(pool.control, UB)
    if latest < ub:
        refilter(tables, explorer, depth, latest)
    return min(latest, ub)


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


@entry
def explore(
    tables_in: Tables,
    explorer_in: Explorer,
    pool_in: Pool,
    lane: np.signedinteger[Any],
) -> int:
    """Search until there is no work, or a stop.

    Returns
    -------
    int
        IDLE: nothing to do at the moment, call again; STOPPED; FINISHED.
    """
    tables = pointers(tables_in, lane)
    explorer = pointers(explorer_in, lane)
    pool = pointers(pool_in, lane)
    n = tables.n_jobs
    words = tables.words
    control = pool.control
    poll = control[POLL]
    depth = explorer.counts[DEPTH]
    ub = atomic_load(control, UB)
    nodes = 0
    code = STOPPED
    while True:
        if depth < 0:
            depth = take(tables, explorer, pool, nodes > 0)
            if depth < 0:
                code = depth
                depth = -1
                break
            ub = atomic_load(control, UB)
        word = 0
        bits = explorer.open[depth * words]
        stopped = False
        while True:
            while bits == np.uint64(0):
                word += 1
                if word == words:
                    depth -= 1
                    if depth < 0:
                        break
                    release(explorer, depth)
                    word = 0
                bits = explorer.open[depth * words + word]
            if depth < 0:
                break
            bit = ctz(bits)
            bits &= bits - np.uint64(1)
            explorer.open[depth * words + word] = bits
            slot = JOBS_PER_WORD * word + (bit >> 1)
            side = bit & 1
            if depth == n - 2:
                first = tables.first_slot[tables.table_of[depth]]
                job = explorer.jobs[first + slot]
                visit_leaf(tables, explorer, pool, job, side)
                if explorer.counts[N_FOUND] + 1 == tables.leaf_capacity:
                    atomic_store(control, STOP, 1)
                    stopped = True
                    break
                ub = follow_ub(tables, explorer, pool, depth, ub)
                bits = explorer.open[depth * words + word]
                continue
            descend(tables, explorer, depth, slot, side)
            alive = open_children(tables, explorer, depth + 1, ub)
            nodes += 1
            shut = n - depth - 1 - alive
            explorer.closed[depth + 2] += shut
            if alive:
                depth += 1
                enter(tables, explorer, depth)
                word = 0
                bits = explorer.open[depth * words]
            else:
                release(explorer, depth)
            if nodes & poll == 0:
                if atomic_load(control, STOP):
                    stopped = True
                    break
                ub = follow_ub(tables, explorer, pool, depth, ub)
                if atomic_load(control, HUNGRY) > atomic_load(control, TOP):
                    share(tables, explorer, pool, depth, ub)
                bits = explorer.open[depth * words + word]
        if stopped:
            break
    explorer.counts[DEPTH] = depth
    explorer.counts[DECOMPOSED] += nodes
    return code


@entry
def settle_stack(
    tables_in: Tables,
    explorer_in: Explorer,
    lane: np.signedinteger[Any],
    ub: int,
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
    tables_in: Tables,
    explorer_in: Explorer,
    pool_in: Pool,
    lane: np.signedinteger[Any],
) -> None:
    """Move all open roots of a stack to the pool, bounded by ``settle_stack``."""
    unload(
        pointers(tables_in, lane), pointers(explorer_in, lane), pointers(pool_in, lane)
    )
