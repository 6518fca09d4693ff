"""What a permutation problem must offer, and what it may offer besides.

``Problem`` is all that exploring a tree takes. What else a problem can do it shows by
having the methods of a *capability*, a small protocol below: whoever needs one asks
``isinstance(problem, Capability)``, never for the class of a problem. Attributes that
a problem may have:

``objective``
    Text: what its cost is called (``objective_of``).
``bound``
    Text: name of its lower bound (``bound_of``). Of several (``HasBounds``) a problem
    is made with one.
``sides``
    The sides that partial schedules grow on: ``("front",)``, ``("back",)`` or both,
    which is what is assumed without it (``sides_of``). On another side no bound and
    no state is ever asked for.
``instance_name``
    Text: what this one of its kind is called (``instance_name_of``).
``n_machines``
    Number that is shown beside that of the jobs (``n_machines_of``).
``job_kinds``
    Integers, one for each job: jobs of one kind are equal. To exchange two of them in a
    permutation never changes its cost, nor a bound (``kinds_of``).
``names``
    ``Names``: what people call its jobs and machines (``names_of``).
``best_known``
    ``BestKnown``: published bounds on its optimum; None where there are none.
``least_cost``
    Integer: no permutation costs less. It may be above what ``child_bounds`` says of
    the root's children; computed once, before the tree (``proving_bound``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import InstanceError, OptionError, shown
from dpbb.options import LB1, Heuristics, TreeOptions
from dpbb.options.permutations import check_permutation
from dpbb.text.labels import names_of

if TYPE_CHECKING:
    from dpbb.result.schedule import Schedule
    from dpbb.text.labels import Names

StateT = TypeVar("StateT")
StateT_contra = TypeVar("StateT_contra", contravariant=True)

NO_CHILD = 2**63 - 1
"""Bound of a child that does not exist, as with jobs that have to wait for others.

The largest int64: no UB is above it. It is compared, never added up and never shown as
a bound; the leaves below such a child count as closed.
"""

SIDES = {"front": False, "back": True}
"""The sides of a partial schedule, and ``back`` as the methods of a problem take it."""


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
        """Length of the permutation, at least 1; its elements are called jobs."""

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
            For every child a value that no completion of it is below, and that is
            below ``NO_CHILD``; ``NO_CHILD`` if there is no such child. Of r = 2 the
            children are leaves, whose last job nobody asks about again.
        """

    def extend(self, state: StateT, job: int, *, back: bool) -> StateT:
        """State of the child that appends ``job`` to the prefix (or the suffix)."""

    def evaluate(self, permutation: NDArray[np.intp]) -> int:
        """Exact cost of a complete permutation; ``permutation`` has shape (n_jobs,).

        Raises
        ------
        ValueError
            The permutation has no cost, as with a job before one that it has to wait
            for; that of a leaf has one.
        """


@runtime_checkable
class EvaluatesAll(Protocol):
    """Evaluates many permutations faster than one by one."""

    def evaluate_all(self, permutations: NDArray[np.intp]) -> NDArray[np.int64]:
        """Exact costs, shape (r,), of complete permutations of shape (r, n_jobs)."""


@runtime_checkable
class InsertsJobs(Protocol):
    """Says faster what comes of inserting one job everywhere."""

    def insertion_costs(self, rest: NDArray[np.intp], job: int) -> NDArray[np.integer]:
        """Exact costs, shape (n_jobs,), by place of ``job`` among all other jobs."""


class Tightens(Protocol[StateT_contra]):
    """Has a bound that is dearer and stronger than ``child_bounds``.

    The branching side is always chosen by ``child_bounds``; ``tighten`` is asked only
    of the children on that side. It may be None: then the problem has no such bound.
    """

    bound: str

    def tighten(
        self,
        state: StateT_contra,
        jobs: NDArray[np.intp],
        bounds: NDArray[np.int64],
        ub: int,
        *,
        back: bool,
    ) -> NDArray[np.int64]:
        """Tighten the bounds of the children that are not pruned by them.

        Parameters
        ----------
        state, jobs, back
            As in ``child_bounds``.
        bounds : ndarray of int64, shape (r,)
            What ``child_bounds`` gave; not to be changed.
        ub
            Children with a bound of at least ``ub`` are pruned: their bounds need not
            be tightened, and a bound that reaches it no further.

        Returns
        -------
        ndarray of int64, shape (r,)
            Bounds, whose larger one of the two counts. Whether it is below a given UB
            must depend on the node alone: wherever the result is below ``ub``, it is
            the same for every ``ub``.
        """


