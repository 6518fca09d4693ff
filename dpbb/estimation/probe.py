"""One probe: a walk down all levels of the tree that keeps few nodes of each stratum.

Idea: nodes of one depth whose bounds are equally far below the UB have subtrees of
about one size. Where a stratum (depth, UB - LB) has more than K nodes, K of them are
kept and carry the weight of all. Whatever is kept, every node's expected weight is 1,
so the sum of weights is an unbiased estimate of the number of nodes.

Source: P. C. Chen, "Heuristic sampling: a method for predicting the performance of
tree searching programs", SIAM Journal on Computing 21(2), 1992. Differences: K
representatives, not one; drawn systematically, with one random number a stratum, in
the order of their parents; levels are finished one after the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.estimation.node import (
    Level,
    Tables,
    copy_node,
    decompose,
    make_child,
    make_level,
)
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.pairs import Room
from dpbb.kernels.pointers import pointers

MOST_STRATA = 4096
"""Strata of one depth; where UB - LB has more values, neighbors share one."""


MOST_WEIGHT = 1e302
"""Where weights and their sums end, as floats do at 1.8e308: so many times
``MOST_NODES`` that one probe that meets it lifts the mean of all above that."""


class Thinning(NamedTuple):
    """Which nodes a probe meets, and which of them it keeps.

    Attributes
    ----------
    ub
        Nodes with LB >= ub are pruned.
    width, n_strata
        A stratum has this many values of UB - LB; all above are in the last one.
    samples
        K: children of a stratum that are kept.
    """

    ub: int
    width: int
    n_strata: int
    samples: int


class Children(NamedTuple):
    """Open children of a level, before some are chosen.

    Attributes
    ----------
    parent : ndarray of int32, shape (capacity,)
        Node of the level.
    move : ndarray of int32, shape (capacity,)
        Twice the slot of the job, plus 1 for a back child.
    stratum : ndarray of int32, shape (capacity,)
    """

    parent: NDArray[np.int32]
    move: NDArray[np.int32]
    stratum: NDArray[np.int32]


class Found(NamedTuple):
    """What a probe found.

    Attributes
    ----------
    decomposed, leaves
        Estimated numbers of nodes of the tree, at most ``MOST_WEIGHT``; exact if
        nothing was left out.
    visited
        Nodes that were bounded for it.
    thinned
        Strata that had more nodes than were kept.
    widest
        Most nodes of one depth.
    drawn
        Not all roots were walked to.
    """

    decomposed: float
    leaves: float
    visited: int
    thinned: int
    widest: int
    drawn: bool = False


@helper
def uniform(state: NDArray[np.uint64]) -> float:
    """Return the next random number in [0, 1).

    SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): Numba's own generator cannot be
    seeded for a thread of Python's.
    """
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = state[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = bits ^ (bits >> np.uint64(31))
    return np.float64(bits >> np.uint64(11)) / 9007199254740992.0


@helper
def doubled(column: NDArray[np.int32]) -> NDArray[np.int32]:
    """Copy with room for twice as many."""
    copy = np.empty(2 * column.size, np.int32)
    copy[: column.size] = column
    return copy


@helper
def expand(
    tables: Tables, level: Level, depth: int, thinning: Thinning, room: Room
) -> tuple[Children, int]:
    """Decompose all nodes of a level; return its children below ``ub``, counted."""
    r = level.jobs.shape[1]
    capacity = max(1024, 4 * level.weight.size, r)
    parent = np.empty(capacity, np.int32)
    move = np.empty(capacity, np.int32)
    stratum = np.empty(capacity, np.int32)
    used = 0
    for node in range(level.weight.size):
        back = decompose(tables, level, node, depth, room)
        while used + r > parent.size:
            parent, move, stratum = doubled(parent), doubled(move), doubled(stratum)
        for i in range(r):
            bound = int64(room.bounds[2 * i + back])
            if bound < thinning.ub:
                parent[used] = node
                move[used] = 2 * i + back
                above = (thinning.ub - 1 - bound) // thinning.width
                stratum[used] = min(above, thinning.n_strata - 1)
                used += 1
    return Children(parent, move, stratum), used


@helper
def by_stratum(
    children: Children, used: int, n_strata: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Children in the order of their strata, and where each stratum begins."""
    first = np.zeros(n_strata + 1, np.int64)
    for child in range(used):
        first[children.stratum[child] + 1] += 1
    for stratum in range(n_strata):
        first[stratum + 1] += first[stratum]
    at = first.copy()
    order = np.empty(used, np.int64)
    for child in range(used):
        stratum = children.stratum[child]
        order[at[stratum]] = child
        at[stratum] += 1
    return order, first


