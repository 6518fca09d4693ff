"""Compiled steps of the beam search: expand nodes to candidates, then make nodes.

A level of the beam is a set of arrays with one row per node (``Level``); a candidate is
a node, a job and a side. Only the candidates that the beam keeps become nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpbb.flowshop.heuristics.insertion import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.flowshop.heuristics.insertion import Ints

ONE_SIDED = 1e12
"""Added to the guide of a node without prefix or without suffix, whose idle time on
that side is unknown: taken as 0, one-sided nodes would fill the beam."""


class Level(NamedTuple):
    """Nodes of equal depth.

    Parameters
    ----------
    front, back, remain, front_idle, back_idle : ndarray of int32, (nodes, n_machines)
        Zero on an empty side.
    bound : ndarray of int32, shape (nodes,)
    free : ndarray of uint8, shape (nodes, n_jobs)
        1 for unscheduled jobs.
    sides : ndarray of uint8, shape (nodes, 2)
        1 where the prefix (suffix) holds a job.
    """

    front: NDArray[np.int32]
    back: NDArray[np.int32]
    remain: NDArray[np.int32]
    front_idle: NDArray[np.int32]
    back_idle: NDArray[np.int32]
    bound: NDArray[np.int32]
    free: NDArray[np.uint8]
    sides: NDArray[np.uint8]

    @classmethod
    def empty(cls, nodes: int, n_machines: int, n_jobs: int) -> Level:
        """Return room for nodes."""
        shape = nodes, n_machines
        return cls(
            front=np.zeros(shape, dtype=np.int32),
            back=np.zeros(shape, dtype=np.int32),
            remain=np.zeros(shape, dtype=np.int32),
            front_idle=np.zeros(shape, dtype=np.int32),
            back_idle=np.zeros(shape, dtype=np.int32),
            bound=np.zeros(nodes, dtype=np.int32),
            free=np.zeros((nodes, n_jobs), dtype=np.uint8),
            sides=np.zeros((nodes, 2), dtype=np.uint8),
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


@jit
def idle_weight(times: Ints, end: Ints, idle: Ints, job: int) -> float:
    """Idle time per unit of time on machines 1, 2, ... after appending a job."""
    weight = 0.0
    finish = end[0] + times[0, job]
    for k in range(1, len(end)):
        wait = max(0, finish - end[k])
        finish = max(finish, end[k]) + times[k, job]
        if finish > 0:
            weight += (idle[k] + wait) / finish
    return weight


@jit
def current_weight(end: Ints, idle: Ints) -> float:
    """Idle time per unit of time of a side that does not change."""
    weight = 0.0
    for k in range(1, len(end)):
        if end[k] > 0:
            weight += idle[k] / end[k]
    return weight


@jit
def bound_side(
    times: Ints,
    end: Ints,
    other: Ints,
    remain: Ints,
    floor: int,
    free: NDArray[np.uint8],
    bounds: Ints,
) -> None:
    """LB1 of the children on one side, not below the node's; see ``bounds``."""
    for job in range(times.shape[1]):
        if free[job]:
            start = end[0]
            bound = max(floor, start + remain[0] + other[0])
            for k in range(1, len(end)):
                start = max(start + times[k - 1, job], end[k])
                bound = max(bound, start + remain[k] + other[k])
            bounds[job] = bound


@jit
def expand(
    times: Ints,
    mirror: Ints,
    heads: Ints,
    tails: Ints,
    level: Level,
    first: int,
    last: int,
    ub: int,
    alpha: float,
    gap: bool,
    out: Candidates,
) -> int:
    """Bound the children of the nodes ``first`` to ``last`` - 1; return how many live.

    Parameters
    ----------
    times, mirror : ndarray of int32, shape (n_machines, n_jobs)
        Times, and the same with the machines reversed.
    heads, tails : ndarray of int32, shape (n_machines,)
        Least head and tail over all jobs, for empty sides.
    ub
        Children with bound >= ub are dropped.
    alpha
        Share of the jobs scheduled in the children.
    gap
        Guide: gap if True, walpha if False.
    out
        Receives the survivors; room for n_jobs of every node.

    Notes
    -----
    The back of a node is kept in machine order; it is reversed here, so that both
    sides share one code.
    """
    n_jobs = times.shape[1]
    bounds = np.empty((2, n_jobs), np.int32)
    alive = np.zeros(2, np.int64)
    total = np.zeros(2, np.int64)
    count = 0
    for node in range(first, last):
        free = level.free[node]
        front = level.front[node]
        back = level.back[node]
        remain = level.remain[node]
        has_front = level.sides[node, 0] > 0
        has_back = level.sides[node, 1] > 0
        f = front if has_front else heads
        b = back if has_back else tails
        floor = level.bound[node]
        bound_side(times, f, b, remain, floor, free, bounds[0])
        bound_side(mirror, b[::-1], f[::-1], remain[::-1], floor, free, bounds[1])
        alive[:] = 0
        total[:] = 0
        for side in range(2):
            for job in range(n_jobs):
                if free[job] and bounds[side, job] < ub:
                    alive[side] += 1
                    total[side] += bounds[side, job]
        side = 0
        if alive[1] < alive[0] or (alive[1] == alive[0] and total[1] > total[0]):
            side = 1
        if alive[side] == 0:
            continue
        if side == 0:
            other_weight = current_weight(back[::-1], level.back_idle[node][::-1])
            one_sided = not has_back
        else:
            other_weight = current_weight(front, level.front_idle[node])
            one_sided = not has_front
        for job in range(n_jobs):
            bound = bounds[side, job]
            if not free[job] or bound >= ub:
                continue
            if side == 0:
                weight = idle_weight(times, front, level.front_idle[node], job)
            else:
                weight = idle_weight(
                    mirror, back[::-1], level.back_idle[node][::-1], job
                )
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


@jit
def append(times: Ints, end: Ints, idle: Ints, job: int) -> None:
    """Append a job to a side, in place."""
    finish = end[0]
    for k in range(len(end)):
        if finish > end[k]:
            idle[k] += finish - end[k]
            end[k] = finish
        end[k] += times[k, job]
        finish = end[k]


@jit
def make_nodes(
    times: Ints, mirror: Ints, level: Level, chosen: Candidates, new: Level
) -> None:
    """Write the nodes of the chosen candidates."""
    n_machines = times.shape[0]
    for row in range(len(chosen.node)):
        node = chosen.node[row]
        job = chosen.job[row]
        side = chosen.side[row]
        new.front[row] = level.front[node]
        new.back[row] = level.back[node]
        new.front_idle[row] = level.front_idle[node]
        new.back_idle[row] = level.back_idle[node]
        for k in range(n_machines):
            new.remain[row, k] = level.remain[node, k] - times[k, job]
        new.bound[row] = chosen.bound[row]
        new.free[row] = level.free[node]
        new.free[row, job] = 0
        new.sides[row] = level.sides[node]
        new.sides[row, side] = 1
        if side == 0:
            append(times, new.front[row], new.front_idle[row], job)
        else:
            append(mirror, new.back[row][::-1], new.back_idle[row][::-1], job)
