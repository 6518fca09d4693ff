"""The permutation flow shop with makespan objective as the engines see it."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from inspect import isfunction
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import InstanceError
from dpbb.flowshop import bounds
from dpbb.flowshop.given import GivenEnds
from dpbb.flowshop.heuristics import first
from dpbb.flowshop.heuristics.plain import insertion
from dpbb.flowshop.instance import FlowShopInstance, check_columns
from dpbb.flowshop.makespan import (
    append_job,
    longest_makespan,
    makespans,
    prepend_job,
    schedule,
)
from dpbb.options import LB1
from dpbb.problem import BestKnown, check_way
from dpbb.problems import load
from dpbb.result.schedule import Schedule
from dpbb.text.labels import Names

if TYPE_CHECKING:
    from dpbb.flowshop.models.makespan import Makespan


@dataclass(frozen=True, slots=True, eq=False)
class FlowShopState:
    """A partial schedule, as far as bounds depend on it; never changed in place.

    Parameters
    ----------
    front, back, remain : ndarray of int64, shape (n_machines,)
        End of the prefix, tail of the suffix and total time of the unscheduled
        jobs on every machine; on an empty side the least head (tail) of all jobs.

    Notes
    -----
    The least heads are right for the front of a first job, too: it begins nowhere
    before them, so that starting from them changes nothing.
    """

    front: NDArray[np.int64]
    back: NDArray[np.int64]
    remain: NDArray[np.int64]


NOT_INHERITED = (
    *("best_known", "encode", "engine_model", "evaluate_all", "facts", "heuristics"),
    *("first_incumbent", "improve", "improving_methods", "insertion_costs"),
    *("job_kinds", "least_cost", "with_bound", "with_names"),
)
"""What holds of a plain flow shop and need not hold where something is overridden."""

OF_MAKESPANS = ("objective", "schedule")
"""What a subclass does not inherit, either, that has another ``evaluate``."""


@dataclass(frozen=True)
class FlowShopProblem:
    """Minimize the makespan over the permutations of an instance's jobs.

    A subclass is a problem of its own, whose kind is the name of the class: it inherits
    how partial schedules grow and what they cost, not what concludes from that
    (``NOT_INHERITED``). What holds of it, too, it takes over by name, as in
    ``job_kinds = FlowShopProblem.job_kinds``.

    With a given front or back, over those that begin and end with these jobs: then the
    jobs of the problem are those between, numbered from 0 in ascending order.

    Parameters
    ----------
    instance
        The processing times; all else follows from them.
    bound
        The lower bound: ``"lb1"``, ``"lb2"``, the text of a cascade
        (``dpbb.flowshop.bounds``), or ``"cascade"``, which becomes the text of
        one; the cost does not depend on it.
    front, back
        Jobs of the instance that stay before and after all others, in their order.
    given
        The same, with what follows from it.
    times : ndarray of int64, shape (n_jobs, n_machines)
        Of the problem's jobs.
    least_heads, least_tails : ndarray of int64, shape (n_machines,)
        When the first one of any of these jobs can begin on each machine, after the
        front; time from its end there to the end of everything. They are the front
        (back) of an empty prefix (suffix).
    """

    instance: FlowShopInstance
    bound: str = LB1
    front: tuple[int, ...] = ()
    back: tuple[int, ...] = ()
    given: GivenEnds = field(init=False, repr=False, compare=False)
    times: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    least_heads: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    least_tails: NDArray[np.int64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._is_plain:  # a problem of its own may have a use for them
            check_columns(self.instance, "makespan")
        object.__setattr__(self, "front", tuple(self.front))
        object.__setattr__(self, "back", tuple(self.back))
        given = GivenEnds(self.instance, self.front, self.back)
        times = self.instance.times[given.jobs] if given else self.instance.times
        bound = bounds.resolved(self.bound, *times.shape)
        object.__setattr__(self, "bound", bound)
        begin = append_job(given.heads, times) - times
        after = prepend_job(given.tails, times) - times
        object.__setattr__(self, "given", given)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "least_heads", begin.min(axis=0))
        object.__setattr__(self, "least_tails", after.min(axis=0))

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        bases = cls.__mro__[: cls.__mro__.index(FlowShopProblem)]
        own = {name for base in bases for name in vars(base)}
        names = NOT_INHERITED + OF_MAKESPANS * ("evaluate" in own)
        for name in set(names) - own:
            setattr(cls, name, None)

    @property
    def _is_plain(self) -> bool:
        """Whether it is no subclass."""
        return type(self) is FlowShopProblem

    @property
    def name(self) -> str:
        """Kind of problem."""
        return "flowshop-makespan" if self._is_plain else type(self).__name__

    @property
    def objective(self) -> str:
        """What the cost is called."""
        return "makespan"

    @cached_property
    def as_text(self) -> Makespan:
        """Makespan and LB1 as engines compile them."""
        from dpbb.flowshop.models.makespan import Makespan  # needs no engine else

        ends = self.least_heads, self.least_tails
        return Makespan(self.times, *ends, self.trivial_ub)

    @cached_property
    def tighten(self) -> Callable[..., NDArray[np.int64]] | None:
        """What tightens LB1, see ``dpbb.problem.Tightens``; None: nothing does."""
        path = bounds.row_of(self.bound).get("tighten")
        return None if path is None else load(path)(self)

    def engine_model(self, engine: str) -> Any:
        """Return the model that an engine compiles, see ``dpbb.problems.Modeled``."""
        path = bounds.row_of(self.bound).get(engine)
        found = None if path is None else load(path)
        return found(self) if isfunction(found) else found

    def with_bound(self, bound: str) -> FlowShopProblem:
        """Return the same problem with another bound."""
        return replace(self, bound=bound)

    @property
    def instance_name(self) -> str:
        """Name of the instance, and what is given at its ends."""
        return self.given.name

    @property
    def n_jobs(self) -> int:
        """Number of jobs, at least 1; given ones are none of them."""
        return len(self.times)

    @property
    def n_machines(self) -> int:
        """Number of machines, at least 1."""
        return self.instance.n_machines

    @property
    def best_known(self) -> BestKnown | None:
        """Published bounds on the optimum of a benchmark instance."""
        return None if self.given else self.instance.best_known

    @cached_property
    def digest(self) -> str:
        """Digest of the instance, and of the given jobs if there are any.

        Of a subclass, of its name and its attributes' ``repr``, too.
        """
        if self._is_plain:
            return self.given.digest
        ours = {one.name for one in fields(FlowShopProblem)}
        own = [
            (name, vars(self)[name])
            for name in sorted(vars(self).keys() - ours)
            if not isinstance(getattr(type(self), name, None), cached_property)
        ]
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
            text = f"{self.name} {self.given.digest} {own!r}"
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def trivial_ub(self) -> int:
        """A value above every makespan."""
        return longest_makespan(self.instance.times) + 1

    @property
    def root_bound(self) -> int:
        """LB1 of the empty partial schedule."""
        ends = self.least_heads + self.least_tails
        return int((ends + self.times.sum(axis=0)).max())

    @cached_property
    def least_cost(self) -> int:
        """LB2 of the empty partial schedule, whatever the bound of the tree."""
        return bounds.root_bound(self.times, self.least_heads, self.least_tails)

    @cached_property
    def job_kinds(self) -> NDArray[np.intp]:
        """Jobs of the same processing times have the same number."""
        return np.unique(self.times, axis=0, return_inverse=True)[1].ravel()

    @property
    def names(self) -> Names:
        """What people call the jobs and machines of the instance."""
        return self.instance.names

    def with_ends(
        self, front: tuple[int, ...], back: tuple[int, ...]
    ) -> FlowShopProblem:
        """Return the problem of the jobs between; see ``PartOfSequence``."""
        if not self._is_plain:
            raise InstanceError(
                f"front, back: expected a plain flow shop, got a {self.name}: give "
                "them to the class itself, whose jobs are then numbered anew"
            )
        if self.given:
            raise InstanceError(
                "front, back: expected a problem without given ends, got "
                f"{self.instance_name}"
            )
        return replace(self, front=front, back=back)

    def whole(self, permutation: Iterable[int]) -> tuple[int, ...]:
        """Return the whole sequence; see ``dpbb.problem.PartOfSequence``."""
        return self.given.whole(permutation)

    def between(self, sequence: Sequence[int], what: str) -> tuple[int, ...]:
        """Return the part of a whole one; see ``dpbb.problem.PartOfSequence``."""
        return self.given.between(sequence, what)

    def root_state(self) -> FlowShopState:
        """State of the empty partial schedule."""
        remain = self.times.sum(axis=0)
        return FlowShopState(self.least_heads, self.least_tails, remain)

    def child_bounds(
        self, state: FlowShopState, jobs: NDArray[np.intp], *, back: bool
    ) -> NDArray[np.int64]:
        """LB1 of the children; see ``dpbb.problem.Problem.child_bounds``.

        When a job begins, its machine has all that is left before the other side.
        """
        times = self.times[jobs]
        if back:
            follow = prepend_job(state.back, times) - times
            return (state.front + state.remain + follow).max(axis=1)
        begin = append_job(state.front, times) - times
        return (begin + state.remain + state.back).max(axis=1)

    def extend(self, state: FlowShopState, job: int, *, back: bool) -> FlowShopState:
        """State of the child that appends ``job`` to the prefix (or the suffix)."""
        times = self.times[job]
        remain = state.remain - times
        if back:
            tail = prepend_job(state.back, times)
            return FlowShopState(state.front, tail, remain)
        head = append_job(state.front, times)
        return FlowShopState(head, state.back, remain)

    def evaluate(self, permutation: NDArray[np.intp]) -> int:
        """Makespan of a complete permutation of shape (n_jobs,).

        ValueError: the ``child_bounds`` of a subclass say that it does not exist.
        """
        jobs = np.asarray(permutation, np.intp)
        value = int(FlowShopProblem.evaluate_all(self, jobs[None])[0])
        if not self._is_plain:
            check_way(self, jobs, value)
        return value

    def evaluate_all(self, permutations: NDArray[np.intp]) -> NDArray[np.int64]:
        """Makespans, shape (r,), of permutations of shape (r, n_jobs)."""
        return makespans(self.times, permutations, self.given.heads, self.given.tails)

    def insertion_costs(
        self, rest: NDArray[np.intp], job: int
    ) -> NDArray[np.integer[Any]]:
        """Makespans by place of a job, see ``dpbb.problem.InsertsJobs``."""
        return insertion(self, rest, job).makespans

    def schedule(self, permutation: Sequence[int] | NDArray[np.intp]) -> Schedule:
        """Semi-active schedule of a permutation of the tree, or of a whole sequence."""
        order = tuple(int(job) for job in permutation)
        if len(order) == self.n_jobs:
            order = self.whole(order)
        self.between(order, "permutation")  # raises if it is none of this problem
        start, end = schedule(self.instance.times, order)
        return Schedule(order, start, end, self.names)

    def facts(self) -> dict[str, int | float | str]:
        """Range of the processing times, and LB1 and LB2 of the root itself."""
        times = self.instance.times
        return {
            "least_time": int(times.min()),
            "largest_time": int(times.max()),
            "lb1_root": self.root_bound,
            "lb2_root": self.least_cost,
        }

    def encode(self) -> dict[str, Any]:
        """Name, processing times, given jobs and other bounds than LB1, as JSON."""
        data = {"name": self.instance.name, "times": self.instance.times.tolist()}
        if self.given:
            data |= {"front": list(self.front), "back": list(self.back)}
        return data if self.bound == LB1 else {**data, "bound": self.bound}

    def with_names(self, names: Names) -> FlowShopProblem:
        """Return the same problem with jobs and machines called so."""
        shop = FlowShopInstance(self.instance.name, self.instance.times, names)
        return replace(self, instance=shop)

    @property
    def plain(self) -> FlowShopProblem:
        """The same with LB1, and without what a subclass overrides."""
        return FlowShopProblem(self.instance, LB1, self.front, self.back)

    @property
    def heuristics(self) -> tuple[str, ...]:
        """Names of the heuristics of flow shops."""
        return tuple(first.HEURISTICS)

    @property
    def improving_methods(self) -> tuple[str, ...]:
        """Names of the heuristics that run beside the tree, too."""
        named = first.HEURISTICS.items()
        return tuple(name for name, method in named if method.improves)

    first_incumbent = first.first_incumbent
    improve = first.improve_schedule

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        if self._is_plain:
            made_of = self.instance, self.bound, self.front, self.back
            return FlowShopProblem, made_of, None
        # whatever a subclass is made of: as any object
        return object.__new__, (type(self),), self.__getstate__()


def check_methods(problem: FlowShopProblem) -> None:
    """Raise InstanceError if a method of a problem is overridden in this object alone.

    Its copies would not have it, as on workers, and no model knows of it.
    """
    for name in vars(problem):
        if isinstance(getattr(type(problem), name, None), FunctionType | property):
            raise InstanceError(
                f"{name}: expected it overridden in a subclass of "
                f"{type(problem).__name__}, got one object's own"
            )
