"""Compiled steps of the beam search: expand nodes to candidates, then make nodes.

A level of the beam is a set of arrays with one row per node (``Level``); a candidate is
a node, a job and a side. Only the candidates that the beam keeps become nodes. Nodes
and their bounds are those of ``dpbb.flowshop.models.lb1_cpu``; what is the beam's own
is the idle time, which its guide is made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpbb.flowshop.models.lb1_cpu import Lb1, front_at
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.models import step
from dpbb.kernels.pairs import GROUP_JOBS, TILE_4, Room, bound_children, preference
from dpbb.kernels.pointers import Lanes, pointer_of, pointers
from dpbb.kernels.simd import blend, less, load, splat, zeros

if TYPE_CHECKING:
    from numpy.typing import NDArray

ONE_SIDED = 1e12
"""Added to the guide of a node without prefix or without suffix, whose idle time on
that side is unknown: taken as 0, one-sided nodes would fill the beam."""


class Level(NamedTuple):
    """Nodes of equal depth with r unscheduled jobs each.

    Parameters
    ----------
    nodes : ndarray of int16 or int32, shape (size, node_lanes)
        As the model has them.
    idle : ndarray of int32, shape (size, 2, n_machines)
        Idle time of each machine before the prefix ends, and behind the start of the
        suffix, the machines of the latter in reverse.
    jobs : ndarray of uint16, shape (size, r)
        Unscheduled jobs, ascending.
    sides : ndarray of uint8, shape (size, 2)
        1 where the prefix (suffix) holds a job.
    """

    nodes: NDArray[Any]
    idle: NDArray[np.int32]
    jobs: NDArray[np.uint16]
    sides: NDArray[np.uint8]

    @classmethod
    def empty(cls, model: Lb1, size: int, r: int) -> Level:
        """Return room for nodes."""
        return cls(
            nodes=np.zeros((size, model.node_lanes), model.root.dtype),
            idle=np.zeros((size, 2, model.height), np.int32),
            jobs=np.zeros((size, r), np.uint16),
            sides=np.zeros((size, 2), np.uint8),
        )


class Candidates(NamedTuple):
    """Children that survived, one row each.

    Parameters
    ----------
    node, job, side, bound : ndarray of int32
        Parent's row, the job scheduled, 0 for prefix or 1 for suffix, child's bound.
    guide : ndarray of float64
        Smaller is kept.
    """

    node: NDArray[np.int32]
    job: NDArray[np.int32]
    side: NDArray[np.int32]
    bound: NDArray[np.int32]
    guide: NDArray[np.float64]

    @classmethod
    def empty(cls, count: int) -> Candidates:
        """Return room for candidates."""
        return cls(
            node=np.empty(count, dtype=np.int32),
            job=np.empty(count, dtype=np.int32),
            side=np.empty(count, dtype=np.int32),
            bound=np.empty(count, dtype=np.int32),
            guide=np.empty(count, dtype=np.float64),
        )

    def take(self, rows: slice | NDArray[np.intp]) -> Candidates:
        """Return some of the candidates."""
        return Candidates(
            self.node[rows],
            self.job[rows],
            self.side[rows],
            self.bound[rows],
            self.guide[rows],
        )

    @staticmethod
    def join(parts: list[Candidates]) -> Candidates:
        """Return the candidates of all parts."""
        return Candidates(
            np.concatenate([part.node for part in parts]),
            np.concatenate([part.job for part in parts]),
            np.concatenate([part.side for part in parts]),
            np.concatenate([part.bound for part in parts]),
            np.concatenate([part.guide for part in parts]),
        )


@helper
def real_front(nodes: Lanes, at: int, machine: int, side: int, used: int) -> int:
    """Front or back as ``front_at`` has it, but 0 on a side that is not used."""
    return front_at(nodes, at, machine, side) if used else int64(0)


@helper
def wait(
    nodes: Lanes, at: int, used: int, child: Lanes, to: int, machine: int, side: int
) -> int:
    """Idle time that the child's job adds on a machine that is not its first."""
    before = front_at(child, to, machine - 1, side)
    added: int = int64(max(0, before - real_front(nodes, at, machine, side, used)))
    return added


