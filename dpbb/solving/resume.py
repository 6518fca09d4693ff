"""From a checkpoint to a run that goes on: which options may change, and which not."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbb.cluster.client.connect import placed
from dpbb.cluster.client.optima_file import OptimaFile
from dpbb.cluster.storage.checkpoint_folder import folder_of, load_checkpoint
from dpbb.coordination.checkpoint import Checkpoint, check_incumbent
from dpbb.coordination.messages import Known, Request
from dpbb.errors import CheckpointError, OptionError
from dpbb.flowshop.family import read_problem
from dpbb.options import OPTIONS, EngineName, SolveOptions, Strategy, Tuning
from dpbb.options.rows import Resumed
from dpbb.problem import Problem, root_bound
from dpbb.progress import Progress
from dpbb.result import Totals
from dpbb.solving.arguments import Call, check_engine, numbered, shown_by, style_of
from dpbb.solving.plan import Plan
from dpbb.text.files import check_writable


def checked_resume(
    source: str | Path,
    client: Any,
    problem: Problem[Any] | None,
    changes: dict[str, Any],
    progress: Progress | str | None,
    should_stop: Callable[[], bool],
) -> Call:
    """Read a checkpoint, and check everything before anything is started."""
    began = time.monotonic()
    problem = None if problem is None else read_problem(problem)
    saved, options = read_saved(source, problem, {**changes, **style_of(progress)})
    check_engine(options)
    client, options, where = placed(client, options)
    shown = shown_by(progress, options)
    if where:
        shown.note(where)
    spec = saved.spec
    return Call(
        spec.problem, spec.instance, options, shown, should_stop, began, client,
        saved=saved,
    )  # fmt: skip


def plan_of_saved(call: Call, saved: Checkpoint) -> Plan:
    """Return the plan of a run that goes on, as it was; no heuristics."""
    plan = replace(plan_before(saved, call.options), saved=saved, resumed=call.began)
    note = call.progress.note
    if saved.spec.certificate and call.options.certificate is None:
        note("no certificate: name a file again (certificate)")
    if saved.first_optimum and call.options.optima_file is None:
        note(
            f"the first {saved.first_optimum:,} optimal permutations are in the run's "
            "file alone: name it again (optima_file)"
        )
    note(
        f"resumed after {seconds_of(saved):.0f} s: {len(saved.units)} units, "
        f"{totals_of(saved).nodes:,} nodes so far"
    )
    return plan


def plan_before(saved: Checkpoint, options: SolveOptions) -> Plan:
    """Return the plan of a run as it was, with other options.

    CheckpointError: what the checkpoint says of it cannot be.
    """
    spec = saved.spec
    request = spec.request or Request(known=Known(root_bound=root_bound(spec.problem)))
    opened = time.monotonic() - saved.totals.seconds
    plan = Plan.of_request(
        spec.problem, spec.instance, request, opened=opened, options=options
    )
    check_incumbent(spec.problem, plan.makespan, plan.permutation)
    return plan


def options_before(saved: Checkpoint) -> SolveOptions:
    """Return the options that a run goes on with, unless others are given."""
    tree = saved.spec.tree
    before: dict[str, Any] = {
        **_request_of(saved).options,
        "branching": tree.branching,
        "bound": tree.bound,
        "all_optima": saved.spec.options.all_optima,
    }
    kept = {
        name: value
        for name, value in before.items()
        if name not in OPTIONS or OPTIONS[name].resumed is not Resumed.ANEW
    }
    tuning = Tuning(
        branching_ub=tree.branching_ub,
        root_order=tree.root_order,
        heuristic_threads=saved.spec.tuning.heuristic_threads,  # 0 with a cutoff
    )
    return SolveOptions.from_mapping({**kept, "tuning": tuning})


def _request_of(saved: Checkpoint) -> Request:
    return saved.spec.request or Request()


def seconds_of(saved: Checkpoint) -> float:
    """Return the seconds of all trees so far, and of the heuristics before them."""
    return _request_of(saved).seconds + saved.totals.seconds


def totals_of(saved: Checkpoint) -> Totals:
    """Return what the call took so far: all its trees, and the heuristics before."""
    below = _request_of(saved).known.below
    totals = saved.totals if below is None else below.earlier.plus(saved.totals)
    return replace(totals, seconds=seconds_of(saved))


def strategy_before(saved: Checkpoint) -> Strategy:
    """Return what a run goes on as: one tree, or one of those from below."""
    is_one = _request_of(saved).known.below is None
    return Strategy.INCUMBENT if is_one else Strategy.FROM_BELOW


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
    given = OPTIONS["tuning"].kind.check(changes.get("tuning", {}), "tuning")
    changed = {**changes, "tuning": fixed.tuning.replace(**given.changed())}
    options = numbered(saved.spec.problem, fixed.replace(**changed))
    if options.workers != 0 and "checkpoint" not in changes:
        options = options.replace(checkpoint=folder_of(path))
    names = [name for name, row in OPTIONS.items() if row.resumed is Resumed.FIXED]
    pairs = [(name, getattr(fixed, name), getattr(options, name)) for name in names]
    pairs += [
        (name, getattr(fixed.tuning, name), getattr(options.tuning, name))
        for name in ("branching_ub", "root_order")
    ]
    for name, old, new in pairs:
        if new != old:
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
    if options.certificate is not None:
        check_writable(options.certificate, "certificate", source)
    if options.optima_file is not None:
        check_writable(options.optima_file, "optima_file", source, options.certificate)
        if options.initial is None:  # else they may be optimal no more
            file = OptimaFile(Path(options.optima_file), saved.spec.problem)
            file.check(saved.value, saved.first_optimum)
    if options.engine is EngineName.AUTO and saved.spec.engine == EngineName.REFERENCE:
        options = options.replace(engine=EngineName.REFERENCE)
    return saved, options