class ChoosesSides(Protocol[StateT_contra]):
    """Has a branching rule of its own: ``branching="own"``, which is its default.

    ``choose_back`` may be None: then it has none. Engines that compile a model take it
    as a text alone (``Model.child_weight``).
    """

    def choose_back(
        self, state: StateT_contra, front: NDArray[np.int64], back: NDArray[np.int64]
    ) -> bool:
        """Whether a node takes its back children.

        A pure function of the state and of the bounds that ``child_bounds`` gives of
        the children of both sides, each of shape (r,), ``NO_CHILD`` among them: no
        proof is one where it says another side on another day, or on another worker.
        """


@runtime_checkable
class HasBounds(Protocol):
    """Can be made with one of several bounds."""

    def with_bound(self, bound: str) -> Problem[Any]:
        """Return the same problem with one of them; OptionError if it has it not.

        Its ``bound`` may be a longer text: that is what runs and files name it by.
        """


@runtime_checkable
class Renamed(Protocol):
    """Its jobs and machines can have names, which are no part of ``Encodable``."""

    def with_names(self, names: Names) -> Problem[Any]:
        """Return the same problem with other names."""


@runtime_checkable
class Encodable(Protocol):
    """Can be written as JSON: for checkpoints and certificates.

    ``dpbb.problems.decoder_of(problem.name)(data)`` is the way back.
    """

    def encode(self) -> dict[str, Any]:
        """Everything that makes the problem, as JSON values."""


@runtime_checkable
class PartOfSequence(Protocol):
    """Its permutations are parts of longer sequences, whose ends are given.

    People see and give the whole ones, by numbers of their own; trees, seats and
    checkpoints have the problem's.
    """

    def with_ends(self, front: tuple[int, ...], back: tuple[int, ...]) -> Problem[Any]:
        """Return the same problem with jobs that stay at the ends of every sequence.

        Raises
        ------
        InstanceError
            They are no jobs, or one comes twice, or no other is left.
        """

    def whole(self, permutation: Iterable[int]) -> tuple[int, ...]:
        """Return the whole sequence that a permutation is a part of."""

    def between(self, sequence: Sequence[int], what: str) -> tuple[int, ...]:
        """Return the permutation that is a part of a whole sequence.

        Raises
        ------
        OptionError
            It is none of all jobs, or has other ends; ``what`` is what the message
            calls it.
        """


@runtime_checkable
class Described(Protocol):
    """Has more to say of itself than its size."""

    def facts(self) -> dict[str, int | float | str]:
        """Return what ``dpbb info`` shows besides, by name (``"least_time"``)."""


@runtime_checkable
class Scheduled(Protocol):
    """A permutation of it says when every operation starts and ends."""

    def schedule(self, permutation: Sequence[int] | NDArray[np.intp]) -> Schedule:
        """Return the schedule of a complete permutation."""


@dataclass(frozen=True, slots=True)
class BestKnown:
    """Best published bounds on the optimum of a benchmark instance.

    Parameters
    ----------
    lower_bound, upper_bound
        Equal when the optimum is known; there is a permutation of ``upper_bound``.
    """

    name: str
    lower_bound: int
    upper_bound: int

    @property
    def optimal(self) -> bool:
        """Whether the upper bound is proved to be the optimum."""
        return self.lower_bound == self.upper_bound

    def __str__(self) -> str:
        if self.optimal:
            return f"{self.upper_bound} (optimal)"
        return f"{self.lower_bound} to {self.upper_bound}"


