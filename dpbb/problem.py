"""What a permutation problem must offer: the one seam between problems and engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

StateT = TypeVar("StateT")


@runtime_checkable
class Problem(Protocol[StateT]):
    """Minimize an integer cost over all permutations of ``n_jobs`` jobs.

    A partial schedule is a *prefix* and a *suffix*; what the bounds need to know of
    it is an opaque, immutable *state* of the problem's own. Engines keep track of
    which jobs are unscheduled and always pass them in ascending root order. A
    problem travels between processes by pickle, so its class must be importable on
    the workers (or be pickled by value by cloudpickle).

    The generic engine (``reference``) needs only this protocol; the fast engines
    are specialized and say in ``Engine.supports`` which problems they take.
    """

    @property
    def name(self) -> str:
        """Short name of the kind of problem, such as ``"flowshop-makespan"``."""

    @property
    def n_jobs(self) -> int:
        """Number of jobs, at least 1."""

    @property
    def digest(self) -> str:
        """Hexadecimal digest of everything that the cost depends on."""

    @property
    def trivial_ub(self) -> int:
        """A value above the cost of every permutation: the UB when none is known."""

    def root_state(self) -> StateT:
        """State of the empty partial schedule."""

    def child_bounds(
        self, state: StateT, jobs: NDArray[np.intp], *, back: bool
    ) -> NDArray[np.int64]:
        """Lower bounds of the children that schedule each of ``jobs`` next.

        Parameters
        ----------
        state
            State of the node that is decomposed.
        jobs : ndarray of intp, shape (r,)
            *All* unscheduled jobs of the node, r >= 2.
        back
            False: the job is appended to the prefix; True: put before the suffix.

        Returns
        -------
        ndarray of int64, shape (r,)
            For every child a value that no completion of it is below.
        """

    def extend(self, state: StateT, job: int, *, back: bool) -> StateT:
        """State of the child that appends ``job`` to the prefix (or the suffix)."""

    def evaluate(self, permutation: NDArray[np.intp]) -> int:
        """Exact cost of a complete permutation; ``permutation`` has shape (n_jobs,)."""


def costs_of(
    problem: Problem[Any], permutations: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Exact costs, shape (r,), of complete permutations of shape (r, n_jobs).

    A problem may have a method ``evaluate_all`` that does the same at a time.
    """
    evaluate_all = getattr(problem, "evaluate_all", None)
    if evaluate_all is not None:
        return np.asarray(evaluate_all(permutations), np.int64)
    return np.array([problem.evaluate(row) for row in permutations], np.int64)


def root_bound(problem: Problem[Any]) -> int:
    """Lower bound of the whole tree: the better of the least bounds of the two sides.

    Notes
    -----
    Every permutation completes one of the root's front children, and one of its back
    children.
    """
    jobs = np.arange(problem.n_jobs, dtype=np.intp)
    if problem.n_jobs == 1:
        return problem.evaluate(jobs)
    root = problem.root_state()
    sides = (problem.child_bounds(root, jobs, back=back) for back in (False, True))
    return max(int(bounds.min()) for bounds in sides)


def objective_of(problem: object) -> str:
    """Return the problem's ``objective`` if it has that attribute.

    Of others: "makespan" where the problem's name ends so, else "cost".
    """
    known = getattr(problem, "objective", None)
    if known:
        return str(known)
    name = str(getattr(problem, "name", ""))
    return "makespan" if name.endswith("makespan") else "cost"
