"""Heuristics for any problem, by its bounds and by what whole permutations cost.

A problem that brings none of its own has these: a first permutation, insertions as by
Nawaz, Enscore and Ham (Omega 11(1), 1983), and an iterated greedy search as by Ruiz and
Stuetzle (EJOR 177(3), 2007). Only whole permutations are evaluated, as no problem need
know what a part of one costs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbb.errors import InstanceError, OptionError
from dpbb.options import Heuristics
from dpbb.options.kinds import one_of
from dpbb.options.permutations import check_permutation
from dpbb.problem import (
    NO_CHILD,
    EvaluatesAll,
    HasHeuristics,
    Incumbent,
    InsertsJobs,
    Problem,
    StartSearch,
    check_way,
    cost_of,
    evaluated,
    sides_of,
)

Found = TypeVar("Found")
Jobs = NDArray[np.intp]

METHODS = ("neh", "ig")
"""Names of the heuristics of any problem; ``auto`` is the last one."""

MOST_S = 10.0
"""Seconds of a search without a time limit, at most: from 100 jobs on."""

REMOVED = 4
"""Jobs that are inserted anew where no single job can be."""


# -- what every heuristic is given and gives back --------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What a heuristic searches, and its limits; the same for all of them.

    Parameters
    ----------
    problem
        With given ends its jobs are those between.
    lower_bound
        A permutation of this cost is optimal: stop there.
    deadline
        ``time.monotonic()`` at which to stop, in seconds.
    threads
        Number of threads to use, at least 1.
    seed
        Start of all pseudo-random choices, at least 0.
    iterations
        Steps of the method's own kind after which to stop; None: no such limit. With
        one thread, a seed and this limit a search can be repeated exactly.
    on_improvement, should_stop
        As of ``dpbb.problem.StartSearch``.
    elsewhere
        Returns the best incumbent of all searches that run at once, if there is one;
        asked now and then.
    """

    problem: Any
    lower_bound: int
    deadline: float = math.inf
    threads: int = 1
    seed: int = 0
    iterations: int | None = None
    on_improvement: Callable[[Incumbent], None] | None = None
    should_stop: Callable[[], bool] | None = None
    elsewhere: Callable[[], Incumbent | None] | None = None

    @classmethod
    def of(
        cls,
        problem: Any,
        wanted: StartSearch,
        threads: int = 1,
        deadline: float = math.inf,
    ) -> Search:
        """Return what is wanted, but for its threads and its time."""
        least = wanted.lower_bound
        return cls(
            problem,
            np.iinfo(np.int64).min if least is None else least,
            deadline,
            threads,
            wanted.seed,
            wanted.iterations,
            wanted.on_improvement,
            wanted.should_stop,
        )

    @property
    def over(self) -> bool:
        """Whether the time is up or a stop was asked for."""
        if time.monotonic() >= self.deadline:
            return True
        return self.should_stop is not None and self.should_stop()

    def latest(self, own: Incumbent) -> Incumbent:
        """Return a better incumbent than one's own if there is one elsewhere."""
        other = None if self.elsewhere is None else self.elsewhere()
        return own if other is None or other.value >= own.value else other


Heuristic = Callable[[Search, Incumbent | None], Incumbent]
"""From a task and an incumbent to a better incumbent or the same.

It runs until it is done, a limit, or an incumbent that is proved optimal.
"""


def improve(
    search: Search, old: Incumbent | None, permutation: ArrayLike, source: str
) -> Incumbent:
    """Return a new permutation, announced, if it is better than ``old``; else ``old``.

    Its cost is computed here, from the instance: no kernel's word is taken.
    """
    order = check_permutation(permutation, n_jobs=search.problem.n_jobs)
    jobs = np.array(order, np.intp)
    value = evaluated(search.problem, jobs)
    if old is not None and value >= old.value:
        return old
    new = Incumbent(value, jobs, source, proved=value <= search.lower_bound)
    if search.on_improvement is not None:
        search.on_improvement(new)
    return new


