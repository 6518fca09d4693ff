"""One node at a time: step to a child, bound its children on both sides, choose.

What a node is, and how its children are bounded, is the model's
(``dpbb.kernels.models``); the choice of the side is ``dpbb.kernels.pairs``.
"""

from __future__ import annotations

import numpy as np

from dpbb.engines.cpu.state import JOBS_PER_WORD, Explorer, Tables
from dpbb.kernels import models
from dpbb.kernels.compiling import helper, inlined, int64
from dpbb.kernels.pairs import (
    FRONT_BITS,
    GROUP_JOBS,
    PAIR,
    PAIR_LANES,
    TILE_2,
    TILE_4,
    EqualJobs,
    best_side,
    bound_all,
    chosen_side,
    decisive,
    preference,
)
from dpbb.kernels.scalar import ctz, popcount
from dpbb.kernels.simd import (
    Vector,
    blend,
    less,
    load,
    maximum,
    minimum,
    reduce_least,
    reduce_min,
    splat,
    store,
    zeros,
)


@inlined
def descend(
    tables: Tables, explorer: Explorer, depth: int, slot: int, side: int
) -> None:
    """Step from the node at ``depth`` to the child of a slot, ready to bound it."""
    table = tables.table_of[depth]
    job = explorer.jobs[tables.first_slot[table] + slot]
    explorer.path[depth] = 2 * job + side
    below = tables.table_of[depth + 1]
    place = tables.first_slot[below] + explorer.slots[below * tables.n_jobs + job]
    explorer.place[depth] = place
    pair = zeros(explorer.taken, PAIR)
    store(explorer.taken, 2 * place, splat(tables.largest, pair))
    model = tables.model
    at = depth * model.node_lanes
    models.step(
        model,
        explorer.nodes,
        at,
        explorer.nodes,
        at + model.node_lanes,
        explorer.scratch,
        job,
        side,
    )


@inlined
def prepare(tables: Tables, explorer: Explorer, depth: int) -> None:
    """Make the path's node at ``depth`` ready to be bounded again."""
    model = tables.model
    models.prepare(model, explorer.nodes, depth * model.node_lanes, explorer.scratch)


@inlined
def release(explorer: Explorer, depth: int) -> None:
    """Undo the marking of the child taken at ``depth``."""
    store(explorer.taken, 2 * explorer.place[depth], zeros(explorer.taken, PAIR))


@inlined
def tile_bounds(
    tables: Tables, explorer: Explorer, depth: int, table: int, lane: int, like: Vector
) -> Vector:
    """Bounds of the tile at a lane of a job table, scheduled jobs included."""
    return models.bounds(
        tables.model,
        explorer.nodes,
        depth * tables.model.node_lanes,
        explorer.scratch,
        explorer.columns,
        tables.first_lane[table] + lane,
        PAIR_LANES * tables.groups[table],
        like,
    )


@inlined
def followed(
    equal: EqualJobs | None, explorer: Explorer, slot: int, like: Vector
) -> np.uint64:
    """Unscheduled jobs of the slots from one on whose next slot has an equal job."""
    if equal is None:
        return np.uint64(0)
    taken = load(explorer.taken, 2 * slot, like)
    bits: np.uint64 = less(taken, load(explorer.alike, 2 * slot, like))
    return bits


@inlined
def open_tile(
    tables: Tables, explorer: Explorer, depth: int, ub: int, table: int, like: Vector
) -> np.uint64:
    """``open_children`` for a table of one tile, bounds in registers."""
    bounds = tile_bounds(tables, explorer, depth, table, int64(0), like)
    taken = load(explorer.taken, 2 * tables.first_slot[table], like)
    bounds = maximum(bounds, taken)  # not negative, as taken is not
    least = splat(reduce_least(bounds), like)
    key = preference(less(bounds, decisive(tables.rule, least)), bounds)
    bits = FRONT_BITS << chosen_side(tables.rule, depth, key)
    alive: np.uint64 = less(bounds, splat(ub, like)) & bits
    first = tables.first_slot[table]
    alive &= ~(followed(tables.equal, explorer, first, like) << np.uint64(2))
    explorer.open[depth * tables.words] = alive
    return alive


