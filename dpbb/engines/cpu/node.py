"""One node at a time: step to a child, bound its children on both sides, choose.

LB1 of the child that appends job j: e_0 = F_0, e_k = max(e_{k-1} + p_{j,k-1}, F_k),
LB = max_k (e_k + R_k + B_k), for all jobs of a table side by side; source: Lageweg,
Lenstra and Rinnooy Kan, Operations Research 26(1), 1978. Children of both sides are
bounded in one pass, see "Pairs" in ``dpbb.engines.cpu.state``. The twin in NumPy is
``dpbb.flowshop.bounds``, that of the rules ``dpbb.tree.branching``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpbb.engines.cpu.compilation import helper, inlined, int64
from dpbb.engines.cpu.state import GROUP_JOBS, PAIR_LANES
from dpbb.kernels.scalar import pointer_to, popcount
from dpbb.kernels.simd import (
    Vector,
    blend,
    copy_transposed,
    last_pair,
    less,
    load,
    load_pair,
    maximum,
    minimum,
    reduce_min,
    reduce_pairs,
    reverse,
    scan_max_pairs,
    splat,
    store,
    zeros,
)

if TYPE_CHECKING:
    from dpbb.engines.cpu.state import Explorer, Tables

FRONT_BITS = np.uint64(0x5555555555555555)

COUNT_SHIFT = 44
"""Sums of differences of bounds stay below 2**44: the count of children goes above."""

PAIR = 2
TILE_2, TILE_4 = 2 * PAIR_LANES, 4 * PAIR_LANES


@inlined
def descend(
    tables: Tables, explorer: Explorer, depth: int, slot: int, side: int
) -> None:
    """Step from the node at ``depth`` to the child of a slot, ready to bound it.

    The child's front is a max-plus prefix over machines: F'_k = S_{k+1} + max_{i<=k}
    (F_i - S_i) with S the job's prefix sums, log2 steps a vector instead of m.
    """
    table = tables.table_of[depth]
    job = explorer.jobs[tables.first_slot[table] + slot]
    explorer.path[depth] = 2 * job + side
    below = tables.table_of[depth + 1]
    place = tables.first_slot[below] + explorer.slots[below * tables.n_jobs + job]
    explorer.place[depth] = place
    pair = zeros(explorer.real, PAIR)
    store(explorer.taken, 2 * place, splat(tables.largest, pair))
    real = load(explorer.real, 2 * depth, pair)
    store(explorer.real, 2 * depth + 2, real | load(tables.sides, 2 * side, pair))
    like = zeros(explorer.fronts, PAIR_LANES)
    real_front = load_pair(explorer.real, 2 * depth, like)
    moved = load_pair(tables.sides, 2 * side, like)
    row = tables.row
    old = depth * row
    new = old + row
    step = job * (row + PAIR_LANES)
    shifted = job * row
    carry = splat(-tables.largest, like)
    for column in range(0, row, PAIR_LANES):
        front = load(explorer.fronts, old + column, like)
        latest = scan_max_pairs(
            (front & real_front) - load(tables.steps, step + column, like)
        )
        reach = maximum(latest, carry)
        carry = maximum(last_pair(latest), carry)
        after = reach + load(tables.steps, step + column + 2, like)
        front = front ^ ((front ^ after) & moved)
        store(explorer.fronts, new + column, front)
        mirrored = row - PAIR_LANES - column
        remain = load(explorer.remain, old + mirrored, like) - load(
            tables.shifted, shifted + mirrored, like
        )
        store(explorer.remain, new + mirrored, remain)
        store(explorer.exits, mirrored, remain + reverse(front))


@inlined
def prepare(tables: Tables, explorer: Explorer, depth: int) -> None:
    """Make the path's node at ``depth`` ready to be bounded again."""
    like = zeros(explorer.fronts, PAIR_LANES)
    row = tables.row
    for column in range(0, row, PAIR_LANES):
        mirrored = row - PAIR_LANES - column
        front = load(explorer.fronts, depth * row + column, like)
        remain = load(explorer.remain, depth * row + mirrored, like)
        store(explorer.exits, mirrored, remain + reverse(front))


@inlined
def release(explorer: Explorer, depth: int) -> None:
    """Undo the marking of the child taken at ``depth``."""
    store(explorer.taken, 2 * explorer.place[depth], zeros(explorer.taken, PAIR))