def random_state(seed: int, stream: int) -> NDArray[np.uint64]:
    """Return the state of one pseudo-random stream, shape (1,), never zero."""
    state = np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)
    return state | np.uint64(1)


POLL_S = 0.005
"""How often limits are looked at while heuristics run in threads."""


def wait_for(
    running: Sequence[Future[Found]], search: Search, stop: NDArray[np.int64]
) -> list[Found]:
    """Return what threads find; set ``stop[0]`` as soon as a limit is reached."""
    try:
        while wait(running, POLL_S).not_done and not search.over:
            pass
    finally:
        stop[0] = 1  # an exception must not leave them running
    return [future.result() for future in running]


NOTE_S = 1.0
"""Seconds that are waited for compiled code before this is said about it."""

COMPILING = "compiling the heuristics; another search runs meanwhile"

MOST_PAUSE_S = 0.5
"""Whoever was suspended for long does not sleep as long."""


def half_the_time(over: Callable[[], bool]) -> Callable[[], bool]:
    """Return what a search in Python polls, which sleeps there as long as it worked.

    Who loads compiled code needs Python's lock, too. A thread that lets it go waits up
    to 5 ms for one that computes, and Numba lets it go for each of the thousands of
    files that it looks for.
    """
    awake = time.monotonic()

    def stop() -> bool:
        nonlocal awake
        if over():
            return True
        time.sleep(min(time.monotonic() - awake, MOST_PAUSE_S))
        awake = time.monotonic()
        return over()

    return stop


# -- those of any problem -------------------------------------------------------------


def heuristics_of(
    problem: Problem[Any], own: Callable[..., Any] | None = None
) -> HasHeuristics:
    """Return a problem that has heuristics of its own, else those of any problem.

    ``own``: a function that is given takes their place.
    """
    if own is not None:
        return OwnHeuristic(problem, own)
    return problem if isinstance(problem, HasHeuristics) else AnyProblem(problem)


