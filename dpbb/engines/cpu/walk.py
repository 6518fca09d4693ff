"""Roots in and out: loading walks paths down the tree, exporting writes them out.

A loaded root is bounded like any other node before it is explored, so its path is
walked from the tree's root, pruning on the way; roots come ordered, and neighbors
share the walk of their common prefix. What survives goes to the pool, roots with the
same parent as one sibling set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbb.engines.cpu.explore import least_of_mask, push, record_leaf
from dpbb.engines.cpu.node import descend, enter, open_children, prepare, release
from dpbb.engines.cpu.state import (
    DECOMPOSED,
    DEPTH,
    JOBS_PER_WORD,
    LEAVES,
    N_FOUND,
    TOP,
    Explorer,
    Pool,
    Tables,
)
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.pairs import GROUP_JOBS
from dpbb.kernels.pointers import pointers
from dpbb.kernels.scalar import ctz, pointer_at


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
def load_whole(
    tables: Tables, explorer: Explorer, pool: Pool, root: int, ub: int
) -> None:
    """Load the tree's root, depth ``root`` = 0: without a parent it is visited at once.

    (A literal 0 is a type of its own to Numba, and would compile everything again.)
    """
    if tables.n_jobs == 1:
        explorer.counts[LEAVES] += 1
        explorer.closed[0] += 1
        explorer.found[2 * explorer.counts[N_FOUND] + 1] = 0
        record_leaf(tables, explorer, pool)
        return
    alive = decompose(tables, explorer, root, ub)
    explorer.counts[DECOMPOSED] += 1
    explorer.closed[1] += tables.n_jobs - alive
    if alive:
        for word in range(tables.words):
            explorer.mask[word] = explorer.open[word]
        least = least_of_mask(tables, explorer, root, ub)
        push(tables, explorer, pool, root, least)


@entry
def load_roots(
    tables_in: Tables,
    explorer_in: Explorer,
    pool_in: Pool,
    lane: np.signedinteger[Any],
    depths_in: int,
    digits_in: int,
    rows: int,
    width: int,
    ub: int,
) -> None:
    """Walk to every root of a unit with an idle explorer and put it on the pool.

    Owned ancestors are taken as counted already; those that are not visited, as the
    path is pruned above, are subtracted. The pool has room for every root. Last root
    first, so that the first is on top.

    Parameters
    ----------
    depths_in, digits_in
        Addresses of the contiguous uint16 arrays of a ``WorkUnit`` of this many rows
        and digits a row.
    """
    tables = pointers(tables_in, lane)
    explorer = pointers(explorer_in, lane)
    pool = pointers(pool_in, lane)
    depths = pointer_at(depths_in, np.uint16(0))
    digits = pointer_at(digits_in, np.uint16(0))
    words = tables.words
    below = explorer.counts[DEPTH] + 1  # levels of the walk: 0, the explorer is idle
    decomposed = False  # whether the node at the end of the walk is
    collecting = False  # whether the mask holds siblings at the end of the walk
    last = 0
    for row in range(rows - 1, -1, -1):
        depth = int64(depths[row])
        if depth == 0:
            load_whole(tables, explorer, pool, depth, ub)
            break
        common = 0
        path = row * width
        while (
            common < min(below, depth - 1)
            and digits[path + common] == digits[last + common]
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
        pruned_at = -1
        while True:
            if not decomposed:
                decompose(tables, explorer, below, ub)
                decomposed = True
            slot = nth_slot(tables, explorer, below, int64(digits[path + below]))
            bits = explorer.open[below * words + slot // JOBS_PER_WORD]
            bits >>= np.uint64(2 * (slot % JOBS_PER_WORD))
            bits &= np.uint64(3)
            if bits == np.uint64(0):
                pruned_at = below + 1
                break
            if below == depth - 1:
                break
            descend(tables, explorer, below, slot, int64(bits >> np.uint64(1)))
            below += 1
            decomposed = False
        last = path
        if pruned_at >= 0:
            explorer.closed[depth] += 1
            owned = depth
            while owned > 0 and digits[path + owned - 1] == 0:
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
        push(tables, explorer, pool, below, least_of_mask(tables, explorer, below, ub))
    while below > 0:
        below -= 1
        release(explorer, below)
    explorer.counts[DEPTH] = -1


@entry
def write_paths(
    n_jobs: int,
    pool_in: Pool,
    width: int,
    depths_in: int,
    digits_in: int,
    set_in: int,
    bit_in: int,
) -> None:
    """Write out the roots of the pool, unordered.

    Parameters
    ----------
    width
        Digits of a row, at least the depth of every root.
    depths_in, digits_in
        Addresses of contiguous uint16 arrays as in ``WorkUnit``, zeros.
    set_in, bit_in
        Addresses of int64 arrays: each root's sibling set and its bit in the mask.
    """
    pool = pointers(pool_in, np.int64(0))
    depths = pointer_at(depths_in, np.uint16(0))
    digits = pointer_at(digits_in, np.uint16(0))
    sets = pointer_at(set_in, np.int64(0))
    bit_of = pointer_at(bit_in, np.int64(0))
    words = (n_jobs + JOBS_PER_WORD - 1) // JOBS_PER_WORD
    rank = np.empty(n_jobs, np.int64)
    row = 0
    for index in range(pool.control[TOP]):
        siblings = np.uint64(0)
        for word in range(words):
            siblings |= pool.mask[index * words + word]
        if siblings == np.uint64(0):  # all given away: it has no row to write to
            continue
        depth = pool.level[index]
        for job in range(n_jobs):
            rank[job] = job
        first = row * width
        for level in range(depth):
            taken = pool.path[index * n_jobs + level] // 2
            digits[first + level] = rank[taken]
            for job in range(taken + 1, n_jobs):
                rank[job] -= 1
        for word in range(words):
            bits = pool.mask[index * words + word]
            while bits != np.uint64(0):
                bit = ctz(bits)
                bits &= bits - np.uint64(1)
                path = row * width
                for level in range(depth):
                    digits[path + level] = digits[first + level]
                digits[path + depth] = rank[JOBS_PER_WORD * word + bit // 2]
                depths[row] = depth + 1
                sets[row] = index
                bit_of[row] = 64 * word + bit
                row += 1
