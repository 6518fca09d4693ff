"""The incumbent of a run, the UB that follows from it, and the optimal permutations.

Law 6: a value is believed only with its permutation, evaluated here again.
The upper bound UB is the smaller of the cutoff that the run started with and the
incumbent's value (one more when all optima are collected: prune LB > value).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.messages import RunSpec
from dpbb.coordination.optima import FoundOptima, Optima
from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError, OptionError
from dpbb.problem import Problem, cost_of, costs_of, jobs_of
from dpbb.result import Improvement

if TYPE_CHECKING:
    from dpbb.coordination.checkpoint import Checkpoint


def evaluate_candidate(
    problem: Problem[Any], candidate: Candidate, source: str
) -> None:
    """Compare the claimed value of what an engine found with its true one.

    InvariantError: it is no permutation of the jobs, or its value is another one: an
    engine that errs in a makespan errs in bounds too, so nothing it pruned can be
    trusted.
    """
    try:
        jobs = jobs_of(problem, np.asarray(candidate.permutation).tolist())
        value = cost_of(problem, jobs)
    except OptionError as error:
        raise InvariantError(f"{source}: {error}") from error
    if value != candidate.value:
        raise InvariantError(
            f"{source}: permutation {jobs.tolist()} has cost {value}, "
            f"but {candidate.value} was claimed"
        )


def evaluate_candidates(
    problem: Problem[Any], candidates: Sequence[Candidate], source: str
) -> None:
    """Do as ``evaluate_candidate`` with each; a report of all optima has thousands.

    InvariantError: see there.
    """
    if not candidates:  # as in most reports, of which there are hundreds a second
        return
    shape = (problem.n_jobs,)
    found = [np.asarray(candidate.permutation) for candidate in candidates]
    if all(jobs.shape == shape and jobs.dtype.kind in "iu" for jobs in found):
        rows = np.array(found, np.intp).reshape(-1, problem.n_jobs)
        values = [candidate.value for candidate in candidates]
        permutations = (np.sort(rows, axis=1) == np.arange(problem.n_jobs)).all()
        with suppress(ValueError):  # some have no cost
            if permutations and costs_of(problem, rows).tolist() == values:
                return
    for candidate in candidates:  # one of them will not do: say which, and why
        evaluate_candidate(problem, candidate, source)


def _steps_before(spec: RunSpec) -> list[Improvement]:
    """Return what the caller's heuristics found, at negative seconds of the run."""
    before_s, steps = spec.request.seconds, spec.request.known.trajectory
    return [replace(step, seconds=step.seconds - before_s) for step in steps]


class Incumbent:
    """Best permutation, UB, trajectory, and with ``all_optima`` its equals.

    Of a run that starts, or goes on from a checkpoint. A cutoff above every cost prunes
    nothing, so it is lowered to ``trivial_ub``, for which the engines have integers
    that are wide enough. That of a run which goes on may be smaller than before. The
    permutation of the spec is used where it is better than what is known.

    OptionError: it is not one of all the problem's jobs.

    Attributes
    ----------
    cutoff
        The UB while no permutation of a smaller value is known.
    all_optima
        Prune only LB > value, and collect the permutations of that value.
    """

    def __init__(self, spec: RunSpec, saved: Checkpoint | None = None) -> None:
        problem = spec.problem
        self.n_jobs, self.all_optima = problem.n_jobs, spec.options.all_optima
        self.cutoff = problem.trivial_ub if saved is None else saved.cutoff
        if spec.upper_bound is not None:
            self.cutoff = min(self.cutoff, spec.upper_bound)
        self.value: int | None = None
        self.permutation: tuple[int, ...] | None = None
        self.trajectory: list[Improvement] = []
        self._optima = FoundOptima(self.n_jobs)
        if saved is not None:
            self.value, self.permutation = saved.value, saved.permutation
            self.trajectory = list(saved.trajectory)
            self._optima = FoundOptima(
                self.n_jobs, saved.optima, saved.first_optimum, saved.n_optima
            )
        if spec.permutation is None:
            return
        jobs = jobs_of(problem, spec.permutation)
        value = cost_of(problem, jobs)
        if saved is None:
            if self.cutoff >= value:  # then the permutation alone makes the UB
                self.cutoff = problem.trivial_ub
            self.improve(value, jobs, "start", 0.0)
            steps = _steps_before(spec)
            if steps and steps[-1].value == value:
                self.trajectory = steps
        elif self.value is None or value < self.value:
            self.improve(value, jobs, "initial", saved.totals.seconds)

    @property
    def ub(self) -> int:
        """Prune LB >= ub."""
        if self.value is None:
            return self.cutoff
        return min(self.cutoff, self.value + self.all_optima)

    @property
    def origin(self) -> tuple[int, ...] | None:
        """The permutation that the UB comes from; None: it is a cutoff."""
        value = self.value
        return None if value is None or self.ub < value else self.permutation

    @property
    def optimum_if_exhausted(self) -> int:
        """What is proved to be the least cost (or a bound on it) without open roots."""
        return self.cutoff if self.value is None else min(self.cutoff, self.value)

    def improve(
        self, value: int, permutation: NDArray[np.intp], source: str, seconds: float
    ) -> None:
        """Take a better permutation, of which the value is known to be true."""
        self.value = value
        self.permutation = tuple(int(job) for job in permutation)
        self.trajectory.append(Improvement(seconds, value, source))
        self._optima = FoundOptima(self.n_jobs)

    def collect(self, candidates: Sequence[Candidate]) -> None:
        """Keep those evaluated candidates that cost as much as the incumbent.

        Each leaf is explored once by the ledger's account (they ride on the full
        reports that close it), so none comes twice.
        """
        if self.value is None or self.value >= self.ub:
            return
        self._optima.add([c.permutation for c in candidates if c.value == self.value])

    @property
    def n_optima(self) -> int:
        """How many were found."""
        return self._optima.n_found

    def optima(self) -> Optima | None:
        """Return those that are held; None: no incumbent."""
        if self.value is None:
            return None
        return Optima(self.value, self._optima.held, self._optima.first)

    def optima_after(self, value: int | None, position: int) -> Optima | None:
        """Return the next chunk for a reader, who writes them to a file.

        ``value``, ``position``: cost and number of those that are written; None and 0
        at first. None: there are none, or they are not collected.
        """
        if not self.all_optima:
            return None
        if value is not None and value == self.value:
            self._optima.note_read(position)
        optima = self.optima()
        return None if optima is None else optima.after(value, position)
