"""The levels of a beam: what all devices share, and what each has to do."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.problem import FlowShopProblem

logger = logging.getLogger(__name__)

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


class Levels:
    """Beams of one problem on one kind of device, which has the steps.

    Parameters
    ----------
    kept
        Moves that all nodes begin with.

    Attributes
    ----------
    narrowest, widest
        A width of which a run takes hardly longer than one of 1; the largest one that
        memory allows.
    """

    narrowest: int
    widest: int

    def __init__(self, problem: FlowShopProblem, kept: NDArray[np.uint16]) -> None:
        self._kept = kept
        self._n_jobs = problem.n_jobs
        self._n_levels = problem.n_jobs - len(kept)

    def run(
        self, width: int, ub: int, guide: Guide, rows: int, over: Callable[[], bool]
    ) -> Outcome | None:
        """Search below ``ub``; None if ``over``, asked again and again, says so.

        None, too, if there is no memory left for the width. ``rows``: how many nodes of
        the deepest level are wanted.
        """
        try:
            self._begin(width)
        except MemoryError:
            logger.info("no memory for a beam of %d nodes", width)
            return None
        nodes, expanded, uncut, depth = 1, 0, True, 0
        for r in range(self._n_levels, 0, -1):
            last = r == 1
            alive = self._expand(nodes, r, ub, Guide.BOUND if last else guide, over)
            if alive is None:
                return None
            expanded += nodes
            if not alive:
                break
            wanted = min(width, rows) if last else width
            uncut &= last or alive <= wanted  # of complete ones the best are enough
            self._take(depth, nodes, r, alive, wanted)
            nodes = min(alive, wanted)
            if not last:
                self._make(depth, nodes)
            depth += 1
        keys = self._keys_taken(nodes if depth else 0)
        best = best_of(keys, rows)
        whole = depth == self._n_levels and len(best) > 0
        value = int(keys[best[0]]) if whole else None
        return Outcome(self._trace(depth, best), uncut, expanded, value)

    def _begin(self, width: int) -> None:
        """Make room for levels of a width, with the root as the first one."""
        raise NotImplementedError

    def _expand(
        self, nodes: int, r: int, ub: int, guide: Guide, over: Callable[[], bool]
    ) -> int | None:
        """Bound all children, r a node; return how many live, None if ``over``."""
        raise NotImplementedError

    def _take(self, depth: int, nodes: int, r: int, alive: int, wanted: int) -> None:
        """List those with the least keys, as many as wanted, in their order."""
        raise NotImplementedError

    def _make(self, depth: int, nodes: int) -> None:
        """Make the next level of those that were taken."""
        raise NotImplementedError

    def _keys_taken(self, nodes: int) -> NDArray[np.int32]:
        """Return the keys of those that were taken last."""
        raise NotImplementedError

    def _trace(self, depth: int, nodes: NDArray[np.intp]) -> NDArray[np.uint16]:
        """Return the moves from the root to some nodes of a level."""
        raise NotImplementedError


def moves_of(
    prefix: NDArray[np.integer[Any]], suffix: NDArray[np.integer[Any]]
) -> NDArray[np.uint16]:
    """Return the moves to the node that begins and ends with these jobs."""
    return np.concatenate([prefix, suffix[::-1] + BACK]).astype(np.uint16)


def best_of(keys: NDArray[np.int32], rows: int) -> NDArray[np.intp]:
    """Where the least keys are, least first; of equal ones the first come first."""
    least = np.arange(len(keys))
    if len(keys) > rows:
        limit = np.partition(keys, rows - 1)[rows - 1]
        below, equal = np.flatnonzero(keys < limit), np.flatnonzero(keys == limit)
        least = np.sort(np.concatenate([below, equal[: rows - len(below)]]))
    return least[np.argsort(keys[least], kind="stable")]