@helper
def side_below(room: Room, n_children: int, ub: int) -> int:
    """Side with fewer children below ``ub``; of equal numbers the larger sum of them.

    MinBranch with the live UB, but for children that are pruned, which are not summed.
    """
    four = zeros(room.bounds, TILE_4)
    limit = splat(ub, four)
    groups = (n_children + GROUP_JOBS - 1) // GROUP_JOBS
    key = 0
    for word in range((groups + 3) // 4):
        bounds = load(room.bounds, word * TILE_4, four)
        alive = less(bounds, limit)
        key += preference(alive, blend(alive, bounds, four))
    side: int = int64(key < 0)
    return side


@entry
def expand(
    model_in: Lb1,
    room_in: Room,
    lane: np.signedinteger[Any],
    level: Level,
    first: int,
    last: int,
    ub: int,
    alpha: float,
    gap: bool,
    spare: NDArray[Any],
    out: Candidates,
    version: int = 0,
) -> int:
    """Bound the children of the nodes ``first`` to ``last`` - 1; return how many live.

    Parameters
    ----------
    model_in, room_in, lane
        Model and room with addresses, and any integer of their lanes' type.
    ub
        Children with bound >= ub are dropped.
    alpha
        Share of the jobs scheduled in the children.
    gap
        Guide: gap if True, walpha if False.
    spare : ndarray, shape (node_lanes,)
        Room for a child.
    out
        Receives the survivors; room for r of every node.
    """
    model = pointers(model_in, lane)
    room = pointers(room_in, lane)
    nodes = pointer_of(level.nodes)
    child = pointer_of(spare)
    r = level.jobs.shape[1]
    count = 0
    for node in range(first, last):
        for slot in range(r):
            room.slot_jobs[slot] = level.jobs[node, slot]
        at = node * model.node_lanes
        bound_children(model, nodes, at, room, r, model.largest)
        side = side_below(room, r, ub)
        other = 1 - side
        other_weight = 0.0
        for k in range(1, model.height):
            end = front_at(nodes, at, k, other)
            if end > 0:
                other_weight += level.idle[node, other, k] / end
        used = int64(level.sides[node, side])
        one_sided = level.sides[node, other] == 0
        for slot in range(r):
            bound = int64(room.bounds[2 * slot + side])
            if bound >= ub:
                continue
            job = room.slot_jobs[slot]
            step(model, nodes, at, child, int64(0), room.scratch, job, side)
            weight = 0.0
            for k in range(1, model.height):
                finish = front_at(child, int64(0), k, side)
                if finish > 0:
                    more = wait(nodes, at, used, child, int64(0), k, side)
                    weight += (level.idle[node, side, k] + more) / finish
            weight += other_weight
            if one_sided:
                guide = ONE_SIDED + bound
            elif gap:
                gamma = (ub - bound) / ub
                guide = bound / gamma + weight * gamma
            else:
                guide = alpha * bound + (1.0 - alpha) * weight * bound
            out.node[count] = node
            out.job[count] = job
            out.side[count] = side
            out.bound[count] = bound
            out.guide[count] = guide
            count += 1
    return count


@entry
def make_nodes(
    model_in: Lb1,
    room_in: Room,
    lane: np.signedinteger[Any],
    level: Level,
    chosen: Candidates,
    below: Level,
    version: int = 0,
) -> None:
    """Write the nodes of the chosen candidates."""
    model = pointers(model_in, lane)
    room = pointers(room_in, lane)
    nodes = pointer_of(level.nodes)
    children = pointer_of(below.nodes)
    for row in range(len(chosen.node)):
        node = chosen.node[row]
        job = int64(chosen.job[row])
        side = int64(chosen.side[row])
        at = node * model.node_lanes
        to = row * model.node_lanes
        step(model, nodes, at, children, to, room.scratch, job, side)
        used = int64(level.sides[node, side])
        for k in range(model.height):
            below.idle[row, 0, k] = level.idle[node, 0, k]
            below.idle[row, 1, k] = level.idle[node, 1, k]
        for k in range(1, model.height):
            more = wait(nodes, at, used, children, to, k, side)
            below.idle[row, side, k] += more
        below.sides[row, 0] = level.sides[node, 0]
        below.sides[row, 1] = level.sides[node, 1]
        below.sides[row, side] = 1
        slot = 0
        for i in range(level.jobs.shape[1]):
            if level.jobs[node, i] != job:
                below.jobs[row, slot] = level.jobs[node, i]
                slot += 1
