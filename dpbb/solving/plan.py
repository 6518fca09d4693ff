"""From what is known before the tree to a run, and from its outcome to the result.

No cluster in here: what is decided before the tree is explored (the problem, the first
incumbent, the upper bound, the tree's options) and what the end of it proves.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from uuid import uuid4

from dpbb.coordination.messages import RunId, RunSpec
from dpbb.coordination.outcome import Outcome
from dpbb.options import (
    OPTIONS,
    EngineName,
    Heuristics,
    RunOptions,
    SolveOptions,
    Tuning,
    kinds,
)
from dpbb.problem import (
    Problem,
    Scheduled,
    n_machines_of,
    objective_of,
    whole_of,
    wholes_of,
)
from dpbb.result import Improvement, Proof, ProvedBound, Result, Status, Termination
from dpbb.solving.earlier import NOTHING, Earlier
from dpbb.solving.from_below import Step
from dpbb.text.labels import names_of
from dpbb.tree.branching import tree_of

OF_TREES = (
    *("decomposed", "leaves", "tree_seconds", "explore_seconds", "gpu_seconds"),
    *("energy_j", "seats", "engine", "units", "donations", "requeues"),
    *("trajectory", "certificate"),
)
"""Fields of a result that say what trees were explored."""


def run_options(options: SolveOptions) -> RunOptions:
    """Return the options of a run; without heuristics none run beside its tree."""
    found = RunOptions.of(options)
    if options.cutoff is not None or options.heuristics == Heuristics.NONE:
        return replace(found, heuristic_threads=0)
    return found


_COST = kinds.whole(-kinds.LARGEST)
_REQUEST = {
    "seconds": kinds.plain(float),
    "root_bound": _COST,
    "makespan": kinds.optional(_COST),
    "permutation": kinds.optional(kinds.permutation()),
}
"""What a request has of a plan as it is."""


def _records(made: type, request: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    """Return a list of records of a request; OptionError: it is none."""
    values = kinds.plain(list).check(request.get(name, []), name)
    return tuple(kinds.record(made).check(one, name) for one in values)


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is known before the tree.

    Parameters
    ----------
    name
        Name of the instance, for people.
    began
        ``time.monotonic()`` at the start of the solve.
    root_bound
        No permutation costs less: the best bound that is known before the tree.
    makespan, permutation
        The best schedule known; None without one.
    trajectory
        How it was found, in seconds since ``began``.
    step
        With the strategy from below: the tree to explore next; None: the one tree.
    small
        A heuristic left nothing out below the schedule: so the tree there is small.
    bounds
        What trees from below have proved.
    before
        Result of the last tree, where another one follows.
    earlier
        Sums over the trees before this one.
    resumed
        ``time.monotonic()`` when the call went on from a checkpoint: its time limit
        counts from then; None: from ``began``.
    """

    problem: Problem[Any]
    name: str
    options: SolveOptions
    began: float
    root_bound: int
    makespan: int | None = None
    permutation: tuple[int, ...] | None = None
    trajectory: tuple[Improvement, ...] = ()
    step: Step | None = None
    small: bool = False
    bounds: tuple[ProvedBound, ...] = ()
    before: Result | None = None
    earlier: Earlier = NOTHING
    resumed: float | None = None

    @property
    def lower_bound(self) -> int:
        """No schedule is below, as the root says, or a tree from below."""
        return self.bounds[-1].value if self.bounds else self.root_bound

    @property
    def proved(self) -> bool:
        """Whether the lower bound proves the schedule optimal and no tree is wanted.

        A cutoff asks for its tree, and all optima are only found in one.
        """
        options = self.options
        wanted = options.cutoff is not None or options.all_optima
        return (
            not wanted
            and self.makespan is not None
            and self.makespan <= self.lower_bound
        )

    @property
    def within_gap(self) -> bool:
        """Whether the gap is within the limit already, and no proof."""
        limit, value = self.options.gap_limit, self.makespan
        if limit is None or value is None:
            return False
        return 0 < value - self.lower_bound <= limit * value

    @property
    def branching_ub(self) -> int | None:
        """What MinBranch compares with by default: the least UB, else the cutoff."""
        known = (self.makespan, self.options.upper_bound)
        values = [value for value in known if value is not None]
        return min(values, default=self.options.cutoff)

    @property
    def upper_bound(self) -> int | None:
        """The tree's first upper bound (prune LB >= it); None: there is none."""
        known = (self.makespan, self.options.upper_bound)
        values = [ub + self.options.all_optima for ub in known if ub is not None]
        if self.options.cutoff is not None:
            values.append(self.options.cutoff)
        if self.step is not None:
            values.append(self.step.upper_bound)
        # Nothing is at the trivial UB or above: the tree is the same, and it fits.
        return min(*values, self.problem.trivial_ub) if values else None

    def seconds_left(self, now: float) -> float | None:
        """Time that is left of the limit, perhaps negative; None without a limit."""
        limit = self.options.time_limit_s
        since = self.began if self.resumed is None else self.resumed
        return None if limit is None else since + limit - now

    def spec(self, now: float, engine: str | None = None) -> RunSpec:
        """Return the run that explores the tree.

        ``engine``: the engine, where ``auto`` is already decided.

        OptionError: MinBranch without any upper bound.
        """
        options = self.options
        whole = options.cutoff is not None or options.all_optima
        return RunSpec(
            run_id=RunId(uuid4().hex[:12]),
            problem=self.problem,
            tree=tree_of(self.problem, options, self.branching_ub),
            instance=self.name,
            options=run_options(options),
            tuning=Tuning.of(options),
            engine=engine or str(options.engine),
            upper_bound=self.upper_bound,
            root_bound=None if whole else self.root_bound,
            permutation=self.permutation,
            time_limit_s=self.seconds_left(now),
            certificate=options.certificate is not None,
            proved_bound=None if self.step is None else self.lower_bound,
            request=self.to_request(now),
        )

    def to_request(self, now: float) -> dict[str, Any]:
        """Return what the run keeps of this plan, for whoever makes its result."""
        steps = [[step.seconds, step.value, step.source] for step in self.trajectory]
        given = self.options.to_mapping()
        options = {name: given[name] for name, row in OPTIONS.items() if row.stored}
        if self.options.certificate is not None:  # for those who attach elsewhere
            options["certificate"] = str(Path(self.options.certificate).absolute())
        return {
            "options": options,
            "seconds": now - self.began,
            "root_bound": self.root_bound,
            "makespan": self.makespan,
            "permutation": self.permutation,
            "trajectory": steps,
            "step": None if self.step is None else self.step.to_json(),
            "bounds": [[one.seconds, one.value, one.decomposed] for one in self.bounds],
            "earlier": self.earlier.to_json(),
        }

    @classmethod
    def from_request(
        cls,
        problem: Problem[Any],
        name: str,
        request: Mapping[str, Any],
        *,
        opened: float,
        options: SolveOptions | None = None,
    ) -> Plan:
        """Return the plan of a run that somebody else opened, or that goes on.

        Parameters
        ----------
        request
            From ``to_request``.
        options
            Default: those of the request.

        Raises
        ------
        OptionError
            It is not from ``to_request``.
        """
        if options is None:
            options = SolveOptions.from_mapping(request["options"])
        known = {n: kind.check(request.get(n), n) for n, kind in _REQUEST.items()}
        step = request.get("step")
        return cls(
            problem=problem,
            name=name,
            options=options,
            began=opened - known.pop("seconds"),
            **known,
            trajectory=_records(Improvement, request, "trajectory"),
            step=None if step is None else Step.from_json(step),
            bounds=_records(ProvedBound, request, "bounds"),
            earlier=Earlier.of_request(request),
        )

    def node_limit(self) -> int | None:
        """Decomposed nodes after which the next tree ends, by the user or its step."""
        limits = [self.options.node_limit]
        if self.step is not None:
            if limits[0] is not None:
                limits[0] = max(1, limits[0] - self.earlier.decomposed)
            limits.append(self.step.node_limit)
        return min((limit for limit in limits if limit is not None), default=None)

    def goes_on_after(self, outcome: Outcome, result: Result) -> bool:
        """Whether another tree from below follows, limits aside."""
        step, known = self.step, self.options.upper_bound
        if step is None or result.status is Status.OPTIMAL:
            return False
        if outcome.exhausted:  # nothing is below the upper bound, given or known
            return known is None or result.lower_bound < known
        given_up = result.termination is Termination.NODE_LIMIT
        limit = self.options.node_limit
        return given_up and (limit is None or result.decomposed < limit)

    def after(self, outcome: Outcome, result: Result) -> Plan:
        """Return the plan of the tree that follows from below.

        ``outcome``, ``result``: of this plan's tree, in which nothing was found below
        its upper bound, or which was given up.
        """
        if self.step is None or self.upper_bound is None:
            raise ValueError("expected a plan with a step, got one of a single tree")
        plan = replace(self.with_found(outcome, result), bounds=result.bounds)
        step = self.step.after(
            self.upper_bound,
            exhausted=outcome.exhausted,
            decomposed=outcome.counters.decomposed,
        )
        return replace(plan, step=step)

    def with_found(self, outcome: Outcome, result: Result) -> Plan:
        """Return the plan with what its tree has found; another one follows."""
        plan = replace(
            self,
            before=result,
            earlier=Earlier.of(result),
            trajectory=result.trajectory,
        )
        if outcome.value is None:
            return plan
        return replace(plan, makespan=outcome.value, permutation=outcome.permutation)

    def result(
        self, outcome: Outcome, *, opened: float, engine: str | None = None
    ) -> Result:
        """Return what a finished run proved."""
        if engine is None or engine == EngineName.AUTO:
            engine = "+".join(sorted(outcome.engines)) or "none"
        trajectory = list(self.trajectory)
        for step in outcome.trajectory:
            if not trajectory or step.value < trajectory[-1].value:
                seconds = step.seconds + opened - self.began
                trajectory.append(Improvement(seconds, step.value, step.source))
        optima = None if outcome.optima is None else outcome.optima.permutations
        totals = asdict(outcome.totals)
        known: dict[str, Any] = {
            "tree_seconds": totals.pop("seconds"),
            **totals,
            "seats": outcome.seats,
            "engine": engine,
            "trajectory": tuple(trajectory),
            "bounds": self.bounds,
        }
        if self.step is not None and outcome.exhausted:
            seconds = outcome.totals.seconds + opened - self.began
            proved = ProvedBound(seconds, outcome.lower_bound, known["decomposed"])
            known["bounds"] = (*self.bounds, proved)
        known = self.earlier.added_to(known)
        makespan, permutation = outcome.value, outcome.permutation
        bound, proof = outcome.lower_bound, Proof.OPEN_ROOTS
        if outcome.exhausted:
            proof = Proof.TREE_EXHAUSTED
            if makespan is not None and makespan > bound:
                # Known from elsewhere, above the upper bound: nothing is proved of it.
                makespan, permutation, optima = None, None, None
        elif bound <= self.lower_bound:
            bound, proof = self.lower_bound, self.proof_of_bound
        if self.options.all_optima:
            known["n_optima"] = 0 if makespan is None else outcome.n_optima
            known["optima"] = (
                () if optima is None else tuple(wholes_of(self.problem, optima))
            )
        return self._result(
            outcome.termination, proof, makespan, permutation, bound, **known
        )

    def result_without_tree(self, termination: Termination) -> Result:
        """Return what is known while no tree is explored: before, or between two."""
        known: dict[str, Any] = {"trajectory": self.trajectory, "bounds": self.bounds}
        if self.before is not None:
            known |= {name: getattr(self.before, name) for name in OF_TREES}
        if self.options.all_optima:
            known |= {"optima": (), "n_optima": 0}
        return self._result(
            termination,
            self.proof_of_bound,
            self.makespan,
            self.permutation,
            self.lower_bound,
            **known,
        )

    @property
    def proof_of_bound(self) -> Proof:
        """How ``lower_bound`` was obtained."""
        by_tree = self.lower_bound > self.root_bound
        return Proof.CUTOFF_EXHAUSTED if by_tree else Proof.ROOT_BOUND

    def _result(
        self,
        termination: Termination,
        proof: Proof,
        makespan: int | None,
        permutation: tuple[int, ...] | None,
        lower_bound: int,
        **known: Any,
    ) -> Result:
        if makespan is not None:
            bound = min(lower_bound, makespan)
            status = Status.OPTIMAL if bound == makespan else Status.FEASIBLE
        else:
            bound = lower_bound
            exhausted = proof is Proof.TREE_EXHAUSTED
            status = Status.INFEASIBLE_CUTOFF if exhausted else Status.UNKNOWN
        operations, n_machines = None, n_machines_of(self.problem)
        if permutation is not None and isinstance(self.problem, Scheduled):
            operations = self.problem.schedule(permutation)
            n_machines = operations.start.shape[1]
        return Result(
            status=status,
            termination=termination,
            proof=proof,
            makespan=makespan,
            lower_bound=bound,
            permutation=None
            if permutation is None
            else whole_of(self.problem, permutation),
            seconds=time.monotonic() - self.began,
            instance=self.name,
            digest=self.problem.digest,
            n_jobs=len(whole_of(self.problem, range(self.problem.n_jobs))),
            n_machines=n_machines,
            options=self.options,
            versions=versions(),
            names=names_of(self.problem),
            operations=operations,
            objective=objective_of(self.problem),
            **known,
        )


PACKAGES = ("dpbb", "numpy", "numba", "distributed")


@cache
def versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of Python and of the packages that a result depends on."""
    found = [("python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            found.append((package, "not installed"))
    return tuple(found)