@helper
def open_many(
    tables: Tables, explorer: Explorer, depth: int, ub: int, table: int
) -> int:
    """``open_children`` for a table of any size; number of open children."""
    groups = tables.groups[table]
    at = depth * tables.model.node_lanes
    least = bound_all(
        tables.model,
        explorer.nodes,
        at,
        explorer,
        tables.first_lane[table],
        2 * tables.first_slot[table],
        groups,
        tables.largest,
    )
    side = best_side(
        tables.model, explorer.nodes, at, tables.rule, depth, explorer, groups, least
    )
    bits = FRONT_BITS << side
    four = zeros(explorer.bounds, TILE_4)
    limit = splat(ub, four)
    words = tables.words
    first = depth * words
    alive = 0
    used = (groups + 3) // 4
    slot = tables.first_slot[table]
    copies = np.uint64(0)  # those of the word, and of jobs of the word before
    for word in range(used):
        bounds = load(explorer.bounds, word * TILE_4, four)
        ahead = followed(tables.equal, explorer, slot + JOBS_PER_WORD * word, four)
        copies |= ahead << np.uint64(2)
        kept = less(bounds, limit) & bits & ~copies
        copies = ahead >> np.uint64(62)
        explorer.open[first + word] = kept
        alive += popcount(kept)
    for word in range(used, words):
        explorer.open[first + word] = np.uint64(0)
    return alive


@inlined
def open_children(tables: Tables, explorer: Explorer, depth: int, ub: int) -> int:
    """Bound the children of the path's node and open those below ``ub``.

    The side is chosen by all of them; then copies of equal jobs are closed, and a
    dearer bound tightens those that are open.

    Returns
    -------
    int
        Number of open children. Their bits are in ``explorer.open``.
    """
    alive = open_by_first_bound(tables, explorer, depth, ub)
    if models.tightens(tables.model, depth + 1) and alive:
        alive = tighten_open(tables, explorer, depth, ub, ub)
    return alive


@inlined
def open_by_first_bound(tables: Tables, explorer: Explorer, depth: int, ub: int) -> int:
    """``open_children`` by the bound that chooses the side, which is chosen here."""
    table = tables.table_of[depth]
    if tables.groups[table] == 2 and not tables.rule.is_own:
        two = zeros(explorer.taken, TILE_2)
        alive: int = popcount(open_tile(tables, explorer, depth, ub, table, two))
        for word in range(1, tables.words):
            explorer.open[depth * tables.words + word] = np.uint64(0)
        return alive
    return open_many(tables, explorer, depth, ub, table)


@helper
def mark_alike(
    equal: EqualJobs | None, explorer: Explorer, first: int, count: int
) -> None:
    """Note which of the jobs in so many slots are equal to the next one."""
    if equal is None:
        return
    for slot in range(first, first + count - 1):
        one, two = explorer.jobs[slot], explorer.jobs[slot + 1]
        alike = int64(equal.kinds[one] == equal.kinds[two])
        explorer.alike[2 * slot] = alike
        explorer.alike[2 * slot + 1] = alike


@helper
def tighten_open(
    tables: Tables, explorer: Explorer, depth: int, ub: int, floor: int
) -> int:
    """Tighten the bounds of open children, at least one; close those not below ``ub``.

    Returns
    -------
    int
        Number of children that stay open. The first so many of ``explorer.kept`` are
        their slots, with the tighter bounds in ``explorer.work``: that of a child may
        be too low if it is below ``floor``.
    """
    count = 0
    side = 0
    for word in range(tables.words):
        bits = explorer.open[depth * tables.words + word]
        while bits != np.uint64(0):
            bit = ctz(bits)
            bits &= bits - np.uint64(1)
            side = bit & 1
            explorer.kept[count] = JOBS_PER_WORD * word + (bit >> 1)
            count += 1
    table = tables.table_of[depth]
    models.tighten(
        tables.model,
        explorer.nodes,
        depth * tables.model.node_lanes,
        depth + 1,
        side,
        explorer.jobs,
        tables.first_slot[table],
        explorer.kept,
        count,
        explorer.work,
        ub,
        floor,
    )
    stay = 0
    for child in range(count):  # no branch: whether a child stays is not foreseen
        slot = explorer.kept[child]
        bound = int64(explorer.work[child])
        stays = int64(bound < ub)
        explorer.kept[stay] = slot
        explorer.work[stay] = bound
        stay += stays
        place = np.uint64(2 * (slot % JOBS_PER_WORD) + side)
        at = depth * tables.words + slot // JOBS_PER_WORD
        explorer.open[at] ^= np.uint64(1 - stays) << place
    return stay


