"""The flow shop with LB1 and two-machine bounds, for searches compiled by Numba.

Nodes, job tables and all bounds that choose the side are those of ``lb1_cpu``. A node
has besides its depth, a lane for each job, -1 if it is unscheduled, and an *estimate*
for each pair of machines of the cascade: at least the longest stay M of its unscheduled
jobs on the pair (``dpbb.flowshop.bounds.lb2``). When a job is scheduled, M falls by no
less than the job's shorter time of the two, so that one subtraction for many pairs
keeps the estimates right. Pairs are in *blocks*, ``LANES`` machines v that follow each
other with one u; a lane without a pair has an estimate of nothing.

``tighten`` puts the children that LB1 leaves side by side, one in each lane. The
estimates leave out the pairs that can prune none of them; for another pair all lanes
walk the unscheduled jobs in Johnson's order, and a mask leaves out the lane's own job.
A lane to spare has no job of its own: that is M of the node, an exact estimate. Whether
a child is pruned does not depend on estimates. Of a child's ends on the machines only
those that pairs need are looked at. The scratch is zeros at first, and whatever a call
writes that the next one must not see is zeros again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpbb.flowshop.bounds.cascade import cascade_of
from dpbb.flowshop.bounds.lb2 import JohnsonTables, machine_pairs
from dpbb.flowshop.models.lb1_cpu import Lb1
from dpbb.kernels import models
from dpbb.kernels.compiling import int64
from dpbb.kernels.pairs import PAIR_LANES
from dpbb.kernels.pointers import Ints, Lanes, aligned_zeros
from dpbb.kernels.scalar import ctz
from dpbb.kernels.simd import (
    Vector,
    less,
    load,
    load_pair,
    maximum,
    splat,
    store,
    zeros,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from dpbb.flowshop.problem import FlowShopProblem
    from dpbb.problem import Problem

LANES = PAIR_LANES
"""Children of one walk."""

STEP = 6
"""Lanes of a job in the table of a pair: three values, each twice."""


class Cascade(NamedTuple):
    """Tables of an instance, jobs in root order; never written."""

    n_jobs: int
    node_lanes: int
    scratch_lanes: int
    height: int
    cost_ints: int
    root_bound: int
    tighten_lanes: int
    lb1: Lb1
    first: int  # depths of the children that are tightened
    last: int
    firsts: int  # machines up to the last u of a pair
    seconds: int  # machines from the least v of a pair on
    n_blocks: int
    blocks: Ints  # (n_blocks, 2): u, and v of the first lane
    pair_at: Ints  # (n_blocks, LANES): pair of a lane, or -1
    order: Ints  # (n_pairs, n): jobs in Johnson's order
    steps: Lanes  # (n_pairs, n, STEP): time on u, the same with the lag, time on v
    shorter: Lanes  # (n, n_blocks, LANES): the shorter time of each job on a pair
    times: Lanes  # (2, n, m): as either side has the machines
    lanes: Lanes  # (LANES, LANES): -1 in one lane
    root: Lanes  # (node_lanes,)

    @staticmethod
    def obstacle(problem: Problem[Any]) -> str | None:
        """None for a flow shop."""
        return Lb1.obstacle(problem)

    @staticmethod
    def narrowest_dtype(
        problem: FlowShopProblem, ub: int
    ) -> type[np.signedinteger[Any]]:
        """Return the narrowest integers that no bound of the tree can pass.

        Notes
        -----
        A two-machine bound may be any that is no more than a makespan, and an estimate
        of it no more than two of them.
        """
        times = problem.times
        longest = 2 * problem.trivial_ub + int(times.sum(axis=1).max())
        if longest < np.iinfo(np.int16).max:
            return Lb1.narrowest_dtype(problem, ub)
        if longest < np.iinfo(np.int32).max:
            return np.int32
        raise ValueError(
            f"expected makespans below {np.iinfo(np.int32).max // 2}, they may "
            f"reach {longest // 2}"
        )

    @classmethod
    def of(
        cls,
        problem: FlowShopProblem,
        root_order: Sequence[int] | None,
        dtype: DTypeLike,
    ) -> Cascade:
        """Tables of an instance; no bound may pass the largest value of ``dtype``."""
        lb1 = Lb1.of(problem, root_order, dtype)
        n_jobs, n_machines = problem.times.shape
        times = lb1.times
        cascade = cascade_of(problem.bound, n_jobs, n_machines)
        pairs = machine_pairs(n_machines, () if cascade is None else cascade.pairs)
        tables = JohnsonTables.of(times, pairs)
        blocks, pair_at = _blocks(pairs)
        here = np.flatnonzero(pair_at >= 0)
        u, v = pairs[pair_at[here]].T
        shorter = np.zeros((n_jobs, len(pair_at)), np.int64)
        shorter[:, here] = np.minimum(times[:, u], times[:, v])
        from_here = tables.second[:, ::-1].cumsum(axis=1)[:, ::-1]
        stays = (tables.first.cumsum(axis=1) + tables.lag + from_here).max(axis=1)
        marks = np.zeros(-(-(n_jobs + 1) // LANES) * LANES, np.int64)
        marks[:n_jobs] = -1
        estimates = np.full(len(pair_at), -problem.trivial_ub)
        estimates[here] = stays[pair_at[here]]
        root = np.concatenate([lb1.root, marks, estimates])
        steps = np.stack([tables.first, tables.first + tables.lag, tables.second], 2)
        slots = -(-n_jobs // LANES) * LANES
        rows = LANES * (n_machines + 1 + n_jobs)
        views = (LANES + 1) * (n_machines + LANES)
        return cls(
            n_jobs=n_jobs,
            node_lanes=len(root),
            scratch_lanes=lb1.scratch_lanes,
            height=lb1.height,
            cost_ints=lb1.cost_ints,
            root_bound=lb1.root_bound,
            tighten_lanes=slots + rows + n_jobs + views,
            lb1=lb1,
            first=1 if cascade is None else cascade.first,
            last=0 if cascade is None else cascade.last,
            firsts=int(u.max(initial=-1)) + 1,
            seconds=n_machines - int(v.min(initial=n_machines)),
            n_blocks=len(blocks),
            blocks=blocks,
            pair_at=pair_at,
            order=np.ascontiguousarray(tables.order, np.int64),
            steps=_flat(steps.repeat(2, axis=2), dtype),
            shorter=_flat(shorter, dtype),
            times=_flat(np.stack([times, times[:, ::-1]]), dtype),
            lanes=_flat(-np.eye(LANES, dtype=np.int64), dtype),
            root=root.astype(dtype),
        )

    def job_table(self, slots: int) -> NDArray[Any]:
        """Table of all jobs, as LB1 has it."""
        return self.lb1.job_table(slots)

    # -- compiled, see dpbb.kernels.models ------------------------------------------

    def step(
        self,
        nodes: Lanes,
        at: int,
        children: Lanes,
        to: int,
        scratch: Lanes,
        job: int,
        side: int,
    ) -> None:
        """Write the child that takes a job, and what tightening its children takes."""
        models.step(self.lb1, nodes, at, children, to, scratch, job, side)
        at += self.lb1.node_lanes
        to += self.lb1.node_lanes
        depth = int64(nodes[at + self.n_jobs]) + 1
        children[to + self.n_jobs] = depth
        if depth >= self.last:
            return
        like = zeros(nodes, LANES)
        marks = (self.n_jobs + LANES) // LANES * LANES
        for lane in range(0, marks, LANES):
            store(children, to + lane, load(nodes, at + lane, like))
        children[to + job] = 0
        children[to + self.n_jobs] = depth
        at += marks
        to += marks
        row = job * self.n_blocks * LANES
        for lane in range(0, self.n_blocks * LANES, LANES):
            left = load(nodes, at + lane, like) - load(self.shorter, row + lane, like)
            store(children, to + lane, left)

    def prepare(self, nodes: Lanes, at: int, scratch: Lanes) -> None:
        """Fill the scratch of a node."""
        models.prepare(self.lb1, nodes, at, scratch)

    def bounds(
        self,
        nodes: Lanes,
        at: int,
        scratch: Lanes,
        columns: Lanes,
        start: int,
        stride: int,
        like: Vector,
    ) -> Vector:
        """LB1 of as many children as a vector holds."""
        return models.bounds(self.lb1, nodes, at, scratch, columns, start, stride, like)

    def gather(
        self, jobs: Ints, first: int, groups: int, columns: Lanes, start: int
    ) -> None:
        """Copy the times of some jobs side by side."""
        models.gather(self.lb1, jobs, first, groups, columns, start)

    def cost(self, jobs: Ints, first: int, scratch: Ints) -> int:
        """Makespan of a complete permutation."""
        return models.cost(self.lb1, jobs, first, scratch)

    def tightens(self, depth: int) -> bool:
        """Whether this depth is one of the cascade's."""
        return self.first <= depth and depth <= self.last

    def tighten(
        self,
        nodes: Lanes,
        at: int,
        depth: int,
        side: int,
        jobs: Ints,
        first: int,
        kept: Ints,
        count: int,
        work: Lanes,
        ub: int,
        floor: int,
    ) -> None:
        """Largest two-machine bound of each child."""
        like = zeros(nodes, LANES)
        n = self.n_jobs
        m = self.height
        ends = (n + LANES - 1) // LANES * LANES  # a row of children for each machine
        spare = ends + m * LANES
        own_job = spare + LANES  # a row of masks for each job: zeros but in its lane
        left = own_job + n * LANES  # places of the unscheduled jobs
        other = left + n  # the side that all children have, by machine, and lanes
        own = other + m + LANES  # the same of each child
        marks = at + self.lb1.node_lanes
        estimates = marks + (n + LANES) // LANES * LANES
        limit = splat(ub, like)
        enough = splat(floor, like)
        machines = self.seconds if side else self.firsts
        others = self.firsts if side else self.seconds
        for k in range(others):
            machine = k if side else m - 1 - k
            work[other + machine] = nodes[at + 2 * k + 1 - side]
        for begin in range(0, count, LANES):
            used = min(LANES, count - begin)
            for lane in range(used):
                row = (side * n + jobs[first + kept[begin + lane]]) * m
                view = own + lane * (m + LANES)
                end = 0
                for k in range(machines):
                    machine = m - 1 - k if side else k
                    end = max(end, int64(nodes[at + 2 * k + side]))
                    end += int64(self.times[row + k])
                    work[view + machine] = end
                    work[ends + machine * LANES + lane] = end
            alive = (np.uint64(1) << np.uint64(used)) - np.uint64(1)
            best = like
            ready = False
            for block in range(self.n_blocks):
                u = self.blocks[2 * block]
                v = self.blocks[2 * block + 1]
                bits = np.uint64(0)
                at_block = block * LANES
                estimate = load(nodes, estimates + at_block, like)
                if side:
                    estimate = estimate + splat(work[other + u], like)
                else:
                    estimate = estimate + load(work, other + v, like)
                for lane in range(used):
                    job = jobs[first + kept[begin + lane]]
                    view = own + lane * (m + LANES)
                    shorter = load(
                        self.shorter, job * self.n_blocks * LANES + at_block, like
                    )
                    if side:
                        reach = load(work, view + v, like)
                    else:
                        reach = splat(work[view + u], like)
                    bits |= ~less(estimate + reach - shorter, enough)
                bits &= np.uint64((1 << LANES) - 1)
                while bits != np.uint64(0):
                    bit = ctz(bits)
                    bits &= bits - np.uint64(1)
                    pair = self.pair_at[at_block + bit]
                    if pair < 0:
                        continue
                    if not ready:
                        ready = True
                        for lane in range(used):
                            job = jobs[first + kept[begin + lane]]
                            there = load(self.lanes, lane * LANES, like)
                            store(work, own_job + job * LANES, there)
                    row = pair * n
                    places = 0
                    for place in range(n):
                        work[left + places] = place
                        places -= int64(nodes[marks + self.order[row + place]])
                    if side:
                        start = splat(work[other + u], like) + load(
                            work, ends + (v + bit) * LANES, like
                        )
                    else:
                        start = splat(work[other + v + bit], like) + load(
                            work, ends + u * LANES, like
                        )
                    on_first = start
                    on_second = start
                    for place in range(places):
                        step = row + int64(work[left + place])
                        mask = load(work, own_job + self.order[step] * LANES, like)
                        step *= STEP
                        reach = load_pair(self.steps, step + 2, like)
                        reach = reach ^ (reach & mask)
                        on_second = maximum(on_second, on_first + reach)
                        time = load_pair(self.steps, step, like)
                        on_first = on_first + (time ^ (time & mask))
                        time = load_pair(self.steps, step + 4, like)
                        on_second = on_second + (time ^ (time & mask))
                    best = maximum(best, on_second)
                    if used < LANES:
                        store(work, spare, on_second - start)
                        nodes[estimates + at_block + bit] = work[spare + LANES - 1]
                    if less(best, limit) & alive == np.uint64(0):
                        break
                if less(best, limit) & alive == np.uint64(0):
                    break
            store(work, begin, best)
            if ready:
                for lane in range(used):
                    job = jobs[first + kept[begin + lane]]
                    store(work, own_job + job * LANES, like)
            if used == LANES:  # the lane to spare
                for k in range(m):
                    work[ends + k * LANES + LANES - 1] = 0


def _blocks(pairs: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return blocks that have all pairs, and which pair is in which lane, or -1."""
    blocks: list[tuple[int, int]] = []
    found: dict[tuple[int, int], int] = {}
    for pair in np.lexsort(pairs.T[::-1]).tolist():
        u, v = pairs[pair].tolist()
        if not blocks or blocks[-1][0] != u or v >= blocks[-1][1] + LANES:
            blocks.append((u, v))
        found[len(blocks) - 1, v - blocks[-1][1]] = pair
    pair_at = np.full((len(blocks), LANES), -1, np.int64)
    for place, pair in found.items():
        pair_at[place] = pair
    return np.array(blocks, np.int64).reshape(-1, 2), pair_at.ravel()


def _flat(rows: NDArray[np.int64], dtype: DTypeLike) -> NDArray[Any]:
    """Flat copy; a vector that starts at any of its elements may be read."""
    flat = aligned_zeros(rows.size + LANES, dtype)
    flat[: rows.size] = rows.ravel()
    return flat
