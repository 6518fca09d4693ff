"""The pool of a session as Python sees it: between slices, when no explorer runs."""

from __future__ import annotations

import numpy as np

from dpbb.engines.cpu.state import CONTROL_SIZE, EXPLORERS, TOP, make_pool
from dpbb.engines.cpu.walk import write_paths
from dpbb.kernels.pointers import addresses
from dpbb.tree.work_unit import WorkUnit

SPARE_SETS = 64
"""Sibling sets an explorer that explorers may leave on the pool for each other."""


class SiblingPool:
    """Sets of open siblings that wait for an explorer.

    Parameters
    ----------
    n_jobs
        Number of jobs of the tree.
    explorers
        Number of explorers that share the pool.
    """

    def __init__(self, n_jobs: int, explorers: int) -> None:
        self._n_jobs = n_jobs
        self._spare = SPARE_SETS * explorers
        self.control = np.zeros(CONTROL_SIZE, np.int64)
        self.control[EXPLORERS] = explorers
        self._arrays = make_pool(n_jobs, self._spare, self.control)
        self.address = addresses(self._arrays)

    @property
    def n_sets(self) -> int:
        """Number of sibling sets."""
        return int(self.control[TOP])

    def serve(self, explorers: int) -> None:
        """Be there for so many explorers from now on; none is at work."""
        self._spare = SPARE_SETS * explorers
        self.control[EXPLORERS] = explorers
        self.reserve(0)

    def reserve(self, n_sets: int) -> None:
        """Make room for so many more sets, or give back what is no longer needed."""
        top = self.n_sets
        needed = top + n_sets + self._spare
        if needed <= self._arrays.capacity <= 4 * needed:
            return
        old = self._arrays
        new = make_pool(self._n_jobs, needed, self.control)
        for name in ("level", "least", "path", "mask"):
            getattr(new, name)[:top] = getattr(old, name)[:top]
        self._arrays, self.address = new, addresses(new)

    def prune(self, ub: int) -> tuple[np.ndarray, int, int]:
        """Drop the sets that a fallen ub prunes, and empty ones.

        Returns
        -------
        closed : ndarray of int64, shape (n_jobs + 1,)
            Number of roots dropped at each depth.
        n_open, least
            Number of roots left and their least bound, -1 if there are none.
        """
        top = self.n_sets
        level, least, path, mask = (part[:top] for part in self._arrays[2:])
        sizes = np.bitwise_count(mask).sum(axis=1, dtype=np.int64)
        pruned = least >= ub
        closed = np.zeros(self._n_jobs + 1, np.int64)
        np.add.at(closed, level[pruned] + 1, sizes[pruned])
        kept = ~pruned & (sizes > 0)
        left = int(kept.sum())
        if left < top:
            for part in (level, least, path, mask):
                part[:left] = part[kept]
            self.control[TOP] = left
        least_left = int(least[:left].min()) if left else -1
        return closed, int(sizes[kept].sum()), least_left

    def export(self) -> tuple[WorkUnit, np.ndarray, np.ndarray]:
        """All roots, in order, and the set and bit of each for ``remove``."""
        top = self.n_sets
        n_roots = int(np.bitwise_count(self._arrays.mask[:top]).sum(dtype=np.int64))
        width = int(self._arrays.level[:top].max(initial=0)) + 1
        depths = np.zeros(n_roots, np.uint16)
        digits = np.zeros((n_roots, width), np.uint16)
        sets, bits = np.zeros(n_roots, np.int64), np.zeros(n_roots, np.int64)
        write_paths(
            self._n_jobs,
            self.address,
            width,
            *(part.ctypes.data for part in (depths, digits, sets, bits)),
        )
        unit, order = WorkUnit.from_table(self._n_jobs, depths, digits)
        return unit, sets[order], bits[order]

    def remove(self, sets: np.ndarray, bits: np.ndarray) -> None:
        """Take roots off the pool, named as by ``export``."""
        word, bit = np.divmod(bits, 64)
        mask = np.left_shift(np.uint64(1), bit.astype(np.uint64))
        np.bitwise_and.at(self._arrays.mask, (sets, word), ~mask)
