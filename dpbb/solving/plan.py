"""What is known before the tree, and the run that explores it.

No cluster in here: the problem, the first incumbent, the upper bound and the tree's
options are decided before anything is explored.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.from_below import Below
from dpbb.coordination.messages import Known, Request, RunId, RunSpec
from dpbb.coordination.outcome import Outcome
from dpbb.options import OPTIONS, Heuristics, RunOptions, SolveOptions, Tuning
from dpbb.problem import Problem
from dpbb.result import ProvedBound, Result, Status, Termination, Totals
from dpbb.tree.branching import tree_of


@dataclass(frozen=True, slots=True)
class Plan(Known):
    """All that is known before the tree.

    Parameters
    ----------
    name
        Name of the instance, for people.
    began
        ``time.monotonic()`` at the start of the solve.
    small
        A heuristic left nothing out below the schedule: so the tree there is small.
    saved
        The tree as a checkpoint has it; None: nothing of it is explored.
    resumed
        ``time.monotonic()`` when the call went on from a checkpoint: its time limit
        counts from then; None: from ``began``.
    attaches
        A run that writes into its folder of checkpoints is attached to.
    """

    problem: Problem[Any]
    name: str
    options: SolveOptions
    began: float
    small: bool = False
    saved: Checkpoint | None = None
    resumed: float | None = None
    attaches: bool = False

    @property
    def bounds(self) -> tuple[ProvedBound, ...]:
        """What trees from below have proved."""
        return () if self.below is None else self.below.bounds

    @property
    def earlier(self) -> Totals:
        """What trees from below have taken."""
        return Totals() if self.below is None else self.below.earlier

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
        if self.below is not None:
            values.append(self.below.step.upper_bound)
        # Nothing is at the trivial UB or above: the tree is the same, and it fits.
        return min(*values, self.problem.trivial_ub) if values else None

    @property
    def node_limit(self) -> int | None:
        """Decomposed nodes after which the tree ends, by the user or its step."""
        limit = self.options.node_limit
        if self.below is None:
            return limit
        if limit is not None:
            limit = max(1, limit - self.earlier.decomposed)
        limits = [limit, self.below.step.node_limit]
        return min((one for one in limits if one is not None), default=None)

    def seconds_left(self, now: float) -> float | None:
        """Time that is left of the limit, perhaps negative; None without a limit."""
        limit = self.options.time_limit_s
        since = self.began if self.resumed is None else self.resumed
        return None if limit is None else since + limit - now

    def end(self, should_stop: Callable[[], bool]) -> Termination | None:
        """Return why its tree is not to be explored; None: it is."""
        left = self.seconds_left(time.monotonic())
        if self.saved is not None:  # it goes on, whatever time is left
            return None
        if self.proved:
            return Termination.EXHAUSTED
        if self.within_gap:
            return Termination.GAP_LIMIT
        if should_stop():
            return Termination.STOPPED
        return Termination.TIME_LIMIT if left is not None and left <= 0 else None

    def opened(self, now: float) -> float:
        """When the run was opened, if it is opened now: as if never interrupted."""
        return now if self.saved is None else now - self.saved.totals.seconds

    def spec(
        self, now: float, engine: str | None = None, run_id: RunId | None = None
    ) -> RunSpec:
        """Return the run that explores the tree.

        Parameters
        ----------
        engine
            The engine, where ``auto`` is already decided.
        run_id
            Its name; default: a new one.

        Raises
        ------
        OptionError
            MinBranch without any upper bound.
        """
        options = self.options
        common: dict[str, Any] = {
            "run_id": run_id or RunId(uuid4().hex[:12]),
            "options": replace(RunOptions.of(options), node_limit=self.node_limit),
            "tuning": self._tuning(),
            "engine": engine or str(options.engine),
            "time_limit_s": self.seconds_left(now),
            "request": self.request(self.opened(now)),
        }
        if self.saved is not None:
            return replace(
                self.saved.spec,
                upper_bound=self._saved_bound(self.saved),
                permutation=options.initial,
                **common,
            )
        whole = options.cutoff is not None or options.all_optima
        return RunSpec(
            problem=self.problem,
            tree=tree_of(self.problem, options, self.branching_ub, self.permutation),
            instance=self.name,
            upper_bound=self.upper_bound,
            root_bound=None if whole else self.root_bound,
            permutation=self.permutation,
            certificate=options.certificate is not None,
            proved_bound=None if self.below is None else self.lower_bound,
            **common,
        )

    def _tuning(self) -> Tuning:
        """Return the tuning of a run; without heuristics none run beside its tree."""
        options = self.options
        if options.cutoff is not None or options.heuristics == Heuristics.NONE:
            return options.tuning.replace(heuristic_threads=0)
        return options.tuning

    def _saved_bound(self, saved: Checkpoint) -> int:
        """Return the upper bound that a tree goes on with."""
        given = self.options.upper_bound
        known = [saved.cutoff, saved.ub]
        if given is not None:
            known.append(given + self.options.all_optima)
        return min(known)

    def request(self, now: float) -> Request:
        """Return what a run that is opened now keeps of this plan."""
        given = self.options.to_mapping()
        options = {name: given[name] for name, row in OPTIONS.items() if not row.client}
        if self.options.certificate is not None:  # for those who attach elsewhere
            options["certificate"] = str(Path(self.options.certificate).absolute())
        since = self.began if self.resumed is None else self.resumed
        if self.trajectory:
            since = max(since, self.began + self.trajectory[-1].seconds)
        waited = max(0.0, min(self.earlier.seconds, now - since))
        return Request(options, now - self.began, Known(**self.known()), waited)

    @classmethod
    def of_run(cls, spec: RunSpec, opened: float, options: SolveOptions) -> Plan:
        """Return the plan of a run that somebody else opened, or that goes on."""
        request = spec.request
        return cls(
            spec.problem,
            spec.instance,
            options,
            began=opened - request.seconds,
            **request.known.known(),
        )

    def after(self, outcome: Outcome, result: Result) -> Plan | None:
        """Return the plan of the tree from below that follows this one's.

        None: no tree follows: this is the one tree, or the last one, or a limit of the
        user's ended it.
        """
        below, ub = self.below, self.upper_bound
        if below is None or ub is None or result.status is Status.OPTIMAL:
            return None
        if outcome.exhausted:  # nothing is below the upper bound, given or known
            known = self.options.upper_bound
            follows = known is None or result.lower_bound < known
        else:  # given up, unless the user's limit ended it
            limit = self.options.node_limit
            follows = result.termination is Termination.NODE_LIMIT and (
                limit is None or result.decomposed < limit
            )
        if not follows:
            return None
        step = below.step.after(
            ub, exhausted=outcome.exhausted, decomposed=outcome.totals.decomposed
        )
        plan = replace(
            self,
            saved=None,
            below=Below(step, result.bounds, self.earlier.plus(outcome.totals)),
            trajectory=result.trajectory,
        )
        if outcome.value is None:
            return plan
        return replace(plan, makespan=outcome.value, permutation=outcome.permutation)
