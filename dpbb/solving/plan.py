"""From what is known before the tree to a run, and from its outcome to the result.

No cluster in here: what is decided before the tree is explored (the problem, the first
incumbent, the upper bound, the tree's options) and what the end of it proves.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from dpbb.coordination.messages import RunId, RunSpec
from dpbb.options import OPTIONS, EngineName, RunOptions, SolveOptions, Tuning
from dpbb.problem import Scheduled, bound_of, n_machines_of, objective_of
from dpbb.result import Improvement, Proof, Result, Status, Termination
from dpbb.result.installed import versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpbb.coordination.outcome import Outcome
    from dpbb.problem import Problem


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is known before the tree.

    Parameters
    ----------
    problem
        What to minimize.
    name
        Name of the instance, for people.
    options
        As the user gave them.
    began
        ``time.monotonic()`` at the start of the solve.
    root_bound
        Lower bound of the whole tree.
    makespan, permutation
        The best schedule known; None without one.
    trajectory
        How it was found, in seconds since ``began``.
    """

    problem: Problem[Any]
    name: str
    options: SolveOptions
    began: float
    root_bound: int
    makespan: int | None = None
    permutation: tuple[int, ...] | None = None
    trajectory: tuple[Improvement, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether the root bound proves the schedule optimal and no tree is wanted.

        A cutoff asks for its tree, and all optima are only found in one.
        """
        wanted = self.options.cutoff is not None or self.options.all_optima
        return (
            not wanted
            and self.makespan is not None
            and self.makespan <= self.root_bound
        )

    @property
    def within_gap(self) -> bool:
        """Whether the gap is within the limit already, and no proof."""
        limit, value = self.options.gap_limit, self.makespan
        if limit is None or value is None:
            return False
        return 0 < value - self.root_bound <= limit * value

    @property
    def branching_ub(self) -> int | None:
        """What MinBranch compares with by default: the least UB, else the cutoff."""
        known = (self.makespan, self.options.upper_bound)
        values = [value for value in known if value is not None]
        return min(values, default=self.options.cutoff)

    @property
    def threshold(self) -> int | None:
        """The tree's first pruning threshold (LB >= threshold); None: there is none."""
        known = (self.makespan, self.options.upper_bound)
        values = [ub + self.options.all_optima for ub in known if ub is not None]
        if self.options.cutoff is not None:
            values.append(self.options.cutoff)
        # Nothing is at the trivial UB or above: the tree is the same, and it fits.
        return min(*values, self.problem.trivial_ub) if values else None

    def seconds_left(self, now: float) -> float | None:
        """Time that is left of the limit, perhaps negative; None without a limit."""
        limit = self.options.time_limit_s
        return None if limit is None else self.began + limit - now

    def spec(self, now: float, engine: str | None = None) -> RunSpec:
        """Return the run that explores the tree.

        Parameters
        ----------
        now
            ``time.monotonic()``.
        engine
            The engine, where ``auto`` is already decided.

        Raises
        ------
        OptionError
            MinBranch without any upper bound.
        """
        options = self.options
        return RunSpec(
            run_id=RunId(uuid4().hex[:12]),
            problem=self.problem,
            tree=options.tree(self.branching_ub, bound_of(self.problem)),
            instance=self.name,
            options=RunOptions.of(options),
            tuning=Tuning.of(options),
            engine=engine or str(options.engine),
            upper_bound=self.threshold,
            permutation=self.permutation,
            time_limit_s=self.seconds_left(now),
            certificate=options.certificate is not None,
            request=self.to_request(now),
        )

    def to_request(self, now: float) -> dict[str, Any]:
        """Return what the run keeps of this plan, for whoever makes its result."""
        steps = [[step.seconds, step.value, step.source] for step in self.trajectory]
        given = self.options.to_mapping()
        options = {name: given[name] for name, row in OPTIONS.items() if row.stored}
        for name in ("certificate", "optima_file"):  # for those who go on elsewhere
            if options[name] is not None:
                options[name] = str(Path(options[name]).absolute())
        return {
            "options": options,
            "seconds": now - self.began,
            "root_bound": self.root_bound,
            "makespan": self.makespan,
            "permutation": self.permutation,
            "trajectory": steps,
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
        opened
            ``time.monotonic()`` when the run was opened.
        options
            Default: those of the request.
        """
        if options is None:
            options = SolveOptions.from_mapping(request["options"])
        jobs = request["permutation"]
        return cls(
            problem=problem,
            name=name,
            options=options,
            began=opened - request["seconds"],
            root_bound=request["root_bound"],
            makespan=request["makespan"],
            permutation=None if jobs is None else tuple(jobs),
            trajectory=tuple(Improvement(*step) for step in request["trajectory"]),
        )

    def result(
        self, outcome: Outcome, *, opened: float, engine: str | None = None
    ) -> Result:
        """Return what a finished run proved.

        Parameters
        ----------
        opened
            ``time.monotonic()`` when the run was opened.
        engine
            The engine, where ``auto`` was already decided.
        """
        if engine is None or engine == EngineName.AUTO:
            engine = "+".join(sorted(outcome.engines)) or "none"
        trajectory = list(self.trajectory)
        for step in outcome.trajectory:
            if not trajectory or step.value < trajectory[-1].value:
                seconds = step.seconds + opened - self.began
                trajectory.append(Improvement(seconds, step.value, step.source))
        optima = None if outcome.optima is None else outcome.optima.permutations
        known: dict[str, Any] = {
            "decomposed": outcome.counters.decomposed,
            "leaves": outcome.counters.leaves,
            "tree_seconds": outcome.seconds,
            "explore_seconds": outcome.explore_s,
            "energy_j": outcome.energy_j,
            "seats": outcome.seats,
            "engine": engine,
            "units": outcome.units,
            "donations": outcome.donations,
            "requeues": outcome.requeues,
            "trajectory": tuple(trajectory),
        }
        makespan, permutation = outcome.value, outcome.permutation
        bound, proof = outcome.lower_bound, Proof.OPEN_ROOTS
        if outcome.exhausted:
            proof = Proof.TREE_EXHAUSTED
            if makespan is not None and makespan > bound:
                # Known from elsewhere and above the cutoff: nothing is proved of it.
                makespan, permutation, optima = None, None, None
        elif bound <= self.root_bound:
            bound, proof = self.root_bound, Proof.ROOT_BOUND
        if self.options.all_optima:
            known["n_optima"] = 0 if makespan is None else outcome.n_optima
            known["optima"] = (
                () if optima is None else tuple(map(tuple, optima.tolist()))
            )
        return self._result(
            outcome.termination, proof, makespan, permutation, bound, **known
        )

    def result_without_tree(self, termination: Termination) -> Result:
        """Return what is known before any tree was explored."""
        known: dict[str, Any] = {"trajectory": self.trajectory}
        if self.options.all_optima:
            known |= {"optima": (), "n_optima": 0}
        return self._result(
            termination,
            Proof.ROOT_BOUND,
            self.makespan,
            self.permutation,
            self.root_bound,
            **known,
        )

    def _result(
        self,
        termination: Termination,
        proof: Proof,
        makespan: int | None,
        permutation: tuple[int, ...] | None,
        lower_bound: int,
        **known: Any,  # noqa: ANN401
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
            permutation=permutation,
            seconds=time.monotonic() - self.began,
            instance=self.name,
            digest=self.problem.digest,
            n_jobs=self.problem.n_jobs,
            n_machines=n_machines,
            options=self.options,
            versions=versions(),
            operations=operations,
            objective=objective_of(self.problem),
            **known,
        )
