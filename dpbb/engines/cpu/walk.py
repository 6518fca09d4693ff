"""Roots in and out: loading walks paths down the tree, exporting writes them out.

A loaded root is bounded like any other node before it is explored, so its path is
walked from the tree's root, pruning on the way; roots come ordered, and neighbors
share the walk of their common prefix. What survives goes to the pool, roots with the
same parent as one sibling set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.cpu.compilation import VERSION, entry, helper
from dpbb.engines.cpu.explore import record_leaf
from dpbb.engines.cpu.node import descend, enter, open_children, prepare, release
from dpbb.engines.cpu.pointers import explorer_at, pool_at, tables_at
from dpbb.engines.cpu.sharing import least_of_mask, push
from dpbb.engines.cpu.state import (
    DECOMPOSED,
    DEPTH,
    GROUP_JOBS,
    JOBS_PER_WORD,
    LEAVES,
    N_FOUND,
    TOP,
)
from dpbb.kernels.simd import ctz, popcount

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.engines.cpu.state import Explorer, Pool, Tables


@helper
def nth_slot(tables: Tables, explorer: Explorer, depth: int, digit: int) -> int:
    """Slot of the unscheduled job with this rank."""
    table = tables.table_of[depth]
    first = tables.first_slot[table]
    for slot in range(GROUP_JOBS * tables.groups[table]):
        if explorer.taken[2 * (first + slot)] == 0:
            if digit == 0:
                return slot
            digit -= 1
    return -1


@helper
def decompose(tables: Tables, explorer: Explorer, depth: int, ub: int) -> int:
    """Bound and open the children of the path's node; number of open ones."""
    prepare(tables, explorer, depth)
    alive = open_children(tables, explorer, depth, ub)
    if alive:
        enter(tables, explorer, depth)
    return alive


@helper
def load_whole(tables: Tables, explorer: Explorer, pool: Pool, ub: int) -> None:
    """Load the tree's root: it has no parent, so it is visited at once."""
    if tables.n_jobs == 1:
        explorer.counts[LEAVES] += 1
        explorer.closed[0] += 1
        explorer.found[2 * explorer.counts[N_FOUND] + 1] = 0
        record_leaf(tables, explorer, pool)
        return
    alive = decompose(tables, explorer, 0, ub)
    explorer.counts[DECOMPOSED] += 1
    explorer.closed[1] += tables.n_jobs - alive
    if alive:
        for word in range(tables.words):
            explorer.mask[word] = explorer.open[word]
        push(tables, explorer, pool, 0, least_of_mask(tables, explorer, 0, ub))


