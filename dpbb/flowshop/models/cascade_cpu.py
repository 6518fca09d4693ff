"""The flow shop with LB1 and two-machine bounds, for searches compiled by Numba.

Nodes, job tables and all bounds that choose the side are those of LB1's text. A node
has besides the *taken* jobs, in any order, their number before them, and the stays of
few pairs of machines, or estimates for many.

The longest stay M of the unscheduled jobs on a pair (``dpbb.flowshop.bounds``) is
the largest of its *stays*, one for each job in Johnson's order: the time on u up to the
job, its lag, and the time on v from it on. Without a job, those before it have less of
its time on v, those after it less of its time on u, and its own is nothing: a *fall*
for each stay. So the stays of a node are those of all jobs less the falls of its taken
jobs, and those of a child less one fall more: some vectors, no walk along the order.

Of ``FEW`` pairs at most a node has the stays. A child's end on u (or v, from the back)
is the largest of its parent's ends up to there, each with the job's time from there on:
a vector, too. Nothing of this depends on what prunes: there are no branches to foresee.

Of more pairs a node has *estimates* of M, at least as large: when a job is scheduled, M
falls by no less than the job's shorter time of the two, so that one subtraction for
many pairs keeps the estimates right. Pairs are in *blocks*, ``LANES`` machines v that
follow each other with one u; a lane without a pair has an estimate of nothing. Only
where a pair can prune a child by its estimate are its stays computed, which makes the
estimate exact. Whether a child is pruned does not depend on estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpbb.flowshop.bounds import JohnsonTables, cascade_of, machine_pairs
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels import models
from dpbb.kernels.compiling import inlined, int64
from dpbb.kernels.pairs import PAIR_LANES
from dpbb.kernels.pointers import Ints, Lanes, aligned_zeros
from dpbb.kernels.scalar import ctz
from dpbb.kernels.simd import less, load, maximum, reduce_max, splat, store, zeros
from dpbb.modeling.cpu import model_of
from dpbb.modeling.cpu import narrowest_dtype as narrowest_of_lb1

LANES = PAIR_LANES
"""Machines v of a block."""

STAYS = 2 * LANES
"""Stays that are looked at together."""

FEW = 16
"""Pairs of which a node has the stays, not estimates."""

MOST_FALLS = 2**28
"""Largest table, in elements: all pairs of 300 jobs on 60 machines take 2**27.3."""


class Cascade(NamedTuple):
    """Tables of an instance, jobs in root order; never written."""

    n_jobs: int
    node_lanes: int
    scratch_lanes: int
    height: int
    cost_ints: int
    root_bound: int
    tighten_lanes: int
    first: Any  # the model of LB1's text
    least_depth: int  # of the children that are tightened
    last_depth: int
    firsts: int  # machines up to the last u of a pair
    seconds: int  # machines from the least v of a pair on
    n_few: int  # pairs of which nodes have the stays: all or none
    n_blocks: int
    blocks: Ints  # (n_blocks, 2): u, and v of the first lane
    pair_at: Ints  # (n_blocks, LANES): pair of a lane, or -1
    stays: Lanes  # (n_pairs, width): of all jobs, in Johnson's order
    falls: Lanes  # (n_pairs, n, width): of the stays, without a job
    width: int  # lanes of all stays
    others: Ints  # (2, n_pairs): where in a node the end on the other side is
    reach_lanes: int
    reaches: Lanes  # (2, n_few, n, reach_lanes): less than nothing until a job ends
    shorter: Lanes  # (n, n_blocks, LANES): the shorter time of each job on a pair
    times: Lanes  # (2, n, m): as either side has the machines
    root: Lanes  # (node_lanes,)

    @staticmethod
    def obstacle(problem: FlowShopProblem) -> str | None:
        """None for a flow shop whose tables are not too large."""
        n_jobs, n_machines = problem.times.shape
        n_pairs = len(cascade_of(problem.bound, n_jobs, n_machines).pairs)
        if n_pairs * n_jobs * _width(n_jobs) <= MOST_FALLS:
            return None
        return (
            f"expected fewer pairs of machines, for {n_jobs} jobs at most "
            f"{MOST_FALLS // (n_jobs * _width(n_jobs))}, got {n_pairs}"
        )

    @staticmethod
    def narrowest_dtype(
        problem: FlowShopProblem, ub: int
    ) -> type[np.signedinteger[Any]]:
        """Return the narrowest integers that no bound of the tree can pass.

        Notes
        -----
        A two-machine bound is no more than a makespan, and what a node has for it no
        more than two of them: the ends of the scheduled jobs and an estimate, each of
        distinct operations. Twice ``MAX_TOTAL_TIME`` fits 32 bits.
        """
        longest = 2 * problem.trivial_ub + int(problem.times.sum(axis=1).max())
        if longest < np.iinfo(np.int16).max:
            return narrowest_of_lb1(problem, ub)
        return np.int32

    @classmethod
    def of(
        cls,
        problem: FlowShopProblem,
        root_order: Sequence[int] | None,
        dtype: DTypeLike,
    ) -> Cascade:
        """Tables of an instance; no bound may pass the largest value of ``dtype``."""
        lb1 = model_of(problem).of(problem, root_order, dtype)
        times = problem.times
        if root_order is not None:
            times = times[np.array(root_order, np.intp)]
        n_jobs, n_machines = times.shape
        cascade = cascade_of(problem.bound, n_jobs, n_machines)
        pairs = machine_pairs(n_machines, cascade.pairs)
        tables = JohnsonTables.of(times, pairs)
        blocks, pair_at = _blocks(pairs)
        here = np.flatnonzero(pair_at >= 0)
        u, v = pairs[pair_at[here]].T
        shorter = np.zeros((n_jobs, len(pair_at)), np.int64)
        shorter[:, here] = np.minimum(times[:, u], times[:, v])
        from_here = tables.second[:, ::-1].cumsum(axis=1)[:, ::-1]
        stays = tables.first.cumsum(axis=1) + tables.lag + from_here
        width = _width(n_jobs)
        taken = -(-(n_jobs + 1) // LANES) * LANES
        estimates = np.full(len(pair_at), -problem.trivial_ub)
        estimates[here] = stays.max(axis=1)[pair_at[here]]
        padded = np.pad(stays, ((0, 0), (0, width - n_jobs)))
        n_few = len(pairs) if len(pairs) <= FEW else 0
        of_pairs = padded.ravel() if n_few else estimates
        root = np.concatenate([lb1.root, np.zeros(taken, np.int64), of_pairs])
        slots = -(-n_jobs // LANES) * LANES
        reaches = _reaches(times, pairs[:n_few], problem.trivial_ub)
        return cls(
            n_jobs=n_jobs,
            node_lanes=len(root),
            scratch_lanes=lb1.scratch_lanes,
            height=lb1.height,
            cost_ints=lb1.cost_ints,
            root_bound=lb1.root_bound,
            tighten_lanes=slots + width + (n_jobs + 1) * (n_machines + LANES),
            first=lb1,
            least_depth=cascade.first,
            last_depth=cascade.last,
            firsts=int(u.max(initial=-1)) + 1,
            seconds=n_machines - int(v.min(initial=n_machines)),
            n_few=n_few,
            n_blocks=len(blocks),
            blocks=blocks,
            pair_at=pair_at,
            stays=_flat(padded, dtype),
            falls=_falls(tables, stays, dtype),
            width=width,
            others=lb1.at_front
            + np.stack([2 * (n_machines - pairs[:, 1]) - 1, 2 * pairs[:, 0]]),
            reach_lanes=reaches.shape[3],
            reaches=_flat(reaches, dtype),
            shorter=_flat(shorter, dtype),
            times=_flat(np.stack([times, times[:, ::-1]]), dtype),
            root=root.astype(dtype),
        )

    def job_table(self, slots: int) -> NDArray[Any]:
        """Table of all jobs, as LB1 has it."""
        return self.first.job_table(slots)

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
        models.step(self.first, nodes, at, children, to, scratch, job, side)
        at += self.first.node_lanes
        to += self.first.node_lanes
        depth = int64(nodes[at]) + 1
        children[to] = depth
        if depth >= self.last_depth:
            return
        like = zeros(nodes, LANES)
        for lane in range(0, depth, LANES):
            store(children, to + lane, load(nodes, at + lane, like))
        children[to] = depth
        children[to + depth] = job
        taken = (self.n_jobs + LANES) // LANES * LANES
        at += taken
        to += taken
        if self.n_few:
            many = zeros(nodes, STAYS)
            for pair in range(self.n_few):
                row = (pair * self.n_jobs + job) * self.width
                for lane in range(0, self.width, STAYS):
                    left = load(nodes, at + lane, many) - load(
                        self.falls, row + lane, many
                    )
                    store(children, to + lane, left)
                at += self.width
                to += self.width
            return
        row = job * self.n_blocks * LANES
        for lane in range(0, self.n_blocks * LANES, LANES):
            left = load(nodes, at + lane, like) - load(self.shorter, row + lane, like)
            store(children, to + lane, left)

    def tightens(self, depth: int) -> bool:
        """Whether this depth is one of the cascade's."""
        return self.least_depth <= depth and depth <= self.last_depth

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
        if not self.n_few:
            tighten_many(
                self, nodes, at, depth, side, jobs, first, kept, count, work, ub, floor
            )
            return
        like = zeros(nodes, LANES)
        many = zeros(nodes, STAYS)
        n = self.n_jobs
        width = self.width
        pairs = self.n_few
        stays = at + self.first.node_lanes + (n + LANES) // LANES * LANES
        for child in range(count):
            job = jobs[first + kept[child]]
            best = 0
            for pair in range(pairs):
                row = pair * n + job
                longest = splat(-1, many)
                for lane in range(0, width, STAYS):
                    stay = load(nodes, stays + pair * width + lane, many)
                    fall = load(self.falls, row * width + lane, many)
                    longest = maximum(longest, stay - fall)
                row = ((side * pairs + pair) * n + job) * self.reach_lanes
                end = splat(-1, like)
                for lane in range(0, self.reach_lanes, LANES):
                    begin = load(nodes, at + self.first.at_front + lane, like)
                    end = maximum(end, begin - load(self.reaches, row + lane, like))
                other = at + self.others[side * pairs + pair]
                bound = int64(reduce_max(longest)) + int64(reduce_max(end))
                best = max(best, bound + int64(nodes[other]))
            work[child] = best


