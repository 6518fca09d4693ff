"""From a checkpoint to a run that goes on: which options may change, and which not.

``resume`` takes what it is not given from the checkpoint. ``solve`` and ``submit`` go
on in their folder of checkpoints by the options that they are given, as in a new one.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbb.cluster.client.connect import placed
from dpbb.cluster.client.optima_file import OptimaFile
from dpbb.cluster.storage.checkpoint_folder import (
    folder_of,
    header_names,
    load_checkpoint,
)
from dpbb.cluster.storage.claim import delete_all, read_owner
from dpbb.cluster.storage.store import Folder
from dpbb.coordination.checkpoint import Checkpoint, check_incumbent
from dpbb.coordination.messages import Request, RunId, RunSpec
from dpbb.errors import CheckpointError, OptionError
from dpbb.flowshop.family import read_problem
from dpbb.options import OPTIONS, EngineName, SolveOptions, Strategy, Tuning, kinds
from dpbb.options.rows import Resumed
from dpbb.problem import Problem, bound_of
from dpbb.progress import Progress
from dpbb.result import Totals
from dpbb.solving.arguments import Call, check_engine, numbered, shown_by, style_of
from dpbb.solving.plan import Plan
from dpbb.text.files import check_writable
from dpbb.text.names import plural

OF_TREE = ("branching_ub", "root_order")
"""Fields of ``Tuning`` that the tree depends on."""


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


def going_on(call: Call, *, fresh: bool) -> Call:
    """Return the call as one that goes on from what its folder of checkpoints holds.

    It is as it was where there is nothing, as far as can be seen from this machine.

    ``fresh``: it begins anew, and the checkpoints that are there are deleted.

    Raises
    ------
    CheckpointError
        Damaged, of another problem, schema or version, or of a run that failed or, if
        ``fresh``, goes on.
    OptionError
        Another tree; or ``fresh`` without a folder.
    """
    kinds.flag().check(fresh, "fresh")
    options = call.options
    url = options.checkpoint
    if url is None:
        if fresh:
            raise OptionError("fresh: expected together with checkpoint, got it alone")
        return call
    if fresh:
        delete_all(url)
    try:
        folder = Folder(url)
        is_empty, owner = not header_names(folder), read_owner(folder)
    except CheckpointError:
        if call.has_own_cluster:
            raise
        return call  # it is the scheduler's, who may see it
    if owner is not None and not call.has_own_cluster:
        call = replace(call, writer=RunId(owner.run_id))
    if is_empty:
        return call
    saved, _ = _loaded(url, call.problem)
    options = options_on(saved.spec, call)
    return replace(call, options=_fitting(saved, options), saved=saved)


def options_on(spec: RunSpec, call: Call) -> SolveOptions:
    """Return the options of a call that goes on with a run of the same problem.

    OptionError: they are of another tree, or ask for what the run has not kept.
    """
    before, options = options_before(spec), call.options
    tuning, own = before.tuning, options.tuning.changed()
    same = {name: own.get(name, getattr(tuning, name)) for name in OF_TREE}
    options = options.replace(
        bound=bound_of(call.problem),
        branching=options.branching or before.branching,
        tuning=options.tuning.replace(**same),
    )
    if options.strategy is Strategy.AUTO:
        options = options.replace(strategy=strategy_before(spec))
    _check_same(spec, before, options)
    return options


def plan_of_saved(call: Call, saved: Checkpoint) -> Plan:
    """Return the plan of a run that goes on, as it was; no heuristics."""
    plan = replace(plan_before(saved, call.options), saved=saved, resumed=call.began)
    note = call.progress.note
    if saved.spec.certificate and call.options.certificate is None:
        note("no certificate: name its file again (--certificate, certificate=)")
    if saved.first_optimum:
        note(f"its first {saved.first_optimum:,} optimal permutations are in its file")
    left = plural(len(saved.units), "part") if saved.units else "nothing"
    nodes = f"{totals_of(saved).nodes:,} nodes"
    note(f"resumed after {seconds_of(saved):.0f} s and {nodes}: {left} left")
    return plan


def plan_of_running(call: Call, spec: RunSpec, opened: float) -> Plan:
    """Return the plan of a run that another client opened in the call's folder.

    CheckpointError, OptionError: it is of another problem or tree.
    """
    if spec.problem.digest != call.problem.digest:
        raise CheckpointError(
            f"expected instance {spec.instance}, as run {spec.run_id} has it, which "
            f"writes to {call.options.checkpoint}, got {call.name}"
        )
    options = options_on(spec, call)
    return replace(Plan.of_run(spec, opened, options), resumed=call.began)


def plan_before(saved: Checkpoint, options: SolveOptions) -> Plan:
    """Return the plan of a run as it was, with other options.

    CheckpointError: what the checkpoint says of it cannot be.
    """
    spec = saved.spec
    plan = Plan.of_run(spec, time.monotonic() - saved.totals.seconds, options)
    check_incumbent(spec.problem, plan.makespan, plan.permutation)
    return plan


def options_before(spec: RunSpec) -> SolveOptions:
    """Return the options that a run goes on with, unless others are given."""
    tree = spec.tree
    before: dict[str, Any] = {
        **_request_of(spec).options,
        "branching": tree.branching,
        "bound": tree.bound,
        "all_optima": spec.options.all_optima,
    }
    kept = {
        name: value
        for name, value in before.items()
        if name not in OPTIONS or OPTIONS[name].resumed is not Resumed.ANEW
    }
    tuning = Tuning(
        branching_ub=tree.branching_ub,
        root_order=tree.root_order,
        heuristic_threads=spec.tuning.heuristic_threads,  # 0 with a cutoff
    )
    return SolveOptions.from_mapping({**kept, "tuning": tuning})


def _request_of(spec: RunSpec) -> Request:
    return spec.request or Request()


def seconds_of(saved: Checkpoint) -> float:
    """Return the seconds of all trees so far, and of the heuristics before them."""
    return _request_of(saved.spec).seconds + saved.totals.seconds


def totals_of(saved: Checkpoint) -> Totals:
    """Return what the call took so far: all its trees, and the heuristics before."""
    below = _request_of(saved.spec).known.below
    totals = saved.totals if below is None else below.earlier.plus(saved.totals)
    return replace(totals, seconds=seconds_of(saved))


def strategy_before(spec: RunSpec) -> Strategy:
    """Return what a run goes on as: one tree, or one of those from below."""
    is_one = _request_of(spec).known.below is None
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
    saved, fixed = _loaded(path, problem)
    if "upper_bound" in changes:  # which may be below the cutoff
        fixed = fixed.replace(cutoff=None)
    given = OPTIONS["tuning"].kind.check(changes.get("tuning", {}), "tuning")
    changed = {**changes, "tuning": fixed.tuning.replace(**given.changed())}
    options = numbered(saved.spec.problem, fixed.replace(**changed))
    options = options.replace(branching=options.branching or fixed.branching)
    if options.workers != 0 and "checkpoint" not in changes:
        options = options.replace(checkpoint=folder_of(path))
    if "strategy" not in changes:
        options = options.replace(strategy=strategy_before(saved.spec))
    _check_same(saved.spec, fixed, options)
    reached, given_ub = saved.ub - options.all_optima, options.upper_bound
    if given_ub is not None and given_ub > reached:
        raise OptionError(
            f"upper_bound: expected at most {reached}, which the run has reached "
            f"already, got {given_ub}"
        )
    if options.certificate is not None:
        check_writable(options.certificate, "certificate", source)
    if options.optima_file is not None:
        check_writable(options.optima_file, "optima_file", source, options.certificate)
    return saved, _fitting(saved, options)


def _loaded(path: str, problem: Problem[Any] | None) -> tuple[Checkpoint, SolveOptions]:
    """Read a checkpoint of a run that had not failed, and the options that it had."""
    saved = load_checkpoint(path, problem)
    if saved.error is not None:
        raise CheckpointError(
            f"{path}: expected a run that had not failed, got: {saved.error}"
        )
    try:
        options = options_before(saved.spec)
        plan_before(saved, options)
    except OptionError as error:
        raise CheckpointError(f"{path}: {error}") from error
    return saved, options


def _check_same(spec: RunSpec, before: SolveOptions, options: SolveOptions) -> None:
    """Raise OptionError where options are not as before, and have to be."""
    names = [name for name, row in OPTIONS.items() if row.resumed is Resumed.FIXED]
    pairs = [(name, getattr(before, name), getattr(options, name)) for name in names]
    pairs += [
        (name, getattr(before.tuning, name), getattr(options.tuning, name))
        for name in OF_TREE
    ]
    pairs.append(("strategy", strategy_before(spec), options.strategy))
    for name, old, new in pairs:
        if new != old:
            raise OptionError(f"{name}: expected {old}, as the run has it, got {new}")
    if options.certificate is not None and not spec.certificate:
        raise OptionError(
            "certificate: expected a run that kept a journal from its start (option "
            f"certificate), got one that did not: {options.certificate}"
        )


def _fitting(saved: Checkpoint, options: SolveOptions) -> SolveOptions:
    """Return options that fit what is saved: its optimal permutations, its engine."""
    if options.optima_file is not None and options.initial is None:
        # with a schedule they may be optimal no more
        file = OptimaFile(Path(options.optima_file), saved.spec.problem)
        file.check(saved.first_optimum)
    if options.engine is EngineName.AUTO and saved.spec.engine == EngineName.REFERENCE:
        return options.replace(engine=EngineName.REFERENCE)
    return options
