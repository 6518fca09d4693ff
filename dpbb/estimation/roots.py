"""Systematic sampling, and samples of roots: a run may have millions of them left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dpbb.tree.work_unit import WorkUnit

MOST_WEIGHT = 1e302
"""Where weights and their sums end: floats end at 1.8e308."""


@dataclass(frozen=True, slots=True, eq=False)
class RootSample:
    """Roots in any order, each standing for several of its depth.

    Parameters
    ----------
    depths : ndarray of int64, shape (r,)
    digits : ndarray of int64, shape (r, w)
        As in ``WorkUnit``.
    weights : ndarray of float64, shape (r,)
        How many roots each one stands for.
    """

    depths: NDArray[np.int64]
    digits: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, unit: WorkUnit) -> RootSample:
        """All roots of a unit."""
        return cls(
            unit.depths.astype(np.int64),
            unit.digits.astype(np.int64),
            np.ones(len(unit)),
        )

    @classmethod
    def drawn_from(
        cls, units: Sequence[WorkUnit], most: int, random: np.random.Generator
    ) -> RootSample:
        """Draw about ``most`` roots of each depth from all units, some from each."""
        share = max(16, -(-most // max(1, len(units))))
        parts = []
        for unit in units:
            # without a table of all the unit's paths
            rows, weights, _ = thin(np.ones(len(unit)), unit.depths, share, random)
            rows, weights = rows[order := rows.argsort()], weights[order]
            some = cls.of(unit.take(rows))
            parts.append(cls(some.depths, some.digits, weights))
        width = max((part.digits.shape[1] for part in parts), default=1)
        digits = [np.zeros((0, width), np.int64)]
        for part in parts:
            missing = width - part.digits.shape[1]
            digits.append(np.pad(part.digits, ((0, 0), (0, missing))))
        return cls(
            np.concatenate([np.zeros(0, np.int64), *[part.depths for part in parts]]),
            np.concatenate(digits),
            np.concatenate([np.zeros(0), *[part.weights for part in parts]]),
        )

    def drawn(self, most: int, random: np.random.Generator) -> RootSample:
        """Draw at most ``most`` roots of each depth, by weight; ordered by depth.

        Evenly in the order in which they are: neighbors have subtrees of about one
        size.
        """
        rows, weights, _ = thin(self.weights, self.depths, most, random)
        return RootSample(self.depths[rows], self.digits[rows], weights)


def thin(
    weights: NDArray[np.float64],
    groups: NDArray[Any],
    most: int,
    random: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.float64], int]:
    """Keep at most ``most`` elements of each group, which carry the weight of all.

    Systematic sampling: of a group of total weight W, the numbers (k + u) W / most for
    k = 0, 1, ..., with one random u in [0, 1), each choose the element in whose part of
    [0, W) they fall. Every element's weight is on average what it was.

    Parameters
    ----------
    weights : ndarray of float64, shape (n,)
    groups : ndarray of unsigned integers, shape (n,)

    Returns
    -------
    rows : ndarray of intp
        Of the elements that are kept, by group, in a group as they were.
    weights : ndarray of float64
        Those that they carry.
    thinned : int
        Groups of which not all elements were kept.
    """
    order = np.argsort(groups, kind="stable")
    weights, groups = weights[order], groups[order]
    if not len(order):
        return order, weights, 0
    is_first = np.append(True, groups[1:] != groups[:-1])
    firsts = np.flatnonzero(is_first)
    sizes = np.diff(firsts, append=len(order))
    large = sizes > most
    if not large.any():
        return order, weights, 0
    with np.errstate(over="ignore"):
        totals = np.minimum(np.add.reduceat(weights, firsts), MOST_WEIGHT)
    group = np.cumsum(is_first) - 1  # groups from 0 on
    # each group's part is [g, g + 1), so that large weights leave small ones exact
    ends = (np.cumsum(weights / totals[group]) - group) * most
    offsets = random.random(len(firsts))
    hits = np.clip(np.ceil(ends - offsets[group]), 0, most)
    hits[firsts + sizes - 1] = most
    hits[1:] -= np.where(is_first[1:], 0, hits[:-1])
    carried = np.where(large[group], hits * (totals / most)[group], weights)
    kept = np.flatnonzero((hits > 0) | ~large[group])
    return order[kept], carried[kept], int(large.sum())