@inlined
def tighten_many(
    self: Cascade,
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
    """``tighten`` by the pairs that can prune a child by their estimates."""
    like = zeros(nodes, LANES)
    many = zeros(nodes, STAYS)
    n = self.n_jobs
    m = self.height
    stays = (n + LANES - 1) // LANES * LANES  # of the node on a pair
    other = stays + self.width  # ends on the side that all children have
    own = other + m + LANES  # and on the other side, of each child
    taken = at + self.first.node_lanes
    estimates = taken + (n + LANES) // LANES * LANES
    enough = splat(floor, like)
    front = at + self.first.at_front
    others = self.firsts if side else self.seconds
    for k in range(others):
        machine = k if side else m - 1 - k
        work[other + machine] = nodes[front + 2 * k + 1 - side]
    machines = self.seconds if side else self.firsts
    for child in range(count):
        row = (side * n + jobs[first + kept[child]]) * m
        view = own + child * (m + LANES)
        end = 0
        for k in range(machines):
            end = max(end, int64(nodes[front + 2 * k + side]))
            end += int64(self.times[row + k])
            work[view + (m - 1 - k if side else k)] = end
        work[child] = 0
    alive = count
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
        for child in range(count):
            if int64(work[child]) >= ub:
                continue
            job = jobs[first + kept[child]]
            view = own + child * (m + LANES)
            shorter = load(self.shorter, (job * self.n_blocks + block) * LANES, like)
            reach = load(work, view + v, like) if side else splat(work[view + u], like)
            bits |= ~less(estimate + reach - shorter, enough)
        bits &= np.uint64((1 << LANES) - 1)
        while bits != np.uint64(0):
            bit = ctz(bits)
            bits &= bits - np.uint64(1)
            pair = self.pair_at[at_block + bit]
            if pair < 0:
                continue
            falls = pair * n * self.width
            longest = splat(-1, many)
            for lane in range(0, self.width, STAYS):
                stay = load(self.stays, pair * self.width + lane, many)
                for place in range(1, depth):
                    fall = falls + int64(nodes[taken + place]) * self.width
                    stay = stay - load(self.falls, fall + lane, many)
                store(work, stays + lane, stay)
                longest = maximum(longest, stay)
            nodes[estimates + at_block + bit] = reduce_max(longest)
            there = other + (u if side else v + bit)
            here = own + (v + bit if side else u)
            for child in range(count):
                if int64(work[child]) >= ub:
                    continue
                fall = falls + jobs[first + kept[child]] * self.width
                longest = splat(-1, many)
                for lane in range(0, self.width, STAYS):
                    stay = load(work, stays + lane, many)
                    stay = stay - load(self.falls, fall + lane, many)
                    longest = maximum(longest, stay)
                bound = int64(reduce_max(longest)) + int64(work[there])
                bound += int64(work[here + child * (m + LANES)])
                if bound > int64(work[child]):
                    work[child] = bound
                    alive -= bound >= ub
            if alive == 0:
                return


def _width(n_jobs: int) -> int:
    """Lanes of the stays of a pair."""
    return -(-n_jobs // STAYS) * STAYS


def _reaches(
    times: NDArray[np.int64], pairs: NDArray[np.intp], most: int
) -> NDArray[np.int64]:
    """Return what to subtract from a node's ends for that of a child on machine u or v.

    In lanes as a node has its ends; those that do not matter fall by ``most``.
    """
    n_jobs, n_machines = times.shape
    last = np.stack([pairs[:, 0], n_machines - 1 - pairs[:, 1]])  # (2, n_pairs)
    lanes = -(-2 * (int(last.max(initial=-1)) + 1) // LANES) * LANES
    reaches = np.full((2, len(pairs), n_jobs, lanes), most)
    for side, ends in enumerate(last):
        done = (times if side == 0 else times[:, ::-1]).cumsum(axis=1)
        before = np.pad(done, ((0, 0), (1, 0)))
        for pair, k in enumerate(ends):
            upto = np.arange(k + 1)
            reaches[side, pair][:, 2 * upto + side] = before[:, upto] - done[:, k, None]
    return reaches


def _falls(
    tables: JohnsonTables, stays: NDArray[np.int64], dtype: DTypeLike
) -> NDArray[Any]:
    """By how much the stays of a pair fall without a job, for each; its own below 0."""
    n_pairs, n_jobs = stays.shape
    falls = np.zeros((n_pairs, n_jobs, _width(n_jobs)), dtype)
    pairs = np.arange(n_pairs)
    for place in range(n_jobs):
        rows = falls[pairs, tables.order[:, place]]
        rows[:, :place] = tables.second[:, place, None]
        rows[:, place] = stays[:, place] + 1
        rows[:, place + 1 : n_jobs] = tables.first[:, place, None]
        falls[pairs, tables.order[:, place]] = rows
    return _flat(falls, dtype)


def _blocks(pairs: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return blocks that have all pairs, and which pair is in which lane, or -1.

    The first pairs are in the first blocks.
    """
    blocks: list[tuple[int, int]] = []
    found: dict[tuple[int, int], int] = {}
    for pair, (u, v) in enumerate(pairs.tolist()):
        block = next(
            (
                number
                for number, (first, second) in enumerate(blocks)
                if first == u and second <= v < second + LANES
            ),
            len(blocks),
        )
        if block == len(blocks):
            blocks.append((u, v))
        found[block, v - blocks[block][1]] = pair
    pair_at = np.full((len(blocks), LANES), -1, np.int64)
    for place, pair in found.items():
        pair_at[place] = pair
    return np.array(blocks, np.int64).reshape(-1, 2), pair_at.ravel()


def _flat(rows: NDArray[np.int64], dtype: DTypeLike) -> NDArray[Any]:
    """Flat copy; a vector that starts at any of its elements may be read."""
    flat = aligned_zeros(rows.size + LANES, dtype)
    flat[: rows.size] = rows.ravel()
    return flat
