"""What CPU and GPU share: the rules of a generation and the state of some searches."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.makespan import makespans


class Sharing(StrEnum):
    """Which columns of the parent its neighbours use on a GPU."""

    NONE = "none"
    PREFIX = "prefix"
    BOTH = "both"


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """What a generation does, wherever it runs.

    Parameters
    ----------
    times : ndarray of int64, shape (n_jobs, n_machines)
    sharing
        What a GPU shares; None: what is fastest.
    tenure
        Generations for which two jobs are not moved against each other.
    kept
        Positions at the front and at the back that stay as they are.
    """

    times: NDArray[np.int64]
    sharing: Sharing | None
    tenure: int
    kept: tuple[int, int] = (0, 0)

    @property
    def n_neighbours(self) -> int:
        """Neighbours of a permutation."""
        n_jobs = len(self.times)
        return n_jobs * (n_jobs - 1) // 2

    @property
    def operations(self) -> float:
        """Operations of one generation of one search, about."""
        n_jobs, n_machines = self.times.shape
        return float(n_jobs) ** 3 / 6 * n_machines

    def makespans(self, permutations: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the makespans of permutations of shape (r, n_jobs), shape (r,)."""
        nothing = np.zeros(self.times.shape[1], np.int64)
        return makespans(self.times, permutations.astype(np.intp), nothing, nothing)


@dataclass(slots=True, eq=False)
class State:
    """Some searches, so far.

    Parameters
    ----------
    parents, bests : ndarray of int32, shape (searches, n_jobs)
    values : ndarray of int64, shape (searches, 2)
        Of the parent and of the best.
    history : ndarray of int64, shape (searches, generations + 1)
        Values of the parents, the start first.
    moves : ndarray of int32, shape (searches, generations)
        Index of the neighbour that became the parent; -1: all were tabu.
    generation
        How many are done.
    """

    parents: NDArray[np.int32]
    bests: NDArray[np.int32]
    values: NDArray[np.int64]
    history: NDArray[np.int64]
    moves: NDArray[np.int32]
    generation: int = 0

    @classmethod
    def of(cls, rules: Rules, starts: NDArray[np.int32], generations: int) -> State:
        """Return searches that have not begun."""
        values = rules.makespans(starts)
        history = np.zeros((len(starts), generations + 1), np.int64)
        history[:, 0] = values
        moves = np.full((len(starts), generations), -1, np.int32)
        both = np.repeat(values[:, None], 2, axis=1)
        return cls(starts.copy(), starts.copy(), both, history, moves)


class Searches(Protocol):
    """Searches on one kind of device, which write what they do into their ``State``.

    ``part``: how many generations go together between two looks at the limits.
    """

    state: State
    part: int

    def advance(self, last: int) -> None:
        """Make the moves of all generations up to ``last``, counted from 1."""

    def neighbours(self) -> NDArray[np.int64]:
        """Return the makespans of all neighbours of the first parent.

        Searches on a GPU advance by a generation.
        """