@inlined
def tile_bounds(
    tables: Tables,
    explorer: Explorer,
    depth: int,
    start: int,
    stride: int,
    like: Vector,
) -> Vector:
    """Bounds of as many children as a vector holds, scheduled jobs included.

    ``start`` is the place of the tile's first column for machine 0.
    """
    entry = like
    bound = like
    front = depth * tables.row
    back = tables.row - 2 * tables.n_machines
    for _ in range(tables.n_machines):
        entry = maximum(entry, load_pair(explorer.fronts, front, like))
        bound = maximum(bound, entry + load_pair(explorer.exits, back, like))
        entry = entry + load(explorer.columns, start, like)
        start += stride
        front += 2
        back += 2
    return bound


@inlined
def decisive(tables: Tables, like: Vector, least: Vector) -> Vector:
    """Vector that bounds must be below for a child to count in the choice of side.

    MinMin counts children of the least bound, MinBranch those below branching_ub,
    MaxSum none; one comparison for all rules keeps branches out of the hot loop.
    """
    return (least & splat(tables.least_counts, like)) + splat(tables.threshold, like)


@inlined
def preference(bounds: Vector, limit: Vector) -> int:
    """Sort key of the front less that of the back, for a tile; negative: back.

    The back's number of decisive children less the front's comes first, then the sum
    of bounds of the front's children less that of the back's.
    """
    counted = less(bounds, limit)
    count = popcount(counted & ~FRONT_BITS) - popcount(counted & FRONT_BITS)
    key: int = (count << COUNT_SHIFT) + reduce_pairs(bounds)
    return key


@inlined
def chosen_bits(tables: Tables, depth: int, key: int) -> np.uint64:
    """Bits of the child set to take."""
    back = np.uint64(key) >> np.uint64(63)
    if tables.fixed_side >= 0:
        back = np.uint64(tables.fixed_side if tables.fixed_side < 2 else depth & 1)
    return FRONT_BITS << back


@inlined
def open_tile(
    tables: Tables, explorer: Explorer, depth: int, ub: int, table: int, like: Vector
) -> np.uint64:
    """``open_children`` for a table of one tile, bounds in registers."""
    start = tables.first_time[table]
    bounds = tile_bounds(
        tables, explorer, depth, start, 2 * GROUP_JOBS * tables.groups[table], like
    )
    taken = load(explorer.taken, 2 * tables.first_slot[table], like)
    bounds = maximum(bounds, taken)
    least = splat(reduce_min(bounds), like)
    key = preference(bounds, decisive(tables, like, least))
    bits = chosen_bits(tables, depth, key)
    alive: np.uint64 = less(bounds, splat(ub, like)) & bits
    explorer.open[depth * tables.words] = alive
    return alive


@inlined
def bound_tile(
    tables: Tables, explorer: Explorer, depth: int, table: int, group: int, like: Vector
) -> Vector:
    """Bounds of the tile that starts with a group, to memory and as a value."""
    stride = 2 * GROUP_JOBS * tables.groups[table]
    lane = 2 * GROUP_JOBS * group
    bounds = tile_bounds(
        tables, explorer, depth, tables.first_time[table] + lane, stride, like
    )
    taken = load(explorer.taken, 2 * tables.first_slot[table] + lane, like)
    bounds = maximum(bounds, taken)
    store(explorer.bounds, lane, bounds)
    return bounds


@helper
def open_many(
    tables: Tables, explorer: Explorer, depth: int, ub: int, table: int
) -> int:
    """``open_children`` for a table of any size; number of open children."""
    one = zeros(explorer.fronts, PAIR_LANES)
    two = zeros(explorer.fronts, TILE_2)
    four = zeros(explorer.fronts, TILE_4)
    groups = tables.groups[table]
    whole = groups // 4 * 4
    least = tables.largest
    if whole:
        lows = splat(least, four)
        for group in range(0, whole, 4):
            lows = minimum(
                lows, bound_tile(tables, explorer, depth, table, group, four)
            )
        least = min(least, reduce_min(lows))
    tail = whole
    if groups & 2:
        lows2 = bound_tile(tables, explorer, depth, table, tail, two)
        least = min(least, reduce_min(lows2))
        tail += 2
    if groups & 1:
        lows1 = bound_tile(tables, explorer, depth, table, tail, one)
        least = min(least, reduce_min(lows1))

    words = tables.words
    tail += groups & 1
    while tail & 3:  # whole words: no child in the rest
        store(explorer.bounds, 2 * GROUP_JOBS * tail, splat(tables.largest, one))
        tail += 1
    counting = decisive(tables, four, splat(least, four))
    limit = splat(ub, four)
    key = 0
    first = depth * words
    used = tail // 4
    for word in range(used):
        bounds = load(explorer.bounds, word * TILE_4, four)
        key += preference(bounds, counting)
        explorer.open[first + word] = less(bounds, limit)
    bits = chosen_bits(tables, depth, key)
    alive = 0
    for word in range(used):
        kept = explorer.open[first + word] & bits
        explorer.open[first + word] = kept
        alive += popcount(kept)
    for word in range(used, words):
        explorer.open[first + word] = np.uint64(0)
    return alive


