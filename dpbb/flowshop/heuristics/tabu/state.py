"""What CPU and GPU share: the rules of a generation and the state of some searches."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.makespan import append_job


class Neighbourhood(StrEnum):
    """Which neighbours a permutation has."""

    SWAP = "swap"
    INSERT = "insert"


class Sharing(StrEnum):
    """Which columns of the parent its neighbours use."""

    NONE = "none"
    PREFIX = "prefix"
    BOTH = "both"


class Tabu(StrEnum):
    """What is forbidden for a while after a move."""

    PAIRS = "pairs"
    PERMUTATIONS = "permutations"
    POSITIONS = "positions"


class Objective(StrEnum):
    """What a schedule costs."""

    MAKESPAN = "makespan"
    FLOW_TIME = "flow-time"


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """What a generation does, wherever it runs.

    Parameters
    ----------
    times : ndarray of int64, shape (n_jobs, n_machines)
    neighbourhood, sharing, tabu, objective
        See their types.
    tenure
        Generations for which a move is forbidden.
    kept
        Positions at the front and at the back that stay as they are.
    """

    times: NDArray[np.int64]
    neighbourhood: Neighbourhood
    sharing: Sharing
    tabu: Tabu
    objective: Objective
    tenure: int
    kept: tuple[int, int] = (0, 0)

    @property
    def insert(self) -> bool:
        """Whether neighbours are insertions."""
        return self.neighbourhood is Neighbourhood.INSERT

    def neighbours(self, n_jobs: int) -> int:
        """Return the number of neighbours of a permutation, at least 1."""
        pairs = n_jobs * (n_jobs - 1)
        return max(1, pairs if self.insert else pairs // 2)

    def operations(self, n_jobs: int) -> float:
        """Return the operations of one generation of one search, about."""
        m = int(self.times.shape[1])
        if self.insert:
            return 10.0 * n_jobs * n_jobs * m
        share = {Sharing.NONE: 2, Sharing.PREFIX: 3, Sharing.BOTH: 6}[self.sharing]
        return float(n_jobs) ** 3 / share * m

    def values(self, permutations: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return what permutations of shape (r, n_jobs) cost, shape (r,)."""
        fronts = np.zeros((len(permutations), self.times.shape[1]), np.int64)
        sums = np.zeros(len(permutations), np.int64)
        for jobs in permutations.T:
            fronts = append_job(fronts, self.times[jobs])
            sums += fronts[:, -1]
        return sums if self.objective is Objective.FLOW_TIME else fronts[:, -1]


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
        values = rules.values(starts.astype(np.uint32))
        history = np.zeros((len(starts), generations + 1), np.int64)
        history[:, 0] = values
        moves = np.full((len(starts), generations), -1, np.int32)
        both = np.repeat(values[:, None], 2, axis=1)
        return cls(starts.copy(), starts.copy(), both, history, moves)


def default_tenure(n_jobs: int) -> int:
    """Return generations for which a move is tabu unless told otherwise."""
    return max(7, n_jobs // 4)


def codes(n_jobs: int) -> NDArray[np.uint64]:
    """Return a fixed number for every position and job, shape (n_jobs, n_jobs).

    The hash of a permutation is the sum of its jobs' numbers, modulo 2^64, so that the
    hash of a neighbour follows from its parent's. SplitMix64 (Steele, Lea, Flood,
    OOPSLA 2014).
    """
    x = np.arange(1, n_jobs * n_jobs + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        x *= np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return (x ^ x >> np.uint64(31)).reshape(n_jobs, n_jobs)


def swap_of(index: int, n_jobs: int) -> tuple[int, int]:
    """Return the positions i < j of a swap: pairs are numbered row by row."""
    i = int(n_jobs - 0.5 - np.sqrt((n_jobs - 0.5) ** 2 - 2.0 * index))
    while i * (2 * n_jobs - i - 1) // 2 > index:
        i -= 1
    while (i + 1) * (2 * n_jobs - i - 2) // 2 <= index:
        i += 1
    return i, index - i * (2 * n_jobs - i - 1) // 2 + i + 1


def insertion_of(index: int, n_jobs: int) -> tuple[int, int]:
    """Return where an insertion takes a job out and where it puts it."""
    source, target = divmod(index, n_jobs - 1)
    return source, target + (target >= source)
