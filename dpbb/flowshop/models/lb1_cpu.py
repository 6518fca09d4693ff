"""The flow shop with the one-machine bound LB1, for searches compiled by Numba.

LB1 of the child that appends job j: e_0 = F_0, e_k = max(e_{k-1} + p_{j,k-1}, F_k),
LB = max_k (e_k + R_k + B_k), for all jobs of a table side by side; source: Lageweg,
Lenstra and Rinnooy Kan, Operations Research 26(1), 1978. The twin in NumPy is
``dpbb.flowshop.bounds.lb1``; the contract of a model is ``dpbb.kernels.models``.

*Pairs.* The suffix recursion is the prefix recursion on the mirrored machines. So all
rows hold pairs of lanes: the even lane of machine k is the front's view of machine k,
the odd one the back's view of machine m - 1 - k; in a job table the even lane of a job
is its child at the front, the odd lane its child at the back. One pass over the
machines bounds both child sets. A row of machines is padded to ``row`` lanes, a
multiple of ``PAIR_LANES``; rows of ``remain`` are shifted to the *end* of the row, so
that reversing a whole row mirrors its machines.

A *node* is, one after the other: ``fronts``, a row with front and back, on an empty
side the least heads (tails); and ``remain``, a row with the total time of the
unscheduled jobs, shifted. The *scratch* is a row, shifted: what follows on each machine
after a child's job has begun there (remain and the other side).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.compiling import inlined, int64
from dpbb.kernels.pairs import GROUP_JOBS, PAIR_LANES
from dpbb.kernels.pointers import Ints, Lanes, aligned_zeros
from dpbb.kernels.scalar import pointer_to
from dpbb.kernels.simd import (
    Vector,
    copy_transposed,
    last_pair,
    load,
    load_pair,
    maximum,
    reverse,
    scan_max_pairs,
    splat,
    store,
    zeros,
)
from dpbb.problem import Problem


class Lb1(NamedTuple):
    """Tables of an instance, jobs in root order; never written."""

    n_jobs: int
    node_lanes: int
    scratch_lanes: int
    height: int  # machines
    cost_ints: int
    root_bound: int
    row: int  # lanes of a row of machine pairs
    largest: int  # of the element type
    sides: Lanes  # (-1, 0) front, (0, -1) back: masks of the side taken
    steps: Lanes  # (n, row + PAIR_LANES): time before each machine, in pairs
    shifted: Lanes  # (n, row): the job's times, in pairs, shifted
    times: Ints  # (n, m)
    ends: Ints  # (2, m): least heads, least tails
    root: Lanes  # (node_lanes,)

    @staticmethod
    def obstacle(problem: Problem[Any]) -> str | None:
        """None for a flow shop."""
        if isinstance(problem, FlowShopProblem):
            return None
        return f"it takes flow shops alone, not {type(problem).__name__}"

    @staticmethod
    def narrowest_dtype(
        problem: FlowShopProblem, ub: int
    ) -> type[np.signedinteger[Any]]:
        """Return the narrowest integers that no bound of the tree can pass.

        Notes
        -----
        A decomposed node other than the root has a bound below the upper bound ``ub``,
        and the root has ``problem.root_bound``. A child's bound exceeds its parent's by
        at most the time of its job; so do the values of lanes of scheduled jobs, and
        all differences of prefix sums are less in size. The largest value itself means
        "no child", so it stays free; of 32 bits it does whatever the shop is
        (``MAX_TOTAL_TIME``).
        """
        times = problem.times
        parent = max(problem.root_bound, min(ub, problem.trivial_ub))
        limit = parent + int(times.sum(axis=1).max())
        return np.int16 if limit < np.iinfo(np.int16).max else np.int32

    @classmethod
    def of(
        cls,
        problem: FlowShopProblem,
        root_order: Sequence[int] | None,
        dtype: DTypeLike,
    ) -> Lb1:
        """Tables of an instance; no bound may pass the largest value of ``dtype``."""
        times = problem.times
        if root_order is not None:
            times = times[np.array(root_order, np.intp)]
        n_jobs, n_machines = times.shape
        row = -(-2 * n_machines // PAIR_LANES) * PAIR_LANES
        steps = np.zeros((n_jobs, row + PAIR_LANES), np.int64)
        backwards = times[:, ::-1]
        ahead = np.stack([times.cumsum(axis=1), backwards.cumsum(axis=1)], axis=2)
        steps[:, 2 : 2 * n_machines + 2] = ahead.reshape(n_jobs, -1)
        # past the last machine nothing is added: the padding repeats the sum
        steps[:, 2 * n_machines + 2 :: 2] = times.sum(axis=1, keepdims=True)
        steps[:, 2 * n_machines + 3 :: 2] = times.sum(axis=1, keepdims=True)
        shifted = np.zeros((n_jobs, row), np.int64)
        shifted[:, row - 2 * n_machines :] = _pairs(times)
        heads, tails = problem.least_heads, problem.least_tails
        root = np.zeros(2 * row, np.int64)
        root[: 2 * n_machines] = np.stack([heads, tails[::-1]], axis=1).ravel()
        root[2 * row - 2 * n_machines : 2 * row] = _pairs(times.sum(axis=0)[None])[0]
        return cls(
            n_jobs=n_jobs,
            node_lanes=len(root),
            scratch_lanes=row,
            height=n_machines,
            cost_ints=n_machines,
            root_bound=problem.root_bound,
            row=row,
            largest=int(np.iinfo(dtype).max),
            sides=np.array([-1, 0, 0, -1], dtype),
            steps=_aligned_copy(steps, dtype),
            shifted=_aligned_copy(shifted, dtype),
            times=np.ascontiguousarray(times),
            ends=np.stack([heads, tails]),
            root=root.astype(dtype),
        )

    def job_table(self, slots: int) -> NDArray[Any]:
        """Table of all jobs, shape (height, slots, 2); zeros past the last job."""
        pairs = _pairs(self.times).reshape(len(self.times), self.height, 2)
        table = np.zeros((self.height, slots, 2), self.root.dtype)
        table[:, : len(pairs)] = pairs.transpose(1, 0, 2)
        return table

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
        """Write the child that takes a job.

        Its front is a max-plus prefix over machines: F'_k = S_{k+1} + max_{i<=k}
        (F_i - S_i) with S the job's prefix sums, log2 steps a vector instead of m.
        """
        row = self.row
        like = zeros(nodes, PAIR_LANES)
        moved = load_pair(self.sides, 2 * side, like)
        steps = job * (row + PAIR_LANES)
        shifted = job * row
        carry = splat(-self.largest, like)
        for column in range(0, row, PAIR_LANES):
            front = load(nodes, at + column, like)
            latest = scan_max_pairs(front - load(self.steps, steps + column, like))
            reach = maximum(latest, carry)
            carry = maximum(last_pair(latest), carry)
            after = reach + load(self.steps, steps + column + 2, like)
            front = front ^ ((front ^ after) & moved)
            store(children, to + column, front)
            mirrored = row - PAIR_LANES - column
            remain = load(nodes, at + row + mirrored, like) - load(
                self.shifted, shifted + mirrored, like
            )
            store(children, to + row + mirrored, remain)
            store(scratch, mirrored, remain + reverse(front))

    def prepare(self, nodes: Lanes, at: int, scratch: Lanes) -> None:
        """Fill the scratch of a node."""
        row = self.row
        like = zeros(nodes, PAIR_LANES)
        for column in range(0, row, PAIR_LANES):
            mirrored = row - PAIR_LANES - column
            front = load(nodes, at + column, like)
            remain = load(nodes, at + row + mirrored, like)
            store(scratch, mirrored, remain + reverse(front))

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
        entry = like
        bound = like
        front = at
        exits = self.row - 2 * self.height
        for _ in range(self.height):
            entry = maximum(entry, load_pair(nodes, front, like))
            bound = maximum(bound, entry + load_pair(scratch, exits, like))
            entry = entry + load(columns, start, like)
            start += stride
            front += 2
            exits += 2
        return bound

    def gather(
        self, jobs: Ints, first: int, groups: int, columns: Lanes, start: int
    ) -> None:
        """Copy the times of some jobs side by side, in whole squares."""
        like = zeros(columns, PAIR_LANES)
        stride = PAIR_LANES * groups
        shift = self.row - 2 * self.height
        for group in range(groups):
            rows = pointer_to(jobs, first + GROUP_JOBS * group)
            for machine in range(0, self.height, GROUP_JOBS):
                copy_transposed(
                    self.shifted,
                    rows,
                    self.row,
                    shift + 2 * machine,
                    columns,
                    start + PAIR_LANES * group + machine * stride,
                    stride,
                    like,
                )

    def cost(self, jobs: Ints, first: int, scratch: Ints) -> int:
        """Makespan of a complete permutation."""
        for machine in range(self.height):
            scratch[machine] = self.ends[machine]
        for position in range(first, first + self.n_jobs):
            row = jobs[position] * self.height
            end = 0
            for machine in range(self.height):
                end = max(end, scratch[machine]) + self.times[row + machine]
                scratch[machine] = end
        longest: int = int64(0)
        for machine in range(self.height):
            after = self.ends[self.height + machine]
            longest = max(longest, scratch[machine] + after)
        return longest


@inlined
def front_at(nodes: Lanes, at: int, machine: int, side: int) -> int:
    """Front of a node on a machine, or its back on ``n_machines - 1 - machine``.

    On an empty side the least head or tail.
    """
    front: int = int64(nodes[at + 2 * machine + side])
    return front


def _pairs(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of machines as pairs (machine k, machine m - 1 - k)."""
    return np.stack([rows, rows[:, ::-1]], axis=2).reshape(len(rows), -1)


def _aligned_copy(rows: NDArray[np.int64], dtype: DTypeLike) -> NDArray[Any]:
    """Flat copy; a vector that starts at any of its elements may be read."""
    flat = aligned_zeros(rows.size + PAIR_LANES, dtype)
    flat[: rows.size] = rows.ravel()
    return flat
