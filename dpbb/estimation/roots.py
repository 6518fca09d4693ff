"""Samples of roots: what a run has left may be millions of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dpbb.tree.work_unit import WorkUnit


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
        parts = [cls._of_some(unit, share, random) for unit in units if len(unit)]
        width = max((part.digits.shape[1] for part in parts), default=1)
        digits = [np.zeros((0, width), np.int64)]
        for part in parts:
            missing = width - part.digits.shape[1]
            digits.append(np.pad(part.digits, ((0, 0), (0, missing))))
        nothing = np.zeros(0)
        return cls(
            np.concatenate([nothing.astype(np.int64), *[p.depths for p in parts]]),
            np.concatenate(digits),
            np.concatenate([nothing, *[part.weights for part in parts]]),
        )

    @classmethod
    def _of_some(
        cls, unit: WorkUnit, most: int, random: np.random.Generator
    ) -> RootSample:
        """As ``of(unit).drawn(most, random)``, without a table of all its paths."""
        rows, weights = _draw(unit.depths, np.ones(len(unit)), most, random)
        ascending = np.argsort(rows)
        some = cls.of(unit.take(rows[ascending]))
        back = np.argsort(ascending)
        return cls(some.depths[back], some.digits[back], weights)

    def drawn(self, most: int, random: np.random.Generator) -> RootSample:
        """Draw at most ``most`` roots of each depth, ordered by depth.

        By weight, and evenly in the order in which they are: neighbors have subtrees
        of about one size.
        """
        rows, weights = _draw(self.depths, self.weights, most, random)
        return RootSample(self.depths[rows], self.digits[rows], weights)

    def order(self) -> NDArray[np.intp]:
        """Rows in the order of their paths: neighbors have the longest common parts."""
        width = self.digits.shape[1]
        if not len(self.depths) or not width:
            return np.arange(len(self.depths))
        # big-endian, so that bytes compare as the numbers do; n is below 2**16
        rows = np.ascontiguousarray(self.digits, ">u2")
        return rows.view(np.dtype((np.void, 2 * width))).ravel().argsort()


def _draw(
    depths: NDArray[Any],
    weights: NDArray[np.float64],
    most: int,
    random: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Draw rows, and what each stands for; see ``RootSample.drawn``."""
    rows, found = [np.zeros(0, np.intp)], [np.zeros(0)]
    for depth in np.unique(depths):
        here = np.flatnonzero(depths == depth)
        if len(here) <= most:
            rows.append(here)
            found.append(weights[here])
            continue
        passed = weights[here].cumsum()
        step = passed[-1] / most
        at = (np.arange(most) + random.random()) * step
        hit = np.minimum(np.searchsorted(passed, at, side="right"), len(here) - 1)
        rows.append(here[hit])
        found.append(np.full(most, step))
    return np.concatenate(rows), np.concatenate(found)