@helper
def choose(
    weight: NDArray[np.float64],
    children: Children,
    used: int,
    thinning: Thinning,
    state: NDArray[np.uint64],
) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """Choose at most ``samples`` children of each stratum, by the parents' weights.

    Returns
    -------
    chosen : ndarray of int64
    weights : ndarray of float64
        Those of the chosen; in each stratum they sum to what they summed to before.
    thinned : int
        Strata of which not all children were chosen.
    """
    samples = thinning.samples
    order, first = by_stratum(children, used, thinning.n_strata)
    chosen = np.empty(used, np.int64)
    weights = np.empty(used, np.float64)
    kept = 0
    thinned = 0
    for stratum in range(thinning.n_strata):
        begin, end = first[stratum], first[stratum + 1]
        if end - begin <= samples:
            for index in range(begin, end):
                chosen[kept] = order[index]
                weights[kept] = weight[children.parent[order[index]]]
                kept += 1
            continue
        thinned += 1
        total = 0.0
        for index in range(begin, end):
            total = min(total + weight[children.parent[order[index]]], MOST_WEIGHT)
        step = total / samples
        # the numbers offset, offset + step, ... each choose the child whose part of
        # [0, total) they fall in: a child of weight w is chosen w / step times on
        # average
        following = uniform(state) * step
        passed = 0.0
        for index in range(begin, end):
            passed = min(passed + weight[children.parent[order[index]]], MOST_WEIGHT)
            hits = 0
            while following < passed:
                hits += 1
                following += step
            if hits:
                chosen[kept] = order[index]
                weights[kept] = step * hits
                kept += 1
    return chosen[:kept], weights[:kept], thinned