@dataclass(frozen=True, slots=True)
class OwnHeuristic:
    """A heuristic that somebody gives as a function; see ``HasHeuristics``.

    Parameters
    ----------
    function
        ``function(problem, rng, seconds)`` returns a permutation of the problem's jobs,
        or yields one after the other: between two of them the search is ended when its
        time is up, when somebody stops it or when one is optimal. ``rng``: a
        ``numpy.random.Generator`` of the option ``seed``; ``seconds``: its time,
        infinite where only ``iterations``, permutations here, limit it.
    """

    problem: Problem[Any]
    function: Callable[..., Any]
    heuristics = METHODS

    @property
    def name(self) -> str:
        """What it is called."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def first_incumbent(self, wanted: StartSearch) -> Incumbent | None:
        """Return the best permutation that it gives in time.

        Raises
        ------
        OptionError
            It gives something else, or a permutation that has no cost.
        """
        deadline = deadline_of(self.problem, wanted)
        search = Search.of(self.problem, wanted, deadline=deadline)
        best = None
        if wanted.initial is not None:
            best = self._better(search, None, wanted.initial, "initial")
        if wanted.method == Heuristics.NONE or search.over or (best and best.proved):
            return best
        rng = np.random.default_rng(wanted.seed)
        found = self.function(self.problem, rng, deadline - time.monotonic())
        given = found if isinstance(found, Iterator) else iter([found])
        for permutation in islice(given, wanted.iterations):
            best = self._better(search, best, permutation, self.name)
            if best.proved or search.over:
                break
        return best

    def _better(
        self, search: Search, best: Incumbent | None, permutation: Any, source: str
    ) -> Incumbent:
        name = f"heuristic {source}"
        order = check_permutation(permutation, name, self.problem.n_jobs)
        jobs = np.array(order, np.intp)
        cost = cost_of(self.problem, jobs)
        if best is not None and cost >= best.value:
            return best
        try:  # one with heuristics of its own says by evaluate what exists
            if not isinstance(self.problem, HasHeuristics):
                check_way(self.problem, jobs, cost)
        except ValueError as error:
            raise OptionError(f"{name}: {error}") from error
        return improve(search, best, jobs, source)


@dataclass(frozen=True, slots=True)
class AnyProblem:
    """A problem with the heuristics of any problem; see ``HasHeuristics``.

    ``all_exist``: every permutation has the cost that ``evaluate`` says.
    """

    problem: Problem[Any]
    all_exist: bool = False
    heuristics = METHODS

    def first_incumbent(self, wanted: StartSearch) -> Incumbent | None:
        """Return the best permutation found in time, None if there is none.

        One thread searches, whatever the number of threads; one of the iterations is
        the insertion of one job everywhere. Without a time limit it ends when as many
        rounds were in vain as there are jobs, too.

        Raises
        ------
        OptionError
            Unknown method, or one for a GPU; ``initial`` has no cost.
        """
        one_of(*Heuristics, *METHODS).check(wanted.method, "heuristics")
        if wanted.device != "cpu" and wanted.method != Heuristics.AUTO:
            raise OptionError(
                f"device: expected cpu, as the heuristic {wanted.method!r} of any "
                f"problem has no function for another, got {wanted.device!r}"
            )
        problem, n_jobs = self.problem, self.problem.n_jobs
        search = Search.of(problem, wanted, deadline=deadline_of(problem, wanted))
        start = None
        if wanted.initial is not None:
            cost_of(problem, np.array(wanted.initial, np.intp))  # raises if it has none
            start = improve(search, None, wanted.initial, "initial")
        patience = n_jobs if wanted.time_limit_s is None else math.inf
        descent = Descent(search, start, patience, all_exist=self.all_exist)
        if wanted.method != Heuristics.NONE and not descent.over:
            descent.begin()
            if wanted.method != "neh":
                descent.iterate()
        return descent.best


def deadline_of(problem: Problem[Any], search: StartSearch) -> float:
    """Return ``time.monotonic()`` at which a search that begins now has to end."""
    limit = search.time_limit_s
    if limit is None:
        limit = min(MOST_S, MOST_S * (problem.n_jobs / 100) ** 2)
    now = time.monotonic() + limit
    return now if search.end is None else min(now, search.end)


class _Tried(NamedTuple):
    """A permutation and its cost, infinite if it has none."""

    cost: float
    order: Jobs


class Descent:
    """One search by insertions.

    A permutation is moved by what it costs alone. Before it counts, it is looked up in
    the tree, as a problem may say by its bounds alone that there is none.

    Attributes
    ----------
    best
        The best permutation so far.

    Parameters
    ----------
    search
        One of its iterations is the insertion of one job everywhere.
    best
        Where it starts, if there is one.
    patience
        ``iterate`` ends when so many rounds were in vain.
    all_exist
        Every permutation has the cost that ``evaluate`` says.
    """

    def __init__(
        self,
        search: Search,
        best: Incumbent | None,
        patience: float = math.inf,
        *,
        all_exist: bool = False,
    ) -> None:
        self.best, self._problem = best, search.problem
        self._search, self._all_exist = search, all_exist
        self._patience = patience
        self._random = Random(search.seed)  # noqa: S311 - no secret
        self._left = math.inf if search.iterations is None else search.iterations

    @property
    def over(self) -> bool:
        """Whether there is a proof, or a limit is reached."""
        proved = self.best is not None and self.best.proved
        return proved or self._left <= 0 or self._search.over

    def begin(self) -> None:
        """Make a permutation by bounds, then by insertions in its order."""
        self._descend()
        if self.best is None or not self.over:
            own = np.arange(self._problem.n_jobs, dtype=np.intp)
            self._counted(_Tried(self._cost(own), own), "own order")
        if self.best is None:
            return
        now = self._known(self.best)
        for place, job in enumerate(now.order.tolist()[1:], 1):
            now = self._moved(now, job, place, "neh")

    def iterate(self) -> Incumbent | None:
        """Insert single jobs until that is in vain, then some that are taken out."""
        n_jobs, vain = self._problem.n_jobs, 0
        if self.best is None or n_jobs < 2:
            return self.best
        now = best = self._known(self.best)
        while not self.over:
            before = now.cost
            for job in self._random.sample(range(n_jobs), n_jobs):
                now = self._moved(now, job, n_jobs - 1, "ig")
            if now.cost < before:
                continue
            vain = 0 if now.cost < best.cost else vain + 1
            best = min(now, best, key=lambda one: one.cost)
            if vain >= self._patience:
                break
            out = self._random.sample(range(n_jobs), min(REMOVED, n_jobs - 1))
            rest = best.order[~np.isin(best.order, out)]
            now = _Tried(math.inf, np.append(rest, out))
            for job in out:
                now = self._moved(now, job, n_jobs - 1, "ig")
        return self.best

    @staticmethod
    def _known(best: Incumbent) -> _Tried:
        return _Tried(best.value, best.permutation)

    def _cost(self, order: Jobs) -> float:
        """Cost of a permutation, infinite if it has none."""
        try:
            return evaluated(self._problem, order)
        except InstanceError:
            raise  # it is no whole number
        except ValueError:
            return math.inf

    def _counted(self, now: _Tried, source: str) -> _Tried:
        """Announce and return what is better; the best known if it does not exist."""
        best = self.best
        if now.cost >= (math.inf if best is None else best.value):
            return now
        try:
            if not self._all_exist:
                check_way(self._problem, now.order, int(now.cost))
        except ValueError:
            return now if best is None else self._known(best)
        self.best = improve(self._search, best, now.order, source)
        return now

    def _descend(self) -> None:
        """Schedule the job of the least bound next, on one side, again and again."""
        problem, back = self._problem, sides_of(self._problem)[0]
        state, jobs = problem.root_state(), np.arange(problem.n_jobs, dtype=np.intp)
        way = list[int]()
        while len(jobs) > 1:
            bounds = problem.child_bounds(state, jobs, back=back)
            at = int(bounds.argmin())
            if bounds[at] == NO_CHILD or self.over:
                return
            way.append(int(jobs[at]))
            state = problem.extend(state, way[-1], back=back)
            jobs = np.delete(jobs, at)
        way += jobs.tolist()
        order = np.array(way[::-1] if back else way, np.intp)
        self._counted(_Tried(self._cost(order), order), "least bounds")

    def _costs(self, rest: Jobs, job: int, last: int) -> list[float]:
        """Return the costs with a job at each of the first places, among all others."""
        self._left -= 1
        problem = self._problem
        if isinstance(problem, InsertsJobs):
            return problem.insertion_costs(rest, job)[: last + 1].tolist()
        orders = np.array([np.insert(rest, at, job) for at in range(last + 1)])
        if isinstance(problem, EvaluatesAll):
            with suppress(ValueError):  # some have no cost
                return problem.evaluate_all(orders).tolist()
        late = self._search
        return [math.inf if late.over else self._cost(order) for order in orders]

    def _moved(self, now: _Tried, job: int, last: int, source: str) -> _Tried:
        """Return the best of what comes of inserting a job, if it is not worse.

        ``last``: of the places that it is tried at; one of the best at random.
        """
        if self.over:
            return now
        rest = now.order[now.order != job]
        costs = self._costs(rest, job, last)
        least = min(costs)
        if least > now.cost:
            return now
        at = self._random.choice([at for at, one in enumerate(costs) if one == least])
        return self._counted(_Tried(least, np.insert(rest, at, job)), source)
