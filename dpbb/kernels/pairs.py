"""Children in pairs of lanes, and the choice of a side by their bounds.

In vectors of bounds the even lane of a job is its child at the front, the odd one its
child at the back, so that one pass bounds both sets of children. Jobs have *slots* in a
job table, in *groups* whose pairs fill a vector of ``PAIR_LANES``. A slot without a
child has the largest value of its type in both lanes. The twin of the rules in NumPy
is ``dpbb.tree.branching``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import extending
from numpy.typing import DTypeLike

from dpbb.kernels.compiling import helper, inlined, int64
from dpbb.kernels.models import bounds, gather, own_side, prepare, tighten, tightens
from dpbb.kernels.pointers import Ints, Lanes, aligned_zeros
from dpbb.kernels.scalar import popcount
from dpbb.kernels.simd import (
    Vector,
    less,
    load,
    maximum,
    minimum,
    reduce_least,
    reduce_pairs,
    splat,
    store,
    zeros,
)
from dpbb.options import BranchingRule, TreeOptions
from dpbb.problem import Problem, kinds_in_order

PAIR = 2

PAIR_LANES = 16
"""Lanes of the least vector of bounds: 8 pairs."""

GROUP_JOBS = 8
"""Jobs of a group: its pairs fill ``PAIR_LANES`` lanes."""

TILE_GROUPS = 2
"""Job tables have multiples of so many groups: a processor with vectors of 512 bits
takes as long for one of 16-bit lanes as for two."""

FRONT_BITS = np.uint64(0x5555555555555555)

COUNT_SHIFT = 44
"""Sums of differences of bounds stay below 2**44: the count of children goes above."""

TILE_2, TILE_4 = 2 * PAIR_LANES, 4 * PAIR_LANES


# -- rules -----------------------------------------------------------------------


class Rule(NamedTuple):
    """A branching rule for compiled code."""

    least_counts: int  # -1: children of the least bound decide the side, else 0
    threshold: int  # added to that: children with less decide the side
    fixed_side: int  # 0 front, 1 back, 2 back at odd depth, -1 not fixed
    is_own: int  # 1: the model's own rule comes first, see ``own_side``

    @classmethod
    def of(cls, rule: BranchingRule, branching_ub: int | None, largest: int) -> Rule:
        """Rule for bounds of which ``largest`` means that there is no child."""
        minmin = rule is BranchingRule.MINMIN
        threshold = int(minmin)
        if rule is BranchingRule.MINBRANCH:
            threshold = max(0, min(branching_ub or 0, largest))
        is_own = int(rule is BranchingRule.OWN)
        return cls(-1 if minmin else 0, threshold, _FIXED_SIDES.get(rule, -1), is_own)


_FIXED_SIDES = {
    BranchingRule.FRONT: 0,
    BranchingRule.BACK: 1,
    BranchingRule.ALTERNATE: 2,
}


@inlined
def decisive(rule: Rule, least: Vector) -> Vector:
    """Limits in a vector: only children below them count in the choice of a side.

    MinMin counts children of the least bound, MinBranch those below branching_ub,
    MaxSum none; one comparison for all rules keeps branches out of the hot loop.
    """
    return (least & splat(rule.least_counts, least)) + splat(rule.threshold, least)


@inlined
def more_behind(counted: np.uint64) -> int:
    """Return how many more children of the back are counted than of the front."""
    more: int = popcount(counted & ~FRONT_BITS) - popcount(counted & FRONT_BITS)
    return more


@inlined
def preference(counted: np.uint64, summed: Vector) -> int:
    """Sort key of the front less that of the back, for a tile; negative: back.

    The back's number of counted children less the front's comes first, then the sum
    of bounds of the front's children less that of the back's.
    """
    key: int = (more_behind(counted) << COUNT_SHIFT) + reduce_pairs(summed)
    return key


@inlined
def chosen_side(rule: Rule, depth: int, key: int) -> np.uint64:
    """Side to take, 0 the front and 1 the back, by the sum of all tiles' keys."""
    back: np.uint64 = np.uint64(key) >> np.uint64(63)
    if rule.fixed_side >= 0:
        back = np.uint64(rule.fixed_side if rule.fixed_side < 2 else depth & 1)
    return back


# -- equal jobs ------------------------------------------------------------------


