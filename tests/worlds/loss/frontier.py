"""Seats that hold millions of open roots and explore nothing: for checkpoints alone.

In the place of the CPU engine by ``DPBB_ENGINES=cpu=tests.worlds.loss.frontier:
FrontierEngine``, with ``DPBB_FRONTIER`` roots a seat. Every session makes up a frontier
of its unit: a random tree, grown level by level in arrays. It is one that a search
could have: reports pass all checks, as the counts are those of a tree.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.base import Slice
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.tree.work_unit import Packed, WorkUnit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.engines.base import Device
    from dpbb.options import TreeOptions
    from dpbb.problem import Problem

VARIABLE = "DPBB_FRONTIER"
SLICE_S = 0.1
OPEN_SHARE = 0.35
"""Of all children: so many are not pruned."""

ROOT_SHARE = 0.3
"""Of those: so many are roots, which nobody has looked at."""

CLOSED_A_SLICE = 500
FEW_ROOTS = 4096
REST_S = 5.0
"""A seat that nobody has asked for roots for so long has its large frontier."""


class FrontierEngine(CpuEngine):
    """The CPU engine with sessions that pretend."""

    def warm_up(self, problem: Problem[Any], tree: TreeOptions, device: Device) -> None:
        """Do nothing."""

    def open(  # type: ignore[override]
        self, problem: Problem[Any], tree: TreeOptions, device: Device, **options: Any
    ) -> FrontierSession:
        """Start a session; ``options`` change nothing."""
        del options
        return FrontierSession(problem.n_jobs, int(os.environ[VARIABLE]))


class FrontierSession:
    """Gives away what it is asked for; then, with nobody asking, has a large frontier.

    See ``dpbb.engines.base.Session``. Of the large frontier the last roots are closed
    slice by slice, and nothing is given away.
    """

    slice_s = SLICE_S

    def __init__(self, n_jobs: int, n_roots: int) -> None:
        self._n_jobs, self._wanted = n_jobs, n_roots
        self._roots = WorkUnit.empty(n_jobs)
        self._large = False
        self._asked_at = 0.0
        self._decomposed = 0
        self._closed = np.zeros(n_jobs + 1, np.int64)
        self._rng = np.random.default_rng(n_roots)
        self._interrupted = threading.Event()

    def interrupt(self) -> None:
        """End the slice under way."""
        self._interrupted.set()

    def load(self, unit: WorkUnit) -> None:
        """Make up a small frontier below a unit; there must be none yet."""
        if len(self._roots):
            raise ValueError("expected one unit a session")
        self._decomposed += unit.owned_ancestors
        self._roots = unit
        self._grow(FEW_ROOTS)

    def _grow(self, n_roots: int) -> None:
        self._roots, expanded, pruned = grown(self._roots, n_roots, self._rng)
        self._decomposed += expanded
        self._closed += pruned
        self._asked_at = time.monotonic()

    def advance(
        self, ub: int, max_seconds: float, most_roots: int | None = None
    ) -> Slice:
        """Wait, and close some roots: all children of each are pruned."""
        if most_roots is None:
            self._interrupted.wait(max_seconds)
        self._interrupted.clear()
        if not self._large and time.monotonic() >= self._asked_at + REST_S:
            self._large = True
            self._grow(self._wanted)
        if self._large:
            self._close_some()
        n_open = len(self._roots)
        part = Slice(self._decomposed, 0, self._closed, None, n_open, None, not n_open)
        self._decomposed, self._closed = 0, np.zeros_like(self._closed)
        return part

    def _close_some(self) -> None:
        depths, shared, tails = self._roots.to_arrays().values()
        kept = max(len(depths) - CLOSED_A_SLICE, 0)
        gone = depths[kept:].astype(np.int64)
        self._decomposed += len(gone)
        np.add.at(self._closed, gone + 1, self._n_jobs - gone)
        n_tails = len(tails) - int((gone - shared[kept:]).sum())
        left = Packed(depths[:kept], shared[:kept], tails[:n_tails])
        self._roots = WorkUnit(self._n_jobs, left)

    def donate(self, max_roots: int) -> WorkUnit:
        """Give half of a small frontier away."""
        if self._large:
            return WorkUnit.empty(self._n_jobs)
        self._asked_at = time.monotonic()
        self._roots, given = self._roots.donate(max_roots)
        return given

    def remaining(self) -> WorkUnit:
        """All open roots."""
        return self._roots

    def use_threads(self, threads: int | None) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Free memory."""
        self._roots = WorkUnit.empty(self._n_jobs)


def grown(
    unit: WorkUnit, n_roots: int, rng: np.random.Generator
) -> tuple[WorkUnit, int, NDArray[np.int64]]:
    """Grow a random tree below a unit, until it has about so many open roots.

    Parameters
    ----------
    unit
        Roots of which none is a leaf.
    n_roots
        Wanted; there are fewer where the tree has no more.
    rng
        Draws what is pruned, and what is a root.

    Returns
    -------
    roots : WorkUnit
        Open ones.
    expanded : int
        Nodes that were decomposed.
    pruned : ndarray of int64, shape (n_jobs + 1,)
        Closed subtrees at each depth.
    """
    n_jobs = unit.n_jobs
    digits, depths = unit.digits, unit.depths.astype(np.int64)
    is_root = np.zeros(len(unit), np.bool_)
    expanded, pruned = 0, np.zeros(n_jobs + 1, np.int64)
    while True:
        if np.all(is_root):
            is_root[:] = False
        open_nodes = np.flatnonzero(~is_root & (depths < n_jobs - 2))
        wanted = n_roots - len(depths)
        if wanted <= 0 or not len(open_nodes):
            return WorkUnit.from_table(n_jobs, depths, digits)[0], expanded, pruned
        gain = np.maximum(1, OPEN_SHARE * (n_jobs - depths[open_nodes]) - 1)
        some = open_nodes[: np.searchsorted(np.cumsum(gain), wanted) + 1]
        counts = np.ones(len(depths), np.int64)
        counts[some] = n_jobs - depths[some]
        parent = np.repeat(np.arange(len(depths)), counts)
        child = np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
        is_child = counts[parent] > 1
        stays = ~is_child | (rng.random(len(parent)) < OPEN_SHARE)
        expanded += len(some)
        pruned += np.bincount(depths[parent[~stays]] + 1, minlength=n_jobs + 1)
        parent, child, is_child = parent[stays], child[stays], is_child[stays]
        deepest = int(depths[parent].max(initial=0)) + 1
        digits = np.pad(digits, ((0, 0), (0, max(0, deepest - digits.shape[1]))))[
            parent
        ]
        rows = np.flatnonzero(is_child)
        digits[rows, depths[parent[rows]]] = child[rows]
        depths = depths[parent] + is_child
        is_root = is_root[parent]
        is_root[rows] = rng.random(len(rows)) < ROOT_SHARE
