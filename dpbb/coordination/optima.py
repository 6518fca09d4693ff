"""The optimal permutations that a run has found: numbered, and held up to a limit.

They are held whether somebody has read them or not, so that whoever comes later, and a
checkpoint, has them all. Beyond the limit those go first that were written to a file,
which is then the record; when none were, further ones are only counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_OPTIMA_BYTES = 64 * 2**20
"""What a run holds of optimal permutations, which take 2 bytes a job."""

CHUNK_BYTES = 4 * 2**20
"""What a reader is given at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Optima:
    """Permutations of one cost.

    Parameters
    ----------
    value
        Their cost. A smaller one than in the last ``Optima`` of a run means that
        those were not optimal: a file of them starts again.
    permutations : ndarray of uint16, shape (k, n_jobs)
        Each found once, in the order of discovery.
    first
        The number, from 0, of the first of them; those before it are in a file alone.
    """

    value: int
    permutations: NDArray[np.uint16]
    first: int = 0

    @property
    def end(self) -> int:
        """The number after the last of them."""
        return self.first + len(self.permutations)

    def after(self, value: int | None, position: int) -> Optima:
        """Return the next chunk for a reader.

        ``value``, ``position``: cost and number of those that the reader has; None and
        0 at first.
        """
        start = max(self.first, position if value == self.value else 0)
        at = start - self.first
        most = max(1, CHUNK_BYTES // (2 * self.permutations.shape[1]))
        return Optima(self.value, self.permutations[at : at + most], start)


class FoundOptima:
    """Permutations of one cost as they are found.

    Parameters
    ----------
    n_jobs
        Length of a permutation.
    held : ndarray of uint16, shape (k, n_jobs)
        Those that are held already.
    first
        The number of the first of them.
    n_found
        How many were found in all.
    """

    def __init__(
        self,
        n_jobs: int,
        held: NDArray[np.uint16] | None = None,
        first: int = 0,
        n_found: int = 0,
    ) -> None:
        nothing = np.zeros((0, n_jobs), np.uint16)
        # Rows are written once: a view of those held is a copy for all purposes.
        self._rows = nothing if held is None else held
        self._n_held = len(self._rows)
        self.first = self._read = first
        self.n_found = n_found

    def add(self, rows: Sequence[NDArray[np.intp]]) -> None:
        """Take what was found, or what there is room for."""
        self.n_found += len(rows)
        most = MAX_OPTIMA_BYTES // (2 * self._rows.shape[1])
        if self._n_held + len(rows) > most and self._read > self.first:
            self._drop_read()
        kept = rows[: max(0, most - self._n_held)]
        if not kept:
            return
        end = self._n_held + len(kept)
        if end > len(self._rows):
            grown = np.zeros((min(most, 2 * end), self._rows.shape[1]), np.uint16)
            grown[: self._n_held] = self.held
            self._rows = grown
        self._rows[self._n_held : end] = kept
        self._n_held = end

    @property
    def held(self) -> NDArray[np.uint16]:
        """Those that are held; does not change any more."""
        return self._rows[: self._n_held]

    def note_read(self, position: int) -> None:
        """Take note that all before this number are written to a file."""
        end = self.first + self._n_held
        self._read = max(self._read, min(position, end))

    def _drop_read(self) -> None:
        """Let go of those that are in a file."""
        self._rows = self.held[self._read - self.first :].copy()
        self.first, self._n_held = self._read, len(self._rows)