@inlined
def open_children(tables: Tables, explorer: Explorer, depth: int, ub: int) -> int:
    """Bound the children of the path's node and open those below ``ub``.

    Returns
    -------
    int
        Number of open children. Their bits are in ``explorer.open``.
    """
    table = tables.table_of[depth]
    if tables.groups[table] == 2:
        two = zeros(explorer.fronts, TILE_2)
        alive: int = popcount(open_tile(tables, explorer, depth, ub, table, two))
        for word in range(1, tables.words):
            explorer.open[depth * tables.words + word] = np.uint64(0)
        return alive
    return open_many(tables, explorer, depth, ub, table)


@helper
def build_table(tables: Tables, explorer: Explorer, depth: int, table: int) -> None:
    """Copy the columns of the jobs that are unscheduled at ``depth`` to a table.

    Whole squares of ``GROUP_JOBS`` jobs and machines are copied. Slots past the last
    job get columns that are never looked at, and machines past the last one go where
    the next table begins, which is built after this one.
    """
    source = tables.table_of[depth]
    source_slot = tables.first_slot[source]
    target_slot = tables.first_slot[table]
    slot = 0
    for old in range(GROUP_JOBS * tables.groups[source]):
        job = explorer.jobs[source_slot + old]
        if explorer.taken[2 * (source_slot + old)] == 0:
            explorer.jobs[target_slot + slot] = job
            explorer.slots[table * tables.n_jobs + job] = slot
            slot += 1
    like = zeros(explorer.columns, PAIR_LANES)
    groups = tables.groups[table]
    stride = PAIR_LANES * groups
    shift = tables.row - 2 * tables.n_machines
    for group in range(groups):
        jobs = pointer_to(explorer.jobs, target_slot + GROUP_JOBS * group)
        start = tables.first_time[table] + PAIR_LANES * group
        for machine in range(0, tables.n_machines, GROUP_JOBS):
            copy_transposed(
                tables.shifted,
                jobs,
                tables.row,
                shift + 2 * machine,
                explorer.columns,
                start + machine * stride,
                stride,
                like,
            )


@inlined
def enter(tables: Tables, explorer: Explorer, depth: int) -> None:
    """Build the smaller job table that children of this depth use, if one is due."""
    table = tables.build_at[depth]
    if table >= 0:
        build_table(tables, explorer, depth, table)


@helper
def settle(tables: Tables, explorer: Explorer, depth: int, ub: int) -> int:
    """Bound a level again: close open children at or above ``ub``.

    Returns
    -------
    int
        Least bound of the children that stay open, ``tables.largest`` if none does.
    """
    prepare(tables, explorer, depth)
    like = zeros(explorer.fronts, PAIR_LANES)
    table = tables.table_of[depth]
    groups = tables.groups[table]
    limit = splat(ub, like)
    nothing = splat(tables.largest, like)
    lows = nothing
    shut = 0
    for group in range(groups):
        at = depth * tables.words + group // 4
        shift = np.uint64(PAIR_LANES * (group & 3))
        word = explorer.open[at]
        old = (word >> shift) & np.uint64(0xFFFF)
        if old == np.uint64(0):
            continue
        start = tables.first_time[table] + 2 * GROUP_JOBS * group
        bounds = tile_bounds(
            tables, explorer, depth, start, 2 * GROUP_JOBS * groups, like
        )
        new = old & less(bounds, limit)
        shut += popcount(old ^ new)
        explorer.open[at] = word ^ ((old ^ new) << shift)
        lows = minimum(lows, blend(new, bounds, nothing))
    explorer.closed[depth + 1] = explorer.closed[depth + 1] + shut
    least: int = int64(reduce_min(lows))
    return least