@entry
def load_roots(
    all_tables: Tables,
    own: Explorer,
    shared: Pool,
    depths: NDArray[np.uint16],
    digits: NDArray[np.uint16],
    ub: int,
    version: int = VERSION,
) -> None:
    """Walk to every root of a unit with an idle explorer and put it on the pool.

    Owned ancestors are taken as counted already; those that are not visited, as the
    path is pruned above, are subtracted. The pool has room for every root. Last root
    first, so that the first is on top.
    """
    tables = tables_at(all_tables)
    explorer = explorer_at(own)
    pool = pool_at(shared)
    words = tables.words
    below = 0  # levels of the walk
    decomposed = False  # whether the node at the end of the walk is
    collecting = False  # whether the mask holds siblings at the end of the walk
    last = 0
    for row in range(len(depths) - 1, -1, -1):
        depth = np.int64(depths[row])
        if depth == 0:
            load_whole(tables, explorer, pool, ub)
            break
        common = 0
        while (
            common < min(below, depth - 1) and digits[row, common] == digits[last, common]
        ):
            common += 1
        if collecting and not (common == below and depth == below + 1):
            least = least_of_mask(tables, explorer, below, ub)
            push(tables, explorer, pool, below, least)
            collecting = False
        while below > common:
            below -= 1
            release(explorer, below)
            decomposed = True
        pruned_at = np.int64(-1)
        while True:
            if not decomposed:
                decompose(tables, explorer, below, ub)
                decomposed = True
            slot = nth_slot(tables, explorer, below, np.int64(digits[row, below]))
            bits = explorer.open[below * words + slot // JOBS_PER_WORD]
            bits >>= np.uint64(2 * (slot % JOBS_PER_WORD))
            bits &= np.uint64(3)
            if bits == np.uint64(0):
                pruned_at = below + 1
                break
            if below == depth - 1:
                break
            descend(tables, explorer, below, slot, np.int64(bits >> np.uint64(1)))
            below += 1
            decomposed = False
        last = row
        if pruned_at >= 0:
            explorer.closed[depth] += 1
            owned = depth
            while owned > 0 and digits[row, owned - 1] == 0:
                owned -= 1
            explorer.counts[DECOMPOSED] -= depth - max(pruned_at, owned)
            continue
        if not collecting:
            for word in range(words):
                explorer.mask[word] = np.uint64(0)
            collecting = True
        explorer.mask[slot // JOBS_PER_WORD] |= bits << np.uint64(
            2 * (slot % JOBS_PER_WORD)
        )
    if collecting:
        push(
            tables, explorer, pool, below, least_of_mask(tables, explorer, below, ub)
        )
    while below > 0:
        below -= 1
        release(explorer, below)
    explorer.counts[DEPTH] = -1


@entry
def close_pruned(
    own: Explorer, pool: Pool, ub: int, version: int = VERSION
) -> tuple[int, int]:
    """Close the pool's sibling sets that a fallen ub prunes.

    Returns
    -------
    n_open, least : int
        Number of roots of the pool and their least bound, -1 if there are none.
    """
    kept = 0
    n_open = 0
    least = np.int64(-1)
    for index in range(pool.control[TOP]):
        size = 0
        for word in range(pool.mask.shape[1]):
            size += popcount(pool.mask[index, word])
        depth = pool.level[index]
        if pool.least[index] >= ub:
            own.closed[depth + 1] += size
            continue
        if size == 0:
            continue
        if least < 0 or pool.least[index] < least:
            least = pool.least[index]
        n_open += size
        if kept < index:
            pool.level[kept] = depth
            pool.least[kept] = pool.least[index]
            pool.path[kept, :depth] = pool.path[index, :depth]
            pool.mask[kept, :] = pool.mask[index, :]
        kept += 1
    pool.control[TOP] = kept
    return n_open, least


@entry
def export_roots(
    n_jobs: int, pool: Pool, n_open: int, width: int, version: int = VERSION
) -> tuple[Any, Any, Any, Any]:
    """All roots of the pool, unordered.

    Returns
    -------
    depths : ndarray of uint16, shape (n_open,)
    digits : ndarray of uint16, shape (n_open, width)
    index, bit : ndarray of int64, shape (n_open,)
        Where each root is: sibling set, and bit of its mask.
    """
    depths = np.zeros(n_open, np.uint16)
    digits = np.zeros((n_open, width), np.uint16)
    where = np.zeros(n_open, np.int64)
    place = np.zeros(n_open, np.int64)
    rank = np.zeros(n_jobs, np.int64)
    parent = np.zeros(n_jobs, np.uint16)
    row = 0
    for index in range(pool.control[TOP]):
        depth = pool.level[index]
        for job in range(n_jobs):
            rank[job] = job
        for level in range(depth):
            taken = pool.path[index, level] // 2
            parent[level] = rank[taken]
            for job in range(taken + 1, n_jobs):
                rank[job] -= 1
        for word in range(pool.mask.shape[1]):
            bits = pool.mask[index, word]
            while bits != np.uint64(0):
                bit = ctz(bits)
                bits &= bits - np.uint64(1)
                depths[row] = depth + 1
                digits[row, :depth] = parent[:depth]
                digits[row, depth] = rank[JOBS_PER_WORD * word + bit // 2]
                where[row] = index
                place[row] = 64 * word + bit
                row += 1
    return depths, digits, where, place


@entry
def remove_roots(
    pool: Pool,
    where: NDArray[np.int64],
    place: NDArray[np.int64],
    version: int = VERSION,
) -> None:
    """Take roots, as ``export_roots`` names them, off the pool."""
    for row in range(len(where)):
        bit = np.uint64(1) << np.uint64(place[row] % 64)
        pool.mask[where[row], place[row] // 64] &= ~bit