@dataclass(frozen=True, slots=True, eq=False)
class Incumbent:
    """A permutation found by a heuristic.

    Parameters
    ----------
    source
        What found it, such as ``"initial"``, ``"neh"``, ``"ig"`` or ``"beam"``.
    proved
        No permutation is better, says the search, which ends: it has reached the lower
        bound, or left nothing out. Of the latter there are no books: the proof is
        the tree's, which is small then.
    """

    value: int
    permutation: NDArray[np.intp]
    source: str
    proved: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class StartSearch:
    """What heuristics may use that look for a first incumbent.

    Parameters
    ----------
    method
        Name of a heuristic that the problem has, ``"auto"`` for what does best, or
        ``"none"`` for ``initial`` alone.
    time_limit_s
        Seconds to search, not counting what is compiled on the first use; None: as
        long as suits the problem, and less where the end comes soon.
    end
        ``time.monotonic()`` after which nobody waits any longer; None: never.
    threads
        Number of threads; None: all physical cores.
    seed
        Start of all pseudo-random choices, at least 0.
    iterations
        Steps of the method's own kind after which it ends; None: no such limit.
    device
        ``"cpu"`` or ``"gpu"``.
    initial
        A permutation to start from.
    lower_bound
        No permutation is below it: one of this cost ends the search.
    on_improvement
        Called in the caller's thread with every better incumbent.
    should_stop
        Polled in the caller's thread every few milliseconds; True ends the search.
    tree_waits
        Polled in the same way; True: the tree could be explored now, and heuristics
        would go on beside it.
    on_note
        Called in the caller's thread with what is waited for longer than a second, such
        as compiled code, and with an empty text when that is over.
    """

    method: str = Heuristics.AUTO
    time_limit_s: float | None = None
    end: float | None = None
    threads: int | None = None
    seed: int = 0
    iterations: int | None = None
    device: str = "cpu"
    initial: Sequence[int] | None = None
    lower_bound: int | None = None
    on_improvement: Callable[[Incumbent], None] = lambda _incumbent: None
    should_stop: Callable[[], bool] = lambda: False
    tree_waits: Callable[[], bool] = lambda: False
    on_note: Callable[[str], None] = lambda _text: None


@runtime_checkable
class HasHeuristics(Protocol):
    """Has heuristics of its own, which run before the tree is explored."""

    @property
    def heuristics(self) -> Sequence[str]:
        """Their names."""

    def first_incumbent(self, search: StartSearch) -> Incumbent | None:
        """Return the best permutation found, None if there is none."""


@runtime_checkable
class ImprovesSchedules(Protocol):
    """Has methods that improve a permutation while the tree is explored."""

    @property
    def improving_methods(self) -> Sequence[str]:
        """Names of those for one thread."""

    def improve(self, start: Incumbent, search: StartSearch) -> Incumbent:
        """Return the best permutation found from ``start``, or that itself.

        Lets other threads of the process run: a seat's may be among them. Called again
        and again, with other seeds. ``search.method`` is one of the names, or
        ``"auto"``: what does best with ``search.threads`` threads that work together.
        """


def jobs_of(problem: Problem[Any], permutation: Sequence[int]) -> NDArray[np.intp]:
    """Return the permutation as an array.

    OptionError: it is not one of all the problem's jobs.
    """
    return np.array(check_permutation(permutation, n_jobs=problem.n_jobs), np.intp)


def cost_of(problem: Problem[Any], permutation: NDArray[np.intp]) -> int:
    """Exact cost of a permutation that may not come from a tree.

    Raises
    ------
    OptionError
        It has none, as with a job before one that it has to wait for.
    """
    try:
        return evaluated(problem, permutation)
    except InstanceError:
        raise  # not for this permutation alone
    except ValueError as error:
        raise OptionError(f"permutation: {error}") from error


def evaluated(problem: Problem[Any], permutation: NDArray[np.intp]) -> int:
    """Exact cost as an int, which JSON and messages take; NumPy's are none.

    InstanceError: it is no whole number.
    """
    cost = problem.evaluate(permutation)
    try:
        return index(cost)
    except TypeError:
        where, got = f"evaluate of {problem.name}", shown(cost)
        raise InstanceError(f"{where}: expected a whole number, got {got}") from None


