"""The incumbent of a run, the UB that follows from it, and the optimal permutations.

Invariant I6: a value is believed only with its permutation, evaluated here again. The
UB (pruning threshold) is the smaller of the cutoff that the run started with and the
incumbent's value (one more when all optima are collected: prune LB > value).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.coordination.snapshot import Improvement
from dpbb.errors import InvariantError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpbb.engines.base import Candidate
    from dpbb.problem import Problem

MAX_OPTIMA_BYTES = 64 * 2**20
"""What a run holds of optimal permutations (2 bytes a job) that nobody has taken."""


def evaluate_candidate(problem: Problem[Any], candidate: Candidate, source: str) -> int:
    """Evaluate what an engine found, and compare with the value that it claims.

    Raises
    ------
    InvariantError
        It is no permutation of the jobs, or its value is another one: an engine that
        errs in a makespan errs in bounds too, so nothing it pruned can be trusted.
    """
    permutation = np.asarray(candidate.permutation, np.intp)
    if not is_permutation(permutation, problem.n_jobs):
        raise InvariantError(
            f"{source}: expected a permutation of {problem.n_jobs} jobs, "
            f"got {permutation.tolist()}"
        )
    value = problem.evaluate(permutation)
    if value != candidate.value:
        raise InvariantError(
            f"{source}: permutation {permutation.tolist()} has cost {value}, "
            f"but {candidate.value} was claimed"
        )
    return value


def is_permutation(permutation: NDArray[np.intp], n_jobs: int) -> bool:
    """Whether every job from 0 to n_jobs - 1 comes once."""
    return permutation.shape == (n_jobs,) and bool(
        np.array_equal(np.sort(permutation), np.arange(n_jobs))
    )


@dataclass(frozen=True, slots=True, eq=False)
class Optima:
    """Permutations of one cost.

    Parameters
    ----------
    value
        Their cost. A smaller one than in the last ``Optima`` of a run means that
        those were not optimal: a file of them starts again.
    permutations : ndarray of uint16, shape (k, n_jobs)
        Each found once.
    """

    value: int
    permutations: NDArray[np.uint16]


class Incumbent:
    """Best permutation, UB, trajectory, and with ``all_optima`` its equals.

    Parameters
    ----------
    cutoff
        The UB while no permutation of a smaller value is known.
    all_optima
        Prune only LB > value, and collect the permutations of that value.
    """

    def __init__(self, n_jobs: int, *, cutoff: int, all_optima: bool) -> None:
        self.n_jobs = n_jobs
        self.cutoff = cutoff
        self.all_optima = all_optima
        self.value: int | None = None
        self.permutation: tuple[int, ...] | None = None
        self.trajectory: list[Improvement] = []
        self.n_optima = 0
        self._optima: list[NDArray[np.uint16]] = []
        self._optima_bytes = 0

    @property
    def ub(self) -> int:
        """Prune LB >= ub."""
        if self.value is None:
            return self.cutoff
        return min(self.cutoff, self.value + self.all_optima)

    @property
    def optimum_if_exhausted(self) -> int:
        """What is proved to be the least cost (or a bound on it) without open roots."""
        return self.cutoff if self.value is None else min(self.cutoff, self.value)

    def improve(
        self, value: int, permutation: NDArray[np.intp], source: str, seconds: float
    ) -> bool:
        """Take an evaluated permutation if it is better; True if it is."""
        if self.value is not None and value >= self.value:
            return False
        self.value = value
        self.permutation = tuple(int(job) for job in permutation)
        self.trajectory.append(Improvement(seconds, value, source))
        self._optima, self._optima_bytes, self.n_optima = [], 0, 0
        return True

    def collect(self, candidates: Sequence[Candidate]) -> None:
        """Keep those evaluated candidates that cost as much as the incumbent.

        Each leaf is explored once by the ledger's account (they ride on the full
        reports that close it), so none comes twice. Beyond ``MAX_OPTIMA_BYTES`` they
        are only counted.
        """
        if self.value is None or self.value >= self.ub:
            return
        kept = [c.permutation for c in candidates if c.value == self.value]
        self.n_optima += len(kept)
        room = (MAX_OPTIMA_BYTES - self._optima_bytes) // (2 * self.n_jobs)
        if kept[:room]:
            block = np.array(kept[:room], np.uint16)
            self._optima.append(block)
            self._optima_bytes += block.nbytes

    def take_optima(self) -> Optima | None:
        """Hand over, and forget, what was collected; None without an incumbent."""
        if self.value is None:
            return None
        nothing = np.zeros((0, self.n_jobs), np.uint16)
        permutations = np.concatenate([nothing, *self._optima])
        self._optima, self._optima_bytes = [], 0
        return Optima(self.value, permutations)