class EqualJobs(NamedTuple):
    """For a tree of rule version 2; others have None in its place, at no cost.

    See ``dpbb.tree.branching``: copies are next to each other.
    """

    kinds: Ints  # (n,): of the jobs in root order

    @classmethod
    def of(cls, problem: Problem[Any], tree: TreeOptions) -> EqualJobs | None:
        """Kinds of a problem's jobs, if its tree has a rule for equal ones."""
        kinds = kinds_in_order(problem, tree)
        return None if kinds is None else cls(kinds)


# -- nodes of any number of children --------------------------------------------------


@extending.register_jitable
def groups_of(n_jobs: int) -> int:
    """Return the groups of a job table that has so many jobs."""
    tile = GROUP_JOBS * TILE_GROUPS
    return (n_jobs + tile - 1) // tile * TILE_GROUPS


class Room(NamedTuple):
    """Where the children of one node at a time are bounded.

    An explorer of the CPU engine has fields of the same names for that.
    """

    slot_jobs: Ints  # (slots,): unscheduled jobs of the node, then any
    scratch: Lanes  # of the model
    columns: Lanes  # job table of these jobs
    taken: Lanes  # per slot a pair: the largest value if no child, else 0
    bounds: Lanes  # per slot a pair
    kept: Ints  # (slots,): of the children that are tightened
    work: Lanes  # of the model

    @classmethod
    def of(cls, model: Any, n_jobs: int, dtype: DTypeLike) -> Room:
        """Room for nodes of up to ``n_jobs`` unscheduled jobs."""
        groups = groups_of(n_jobs)
        lanes = PAIR_LANES * groups
        rows = -(-model.height // GROUP_JOBS) * GROUP_JOBS
        return cls(
            slot_jobs=np.zeros(groups * GROUP_JOBS, np.int64),
            scratch=aligned_zeros(model.scratch_lanes, dtype),
            columns=aligned_zeros(rows * lanes, dtype),
            taken=aligned_zeros(lanes, dtype),
            bounds=aligned_zeros(lanes + TILE_4, dtype),
            kept=np.zeros(groups * GROUP_JOBS, np.int64),
            work=aligned_zeros(getattr(model, "tighten_lanes", 0), dtype),
        )


@inlined
def bound_tile(
    model: Any,
    nodes: Lanes,
    at: int,
    room: Any,
    start: int,
    stride: int,
    taken: int,
    lane: int,
    like: Vector,
) -> Vector:
    """Bound the tile at a lane of a job table; store the bounds, return them, too."""
    found = bounds(
        model, nodes, at, room.scratch, room.columns, start + lane, stride, like
    )
    found = maximum(found, load(room.taken, taken + lane, like))
    store(room.bounds, lane, found)
    return found


@inlined
def bound_all(
    model: Any,
    nodes: Lanes,
    at: int,
    room: Any,
    start: int,
    taken: int,
    groups: int,
    largest: int,
) -> int:
    """Bound the children of a prepared node in ``room.bounds``, whole words; the least.

    Parameters
    ----------
    room
        An explorer or a ``Room``.
    start, taken
        Where the job table begins in ``room.columns`` and ``room.taken``.
    """
    two = zeros(nodes, TILE_2)
    four = zeros(nodes, TILE_4)
    stride = PAIR_LANES * groups
    whole = groups // 4 * 4
    least = largest
    if whole:
        lows = splat(least, four)
        for group in range(0, whole, 4):
            lane = PAIR_LANES * group
            lows = minimum(
                lows,
                bound_tile(model, nodes, at, room, start, stride, taken, lane, four),
            )
        least = min(least, reduce_least(lows))
    if groups & 2:
        lane = PAIR_LANES * whole
        rest = bound_tile(model, nodes, at, room, start, stride, taken, lane, two)
        least = min(least, reduce_least(rest))
        # whole words: no child in the rest
        store(room.bounds, lane + TILE_2, splat(largest, two))
    return least


@inlined
def best_side(
    model: Any,
    nodes: Lanes,
    at: int,
    rule: Rule,
    depth: int,
    room: Any,
    groups: int,
    least: int,
) -> np.uint64:
    """Side that a node at a depth takes by ``room.bounds``: 0 the front, 1 the back."""
    four = zeros(room.bounds, TILE_4)
    limit = decisive(rule, splat(least, four))
    key = int64(0)
    for word in range((groups + 3) // 4):
        key += more_behind(less(load(room.bounds, word * TILE_4, four), limit))
    if key == 0:  # seldom: most nodes are done without sums
        for word in range((groups + 3) // 4):
            key += reduce_pairs(load(room.bounds, word * TILE_4, four))
    side = chosen_side(rule, depth, key)
    lanes = PAIR_LANES * groups
    chosen: np.uint64 = own_side(
        model, rule.is_own, nodes, at, room.bounds, lanes, side
    )
    return chosen


@helper
def bound_children(
    model: Any, nodes: Lanes, at: int, room: Room, n_children: int, largest: int
) -> int:
    """Bound the children of a node that take the first of ``room.slot_jobs``.

    Returns the least bound. All are in ``room.bounds``, a pair for each of these jobs.
    """
    groups = groups_of(n_children)
    gather(model, room.slot_jobs, int64(0), groups, room.columns, int64(0))
    like = zeros(nodes, PAIR_LANES)
    for group in range(groups):
        store(room.taken, PAIR_LANES * group, like)
    for slot in range(n_children, GROUP_JOBS * groups):
        room.taken[2 * slot] = largest
        room.taken[2 * slot + 1] = largest
    prepare(model, nodes, at, room.scratch)
    least: int = int64(
        bound_all(model, nodes, at, room, int64(0), int64(0), groups, largest)
    )
    return least


@helper
def close_copies(
    equal: EqualJobs | None, room: Room, n_children: int, largest: int
) -> None:
    """Of equal jobs among ``room.slot_jobs``, leave the first one's bounds alone."""
    if equal is None:
        return
    for slot in range(1, n_children):
        one, two = room.slot_jobs[slot - 1], room.slot_jobs[slot]
        if equal.kinds[one] == equal.kinds[two]:
            room.bounds[2 * slot] = largest
            room.bounds[2 * slot + 1] = largest


class Branching(NamedTuple):
    """What decides on the children of a tree's nodes; never written."""

    model: Any
    rule: Rule
    equal: EqualJobs | None
    largest: int  # of the type of bounds; as a bound: no child

    @classmethod
    def of(
        cls, model: Any, problem: Problem[Any], tree: TreeOptions, ub: int
    ) -> Branching:
        """For upper bounds up to ``ub``; ``model``: the class of models."""
        dtype = model.narrowest_dtype(problem, ub)
        largest = int(np.iinfo(dtype).max)
        return cls(
            model.of(problem, tree.root_order, dtype),
            Rule.of(tree.branching, tree.branching_ub, largest),
            EqualJobs.of(problem, tree),
            largest,
        )

    def room(self) -> Room:
        """Room for the children of a node; each thread needs its own."""
        return Room.of(self.model, self.model.n_jobs, self.model.root.dtype)


@helper
def branch(
    tables: Branching,
    nodes: Lanes,
    at: int,
    depth: int,
    room: Room,
    n_children: int,
    ub: int,
) -> int:
    """Bound a node's children of both sides in the room; return the side it takes.

    Copies of equal jobs have the largest bound then; the others on that side that are
    below ``ub`` are tightened. The children take the first of ``room.slot_jobs``.
    """
    model = tables.model
    least = bound_children(model, nodes, at, room, n_children, tables.largest)
    groups = groups_of(n_children)
    side: int = int64(
        best_side(model, nodes, at, tables.rule, depth, room, groups, least)
    )
    close_copies(tables.equal, room, n_children, tables.largest)
    if tightens(model, depth + 1) and least < ub:
        tighten_children(model, nodes, at, depth + 1, side, room, n_children, ub)
    return side


@helper
def tighten_children(
    model: Any,
    nodes: Lanes,
    at: int,
    depth: int,
    side: int,
    room: Room,
    n_children: int,
    ub: int,
) -> None:
    """Tighten the bounds in the room of children below ``ub`` on a side."""
    count = 0
    for slot in range(n_children):
        if room.bounds[2 * slot + side] < ub:
            room.kept[count] = slot
            count += 1
    tighten(
        model,
        nodes,
        at,
        depth,
        side,
        room.slot_jobs,
        int64(0),
        room.kept,
        count,
        room.work,
        ub,
        int64(0),
    )
    for child in range(count):
        place = 2 * room.kept[child] + side
        room.bounds[place] = max(room.bounds[place], room.work[child])