def costs_of(
    problem: Problem[Any], permutations: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Exact costs, shape (r,), of complete permutations of shape (r, n_jobs)."""
    if isinstance(problem, EvaluatesAll):
        return np.asarray(problem.evaluate_all(permutations), np.int64)
    return np.array([evaluated(problem, row) for row in permutations], np.int64)


def check_way(problem: Problem[Any], permutation: NDArray[np.intp], cost: int) -> None:
    """Raise ValueError if the tree has no leaf of a permutation with this cost.

    That is so where a bound on the way to it, from the root on one side, is above the
    cost: mostly ``NO_CHILD``.
    """
    back = sides_of(problem)[0]
    state, jobs = problem.root_state(), np.arange(problem.n_jobs, dtype=np.intp)
    way = permutation[::-1] if back else permutation
    for job in way[:-1].tolist():
        bounds = problem.child_bounds(state, jobs, back=back)
        if bounds[jobs == job][0] > cost:
            raise ValueError(
                f"child_bounds of {problem.name} say that there is no such child as "
                f"job {job} {'before' if back else 'after'} those placed so far"
            )
        state = problem.extend(state, job, back=back)
        jobs = jobs[jobs != job]


def whole_of(problem: Problem[Any], permutation: Iterable[int]) -> tuple[int, ...]:
    """Return the sequence that people know of a permutation: mostly itself."""
    if isinstance(problem, PartOfSequence):
        return problem.whole(permutation)
    return tuple(permutation)


def wholes_of(
    problem: Problem[Any], permutations: NDArray[np.integer[Any]]
) -> list[tuple[int, ...]]:
    """Return the sequences of many permutations, of shape (r, n_jobs)."""
    whole = problem.whole if isinstance(problem, PartOfSequence) else tuple
    return [whole(row) for row in permutations.tolist()]


def with_ends(
    problem: Problem[Any], front: Iterable[Any], back: Iterable[Any]
) -> Problem[Any]:
    """Return a problem with jobs that stay at its ends, given by number or name.

    Raises
    ------
    OptionError
        There is no job of a name; or the problem has no ends to give.
    InstanceError
        See ``PartOfSequence.with_ends``.
    """
    names = names_of(problem)
    given = names.numbers(front, "front"), names.numbers(back, "back")
    if not any(given):
        return problem
    if not isinstance(problem, PartOfSequence):
        raise OptionError(
            f"front, back: expected a problem whose sequences may have given ends, "
            f"such as a flow shop, got one of kind {problem.name!r}"
        )
    return problem.with_ends(*given)


def part_of(
    problem: Problem[Any], sequence: Sequence[int], what: str = "permutation"
) -> tuple[int, ...]:
    """Return the permutation of a sequence that people know: mostly itself.

    Raises
    ------
    OptionError
        It is none of all jobs, or does not have the ends that are given.
    """
    if isinstance(problem, PartOfSequence):
        return problem.between(sequence, what)
    return check_permutation(sequence, what, problem.n_jobs)


def root_bound(problem: Problem[Any]) -> int:
    """Lower bound of the whole tree: the best of the least bounds of its sides.

    Notes
    -----
    Every permutation completes one of the root's children on each side that the problem
    branches on. Where the root has no child there is no permutation below the trivial
    UB.

    Raises
    ------
    InstanceError
        The children of the root do not have an integer each. Others would be rounded,
        and ``NO_CHILD`` would not be itself.
    """
    jobs = np.arange(problem.n_jobs, dtype=np.intp)
    if problem.n_jobs == 1:
        return evaluated(problem, jobs)
    root, least = problem.root_state(), []
    for back in sides_of(problem):
        bounds = problem.child_bounds(root, jobs, back=back)
        kind = bounds.dtype.kind if isinstance(bounds, np.ndarray) else "O"
        if kind not in "iu" or bounds.shape != jobs.shape:
            raise InstanceError(
                f"child_bounds of {problem.name}: expected {len(jobs)} whole numbers "
                f"in an array, got {shown(bounds)}"
            )
        least.append(int(bounds.min()))
    return min(max(least), problem.trivial_ub)


def proving_bound(problem: Problem[Any]) -> int:
    """Best bound that is known before the tree: a permutation of this cost is optimal.

    The larger one of the root's bound and of what the problem itself knows.
    """
    bound, known = root_bound(problem), getattr(problem, "least_cost", None)
    return bound if known is None else max(bound, known)


def check_numbers(problem: Problem[Any]) -> None:
    """Raise InstanceError if a problem's size or trivial UB is no number to work with.

    NumPy's integers are none: they overflow, and JSON does not take them.
    """
    for name, least in ("n_jobs", 1), ("trivial_ub", -NO_CHILD):
        value = getattr(problem, name)
        if type(value) is not int or not least <= value <= NO_CHILD:
            raise InstanceError(
                f"{name} of {problem.name}: expected an int from {least} to "
                f"{NO_CHILD}, got {value!r}"
            )


def sides_of(problem: Problem[Any]) -> tuple[bool, ...]:
    """Return the sides that a problem branches on, as values of ``back``.

    InstanceError: its ``sides`` are none, or others.
    """
    named = getattr(problem, "sides", SIDES)
    if isinstance(named, str) or not named or not set(named) <= set(SIDES):
        raise InstanceError(
            f"sides of {problem.name}: expected ('front',), ('back',) or both, got "
            f"{shown(named)}"
        )
    return tuple(back for side, back in SIDES.items() if side in named)


def kinds_of(problem: Problem[Any]) -> NDArray[np.intp] | None:
    """Return the kinds of the jobs, shape (n_jobs,); None where no two are equal."""
    named = getattr(problem, "job_kinds", None)
    if named is None:
        return None
    kinds = np.asarray(named)
    if kinds.shape != (problem.n_jobs,) or kinds.dtype.kind not in "iu":
        raise InstanceError(
            f"job_kinds of {problem.name}: expected {problem.n_jobs} whole numbers, "
            f"got an array of {kinds.dtype}, shape {kinds.shape}"
        )
    return kinds.astype(np.intp) if len(set(kinds.tolist())) < len(kinds) else None


def kinds_in_order(
    problem: Problem[Any], tree: TreeOptions
) -> NDArray[np.int64] | None:
    """Return the kinds in root order, shape (n_jobs,), if the tree skips copies."""
    kinds = kinds_of(problem) if tree.skips_copies else None
    if kinds is None:
        return None
    order = slice(None) if tree.root_order is None else list(tree.root_order)
    return kinds[order].astype(np.int64)


def bound_of(problem: Problem[Any]) -> str:
    """Return the name of a problem's bound: ``"lb1"`` if the problem does not name it.

    That is the tree's where the option ``bound`` is not given; ``with_bound`` says
    which other names may be.
    """
    name = getattr(problem, "bound", None)
    return str(name) if isinstance(name, str) else LB1


def with_bound(problem: Problem[Any], bound: str | None) -> Problem[Any]:
    """Return a problem with the bound that somebody asks for.

    None and the name of its own bound give the problem as it is, others a problem of
    this bound, if it can be made with it.

    Raises
    ------
    OptionError
        It has no such bound.
    """
    own = bound_of(problem)
    if bound is None or bound == own:
        return problem
    if isinstance(problem, HasBounds):
        return problem.with_bound(bound)
    raise OptionError(f"bound: expected {own}, got {shown(bound)}")


def instance_name_of(problem: Problem[Any]) -> str:
    """Return what a problem is called: its ``instance_name``, else its kind."""
    return str(getattr(problem, "instance_name", None) or problem.name)


def n_machines_of(problem: Problem[Any]) -> int:
    """Return the number of machines of a problem; 0 if it does not say so."""
    return int(getattr(problem, "n_machines", 0))


def best_known_of(problem: Problem[Any]) -> BestKnown | None:
    """Return published bounds on the optimum of a problem, if it knows any."""
    return getattr(problem, "best_known", None)


def objective_of(problem: object) -> str:
    """Return the problem's ``objective`` if it has that attribute.

    Of others: "makespan" where the problem's name ends so, else "cost".
    """
    known = getattr(problem, "objective", None)
    if known:
        return str(known)
    name = str(getattr(problem, "name", ""))
    return "makespan" if name.endswith("makespan") else "cost"
