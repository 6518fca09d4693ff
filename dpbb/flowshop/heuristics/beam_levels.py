"""What the beams of all devices share: guides, the root, the outcome of one run."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.problem import FlowShopProblem

NO_KEY = 2**31 - 1
"""Key of a candidate that is pruned or on the other side."""

BACK = 1 << 15
"""In a move: the job goes before the suffix."""


class Guide(IntEnum):
    """How the candidates of a level are compared; the numbers are the kernels'.

    Notes
    -----
    With the bound LB, the weight W = sum over machines of idle time / end, on both
    sides, the share alpha of the jobs that are scheduled and gamma = (UB - LB) / UB:
    WALPHA is alpha LB + (1 - alpha) W LB, GAP is LB / gamma + gamma W, and BOUND is LB,
    for children that are complete. While a side holds no job, WALPHA and GAP are very
    large: taken as 0, its idle time would fill the beam with one-sided nodes.
    """

    WALPHA = 0
    GAP = 1
    BOUND = 2


class Root(NamedTuple):
    """The partial schedule that a beam starts from.

    Parameters
    ----------
    ends : ndarray of int64, shape (2, n_machines)
        Fronts, and backs by mirrored machine; the least heads (tails) on an empty side.
    remain : ndarray of int64, shape (n_machines,)
        Total time of the unscheduled jobs.
    idle : ndarray of int64, shape (2, n_machines)
        Idle time before each end, as ``ends``; 0 on the first machine of a side.
    used
        Whether the prefix, the suffix holds a job.
    jobs : ndarray of intp
        Unscheduled jobs, ascending.
    """

    ends: NDArray[np.int64]
    remain: NDArray[np.int64]
    idle: NDArray[np.int64]
    used: tuple[bool, bool]
    jobs: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        problem: FlowShopProblem,
        prefix: NDArray[np.intp],
        suffix: NDArray[np.intp],
    ) -> Root:
        """Return the node with a prefix and a suffix, in the order of the schedule."""
        times = problem.times
        least = problem.least_heads, problem.least_tails[::-1]
        ends, idle = np.array(least), np.zeros((2, times.shape[1]), np.int64)
        for side, (order, rows) in enumerate(
            ((prefix, times), (suffix[::-1], times[:, ::-1]))
        ):
            if len(order):
                ends[side] = 0
            for job in order:
                end = 0
                for machine, duration in enumerate(rows[job]):
                    start = max(end, int(ends[side, machine]))
                    idle[side, machine] += start - ends[side, machine]
                    end = start + int(duration)
                    ends[side, machine] = end
        free = np.ones(len(times), bool)
        free[prefix] = free[suffix] = False
        jobs = np.flatnonzero(free)
        used = bool(len(prefix)), bool(len(suffix))
        return cls(ends, times[jobs].sum(axis=0), idle, used, jobs)

    @property
    def weights(self) -> NDArray[np.float32]:
        """Sum of idle time / end of each side, rounded after every step."""
        found = np.zeros(2, np.float32)
        for machine in range(1, self.ends.shape[1]):
            end = np.maximum(self.ends[:, machine], 1).astype(np.float32)
            found += self.idle[:, machine].astype(np.float32) / end
        return found


class Outcome(NamedTuple):
    """What a run of some width found.

    Parameters
    ----------
    moves : ndarray of uint16, shape (rows, depth)
        The best nodes of the deepest level, best first: how they came about, a job
        each, plus ``BACK``.
    uncut
        No node below the upper bound was ever dropped: so no schedule that is better
        than the best of ``moves`` begins and ends as the root does; none at all if
        they are not complete.
    nodes
        Nodes expanded.
    value
        Bound of the best node if it is complete: its makespan. Else None.
    """

    moves: NDArray[np.uint16]
    uncut: bool
    nodes: int
    value: int | None


class Levels(Protocol):
    """Beams from one root on one kind of device."""

    @property
    def narrowest(self) -> int:
        """A width of which a run takes hardly longer than one of 1."""

    @property
    def widest(self) -> int:
        """The largest width that memory allows."""

    def run(
        self, width: int, ub: int, guide: Guide, rows: int, over: Callable[[], bool]
    ) -> Outcome | None:
        """Search below ``ub``; None if ``over``, asked again and again, says so.

        ``rows``: how many nodes of the deepest level are wanted.
        """


def best_of(keys: NDArray[np.int32], rows: int) -> NDArray[np.intp]:
    """Where the least keys are, least first; of equal ones the first come first."""
    least = np.arange(len(keys))
    if len(keys) > rows:
        limit = np.partition(keys, rows - 1)[rows - 1]
        below, equal = np.flatnonzero(keys < limit), np.flatnonzero(keys == limit)
        least = np.sort(np.concatenate([below, equal[: rows - len(below)]]))
    return least[np.argsort(keys[least], kind="stable")]