@helper
def probe_all(
    tables: Tables,
    room: Room,
    entries: Level,
    starts: NDArray[np.int64],
    thinning: Thinning,
    state: NDArray[np.uint64],
    sizes: NDArray[np.float64],
) -> tuple[float, float, int, int, int]:
    """Estimate the number of nodes below some roots.

    Parameters
    ----------
    tables, room
        Tables and room with pointers.
    entries : Level, jobs padded to n_jobs
        The roots with their weights, ordered by depth.
    starts : ndarray of int64, shape (n_jobs + 1,)
        Those of depth d are ``starts[d]`` to ``starts[d + 1] - 1``.
    thinning
        Which nodes are kept.
    state : ndarray of uint64, shape (1,)
        Of the random numbers.
    sizes : ndarray of float64, shape (n_strata,)
        To it are added the weights of all nodes, by ``Level.stratum``.

    Returns
    -------
    The fields of ``Found``.
    """
    n = tables.n_jobs
    decomposed = 0.0
    leaves = 0.0
    visited = 0
    thinned = 0
    widest = 0
    level = make_level(entries, 0, n)
    for depth in range(n):
        new = starts[depth + 1] - starts[depth]
        if new:
            old = level.weight.size
            merged = make_level(entries, old + new, n - depth)
            for node in range(old):
                copy_node(level, node, merged, node)
            for node in range(new):
                copy_node(entries, starts[depth] + node, merged, old + node)
            level = merged
        size = level.weight.size
        if size == 0:
            level = make_level(entries, 0, n - depth - 1)
            continue
        visited += size
        widest = max(widest, size)
        total = 0.0
        for node in range(size):
            total = min(total + level.weight[node], MOST_WEIGHT)
            stratum = min(level.stratum[node], thinning.n_strata - 1)
            sizes[stratum] = min(sizes[stratum] + level.weight[node], MOST_WEIGHT)
        if depth == n - 1:
            leaves = total
            break
        decomposed = min(decomposed + total, MOST_WEIGHT)
        children, used = expand(tables, level, depth, thinning, room)
        chosen, weights, left_out = choose(
            level.weight, children, used, thinning, state
        )
        thinned += left_out
        below = make_level(entries, chosen.size, n - depth - 1)
        for at in range(chosen.size):
            child = chosen[at]
            move = children.move[child]
            node = children.parent[child]
            make_child(
                tables, level, node, int64(move // 2), int64(move % 2), below, at, room
            )
            below.weight[at] = weights[at]
            below.stratum[at] = min(level.stratum[node], children.stratum[child])
        level = below
    return decomposed, leaves, visited, thinned, widest


@entry
def probe(
    tables_in: Tables,
    room_in: Room,
    lane: np.signedinteger[Any],
    entries: Level,
    starts: NDArray[np.int64],
    thinning: Thinning,
    state: NDArray[np.uint64],
    sizes: NDArray[np.float64],
) -> tuple[float, float, int, int, int]:
    """Estimate the number of nodes below some roots; see ``probe_all``.

    Parameters
    ----------
    tables_in, room_in, lane
        Tables and room with addresses, and any integer of their lanes' type.
    """
    tables, room = pointers(tables_in, lane), pointers(room_in, lane)
    return probe_all(tables, room, entries, starts, thinning, state, sizes)


@entry
def probe_each(
    tables_in: Tables,
    room_in: Room,
    lane: np.signedinteger[Any],
    entries: Level,
    depths: NDArray[np.int64],
    thinning: Thinning,
    state: NDArray[np.uint64],
    nodes: NDArray[np.float64],
) -> None:
    """Estimate the number of nodes below each of some roots.

    Parameters
    ----------
    tables_in, room_in, lane, thinning, state
        As of ``probe`` and ``probe_all``.
    entries : Level, jobs padded to n_jobs
        The roots, of weight 1.
    depths : ndarray of int64, shape (rows,)
        Of them.
    nodes : ndarray of float64, shape (rows,)
        Estimates, written here.
    """
    tables = pointers(tables_in, lane)
    room = pointers(room_in, lane)
    n = tables.n_jobs
    sizes = np.empty(thinning.n_strata)  # nobody asks for them
    starts = np.empty(n + 1, np.int64)
    one = make_level(entries, 1, n)
    for row in range(depths.size):
        copy_node(entries, row, one, 0)
        for depth in range(n + 1):
            starts[depth] = depth > depths[row]
        found = probe_all(tables, room, one, starts, thinning, state, sizes)
        nodes[row] = found[0] + found[1]


@entry
def walk(
    tables_in: Tables,
    room_in: Room,
    lane: np.signedinteger[Any],
    root: Level,
    depths: NDArray[np.int64],
    digits: NDArray[np.int64],
    order: NDArray[np.intp],
    thinning: Thinning,
) -> tuple[Level, NDArray[np.bool_]]:
    """Walk to roots named by their paths.

    What a path has in common with the one before is not walked again.

    Parameters
    ----------
    tables_in, room_in, lane
        As in ``probe``.
    root
        The tree's root.
    depths, digits : ndarray of int64, shapes (rows,) and (rows, w)
        As in ``WorkUnit``.
    order : ndarray of intp, shape (rows,)
        In which to walk: that of the paths, so that they have much in common.
    thinning
        As in ``probe``; ``samples`` does not matter.

    Returns
    -------
    entries : Level, jobs padded to n_jobs
        The roots, of weight 1.
    alive : ndarray of bool, shape (rows,)
        False where the path is pruned on the way, the root included.
    """
    tables = pointers(tables_in, lane)
    room = pointers(room_in, lane)
    n = tables.n_jobs
    entries = make_level(root, depths.size, n)
    alive = np.ones(depths.size, np.bool_)
    nodes = [root]  # the path that was walked last
    bounds = np.empty((n, n), np.int32)  # of the children of its nodes
    sides = np.empty(n, np.int64)
    bounded = 0
    before = -1
    for row in order:
        same = 0
        if before >= 0:
            longest = min(len(nodes) - 1, depths[row])
            while same < longest and digits[row, same] == digits[before, same]:
                same += 1
        while len(nodes) > same + 1:
            nodes.pop()
        bounded = min(bounded, same + 1)
        before = row
        for depth in range(same, depths[row]):
            node = nodes[depth]
            if bounded == depth:
                back = int64(decompose(tables, node, int64(0), int64(depth), room))
                sides[depth] = back
                for i in range(n - depth):
                    bounds[depth, i] = room.bounds[2 * i + back]
                bounded += 1
            slot = digits[row, depth]
            bound = int64(bounds[depth, slot])
            if bound >= thinning.ub:
                alive[row] = False
                break
            child = make_level(root, 1, n - depth - 1)
            make_child(
                tables, node, int64(0), slot, sides[depth], child, int64(0), room
            )
            child.weight[0] = 1.0
            above = (thinning.ub - 1 - bound) // thinning.width
            child.stratum[0] = min(node.stratum[0], above)
            nodes.append(child)
        copy_node(nodes[-1], 0, entries, row)
    return entries, alive
