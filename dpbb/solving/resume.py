"""From a checkpoint to a run that goes on: which options may change, and which not."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dpbb.cluster.client.optima_file import OptimaFile
from dpbb.cluster.storage.checkpoint_folder import (
    folder_of,
    load_checkpoint,
    resumed_id,
)
from dpbb.coordination.checkpoint import Checkpoint, check_incumbent
from dpbb.coordination.format import to_bytes
from dpbb.coordination.messages import RunSpec
from dpbb.errors import CheckpointError, OptionError
from dpbb.options import OPTIONS, EngineName, SolveOptions, Strategy, Tuning
from dpbb.options.rows import Resumed
from dpbb.problem import Problem, root_bound
from dpbb.result import Result
from dpbb.solving.arguments import numbered
from dpbb.solving.call import Call
from dpbb.solving.earlier import Earlier
from dpbb.solving.plan import Plan
from dpbb.text.files import check_writable


@dataclass(slots=True)
class ResumedCall(Call):
    """A call of ``resume``."""

    saved: Checkpoint | None = None

    def plan(self) -> Plan:
        """Return the plan of the run as it was; no heuristics."""
        saved = self._saved
        plan = plan_before(saved, self.options)
        if saved.spec.certificate and self.options.certificate is None:
            self.progress.note("no certificate: name a file again (certificate)")
        if saved.first_optimum and self.options.optima_file is None:
            self.progress.note(
                f"the first {saved.first_optimum:,} optimal permutations are in the "
                "run's file alone: name it again (optima_file)"
            )
        sums = sums_of(saved)
        self.progress.note(
            f"resumed after {sums['seconds']:.0f} s: {len(saved.units)} units, "
            f"{sums['decomposed'] + sums['leaves']:,} nodes so far"
        )
        return replace(plan, resumed=self.began)

    def opened(self, plan: Plan, now: float) -> float:
        """See ``Call.opened``: as if the run had never been interrupted."""
        return now if self.run_ids else now - self._saved.totals.seconds

    def spec(self, plan: Plan, now: float, engine: str) -> tuple[RunSpec, bytes | None]:
        """Return the run that goes on, and its state."""
        if self.run_ids:  # another tree, from below
            return Call.spec(self, plan, now, engine)
        saved, options = self._saved, self.options
        ub = saved.ub
        if options.upper_bound is not None:
            ub = options.upper_bound + options.all_optima
        if ub > saved.ub:
            raise OptionError(
                f"upper_bound: expected at most {saved.ub - options.all_optima}, which "
                f"the run has reached already, got {options.upper_bound}"
            )
        spec = replace(
            saved.spec,
            run_id=resumed_id(saved.spec.run_id),
            options=self.run_options(plan),
            tuning=Tuning.of(options),
            engine=engine,
            upper_bound=min(saved.cutoff, ub),
            permutation=options.initial,
            time_limit_s=plan.seconds_left(now),
            request=plan.to_request(self.opened(plan, now)),
        )
        return spec, to_bytes(saved)

    @property
    def may_end_early(self) -> bool:
        """A run that goes on is opened whatever its limit."""
        return False

    def early(self, plan: Plan) -> Result | None:
        """Nothing ends a run before it goes on; see ``Call.early``."""
        return Call.early(self, plan) if self.run_ids else None

    @property
    def _saved(self) -> Checkpoint:
        if self.saved is None:
            raise ValueError("expected a checkpoint")
        return self.saved


def plan_before(saved: Checkpoint, options: SolveOptions) -> Plan:
    """Return the plan of a run as it was, with other options.

    Raises
    ------
    CheckpointError, OptionError
        What the checkpoint says of it cannot be.
    """
    spec = saved.spec
    request: Mapping[str, Any] = spec.request or {
        "seconds": 0.0,
        "root_bound": root_bound(spec.problem),
    }
    opened = time.monotonic() - saved.totals.seconds
    plan = Plan.from_request(
        spec.problem, spec.instance, request, opened=opened, options=options
    )
    check_incumbent(spec.problem, plan.makespan, plan.permutation)
    return plan


def _check_file(
    name: str, saved: Checkpoint, options: SolveOptions, *others: object
) -> None:
    """Raise OptionError if a file cannot be written, is another, or cannot go on."""
    path = getattr(options, name)
    if path is None:
        return
    check_writable(path, name, *others)
    # with a better schedule they may be optimal no more
    if name == "optima_file" and options.initial is None:
        file = OptimaFile(Path(path), saved.spec.problem)
        file.check(saved.value, saved.first_optimum)


def options_before(saved: Checkpoint) -> SolveOptions:
    """Return the options that a run goes on with, unless others are given."""
    tree = saved.spec.tree
    before: dict[str, Any] = {
        **dict(saved.spec.request.get("options", {})),
        "branching": tree.branching,
        "branching_ub": tree.branching_ub,
        "bound": tree.bound,
        "root_order": tree.root_order,
        "all_optima": saved.spec.options.all_optima,
        "heuristic_threads": saved.spec.options.heuristic_threads,  # 0 with a cutoff
    }
    return SolveOptions.from_mapping(
        {
            name: value
            for name, value in before.items()
            if name not in OPTIONS or OPTIONS[name].resumed is not Resumed.ANEW
        }
    )


def seconds_of(saved: Checkpoint) -> float:
    """Return the seconds of all trees so far, and of the heuristics before them."""
    before: float = saved.spec.request.get("seconds", 0.0)
    return before + saved.totals.seconds


def sums_of(saved: Checkpoint) -> dict[str, Any]:
    """Return what the call took so far, by the names of ``Result``."""
    last = asdict(saved.totals)
    earlier = Earlier.of_request(saved.spec.request)
    return {**earlier.added_to(last), "seconds": seconds_of(saved)}


def strategy_before(saved: Checkpoint) -> Strategy:
    """Return what a run goes on as: one tree, or one of those from below."""
    below = saved.spec.request.get("step") is not None
    return Strategy.FROM_BELOW if below else Strategy.INCUMBENT


def read_saved(
    source: str | Path, problem: Problem[Any] | None, changes: Mapping[str, Any]
) -> tuple[Checkpoint, SolveOptions]:
    """Read a checkpoint, and the options of the run that goes on from it.

    Raises
    ------
    CheckpointError
        See ``load_checkpoint``; or the run had failed.
    OptionError
        An option that must be as before is another.
    """
    path = str(source)
    saved = load_checkpoint(path, problem)
    if saved.error is not None:
        raise CheckpointError(
            f"{path}: expected a run that had not failed, got: {saved.error}"
        )
    try:
        fixed = options_before(saved)
        plan_before(saved, fixed)
    except OptionError as error:
        raise CheckpointError(f"{path}: {error}") from error
    options = numbered(saved.spec.problem, fixed.replace(**changes))
    if options.workers != 0 and "checkpoint" not in changes:
        options = options.replace(checkpoint=folder_of(path))
    old_values, new_values = fixed.to_mapping(), options.to_mapping()
    for name, row in OPTIONS.items():
        old, new = old_values[name], new_values[name]
        if row.resumed is Resumed.FIXED and new != old:
            raise OptionError(
                f"{name}: expected {old}, as the checkpoint's tree has it, got {new}"
            )
    if options.certificate is not None and not saved.spec.certificate:
        raise OptionError(
            "certificate: expected a run that kept a journal from its start (option "
            f"certificate), got one that did not: {options.certificate}"
        )
    strategy = strategy_before(saved)
    if changes.get("strategy", strategy) != strategy:
        raise OptionError(
            f"strategy: expected {strategy}, as the run has it, got "
            f"{changes['strategy']}"
        )
    if options.cutoff is not None:
        raise OptionError(
            f"cutoff: expected upper_bound, which may be smaller than before, got "
            f"{options.cutoff}"
        )
    for name in ("certificate", "optima_file"):
        journal = options.certificate if name == "optima_file" else None
        _check_file(name, saved, options, source, journal)
    if options.engine is EngineName.AUTO and saved.spec.engine == EngineName.REFERENCE:
        options = options.replace(engine=EngineName.REFERENCE)
    return saved, options