@helper
def build_table(tables: Tables, explorer: Explorer, depth: int, table: int) -> None:
    """Build a table of the jobs that are unscheduled at ``depth``.

    Slots past the last job get columns that are never looked at, and rows past the
    model's height, like one slot more than there are, go where the next table begins,
    which is built after this one.
    """
    source = tables.table_of[depth]
    source_slot = tables.first_slot[source]
    target_slot = tables.first_slot[table]
    slot = 0
    for old in range(GROUP_JOBS * tables.groups[source]):
        # no branch: whether a job is taken is not foreseen
        explorer.jobs[target_slot + slot] = explorer.jobs[source_slot + old]
        slot += int64(explorer.taken[2 * (source_slot + old)] == 0)
    for new in range(slot):
        job = explorer.jobs[target_slot + new]
        explorer.slots[table * tables.n_jobs + job] = new
    mark_alike(tables.equal, explorer, target_slot, slot)
    models.gather(
        tables.model,
        explorer.jobs,
        target_slot,
        tables.groups[table],
        explorer.columns,
        tables.first_lane[table],
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
    like = zeros(explorer.taken, PAIR_LANES)
    table = tables.table_of[depth]
    groups = tables.groups[table]
    limit = splat(ub, like)
    nothing = splat(tables.largest, like)
    lows = nothing
    shut = int64(0)
    for group in range(groups):
        at = depth * tables.words + group // 4
        shift = np.uint64(PAIR_LANES * (group & 3))
        word = explorer.open[at]
        old = (word >> shift) & np.uint64(0xFFFF)
        if old == np.uint64(0):
            continue
        lane = PAIR_LANES * group
        bounds = tile_bounds(tables, explorer, depth, table, lane, like)
        if models.tightens(tables.model, depth + 1):
            store(explorer.bounds, lane, bounds)
        new = old & less(bounds, limit)
        shut += popcount(old ^ new)
        explorer.open[at] = word ^ ((old ^ new) << shift)
        lows = minimum(lows, blend(new, bounds, nothing))
    least: int = int64(reduce_min(lows))
    if models.tightens(tables.model, depth + 1) and least < ub:
        shut, least = settle_tight(tables, explorer, depth, ub, shut)
    explorer.closed[depth + 1] = explorer.closed[depth + 1] + shut
    return least


@helper
def settle_tight(
    tables: Tables, explorer: Explorer, depth: int, ub: int, shut: int
) -> tuple[int, int]:
    """``settle`` by the dearer bound, after the first one, which left some open.

    Returns
    -------
    shut, least : int
        Number of children that are closed now, and the least bound of the others.
    """
    alive = 0
    for word in range(tables.words):
        alive += popcount(explorer.open[depth * tables.words + word])
    stay = tighten_open(tables, explorer, depth, ub, int64(0))
    least = tables.largest
    for child in range(stay):
        slot = explorer.kept[child]
        bits = explorer.open[depth * tables.words + slot // JOBS_PER_WORD]
        side = int64(bits >> np.uint64(2 * (slot % JOBS_PER_WORD) + 1)) & 1
        first = int64(explorer.bounds[2 * slot + side])
        least = min(least, max(first, int64(explorer.work[child])))
    return shut + alive - stay, least
