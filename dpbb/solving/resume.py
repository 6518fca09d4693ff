"""From a checkpoint to a plan that goes on: which options may change, and which not.

``resume`` takes what it is not given from the checkpoint. ``solve`` and ``submit`` go
on in their folder of checkpoints by the options that they are given, as in a new one.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbb.cluster.client.optima_file import check_held
from dpbb.cluster.storage.checkpoint_folder import (
    folder_of,
    header_names,
    load_checkpoint,
    load_newest,
)
from dpbb.cluster.storage.claim import delete_all
from dpbb.cluster.storage.store import Folder
from dpbb.coordination.checkpoint import Checkpoint, check_incumbent
from dpbb.coordination.messages import RunSpec
from dpbb.errors import CheckpointError, OptionError
from dpbb.flowshop.family import read_problem
from dpbb.options import OPTIONS, EngineName, SolveOptions, Strategy, Tuning, kinds
from dpbb.options.rows import Resumed
from dpbb.problem import bound_of
from dpbb.solving.arguments import Call, check_files, numbered
from dpbb.solving.plan import Plan

OF_TREE = ("branching_ub", "root_order")
"""Fields of ``Tuning`` that the tree depends on."""


def read_saved(source: str | Path, problem: Any, changes: Mapping[str, Any]) -> Plan:
    """Read a checkpoint: the plan of its run, with single options changed.

    Raises
    ------
    CheckpointError
        See ``load_checkpoint``; or the run had failed.
    OptionError
        An option that must be as before is another.
    """
    path, began = str(source), time.monotonic()
    given = None if problem is None else read_problem(problem)
    saved = load_checkpoint(path, given)
    _check_saved(saved, path)
    fixed = options_before(saved.spec)
    if "upper_bound" in changes:  # which may be below the cutoff
        fixed = fixed.replace(cutoff=None)
    tuning = OPTIONS["tuning"].kind.check(changes.get("tuning", {}), "tuning")
    changed = {**changes, "tuning": fixed.tuning.replace(**tuning.changed())}
    options = numbered(saved.spec.problem, fixed.replace(**changed))
    options = options.replace(branching=options.branching or fixed.branching)
    if options.workers != 0 and "checkpoint" not in changes:
        options = options.replace(checkpoint=folder_of(path))
    _check_same(saved.spec, fixed, options)
    one = saved.spec.request.known.below is None  # else its bound is that of a step
    reached = saved.ub - options.all_optima if one else saved.value
    given_ub = options.upper_bound
    if given_ub is not None and reached is not None and given_ub > reached:
        raise OptionError(
            f"upper_bound: expected at most {reached}, which the run has reached "
            f"already, got {given_ub}"
        )
    check_files(options, source)
    return plan_of_saved(saved, options, began)


def going_on(call: Call, plan: Plan, *, fresh: bool) -> Plan:
    """Return the plan as one that goes on from what its folder of checkpoints holds.

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
    url = plan.options.checkpoint
    if url is None:
        if fresh:
            raise OptionError("fresh: expected together with checkpoint, got it alone")
        return plan
    try:
        folder = Folder(url)
        if fresh:
            delete_all(folder)
        is_empty = not header_names(folder)
    except CheckpointError:
        if call.has_own_cluster or fresh:
            raise
        is_empty = True  # it is the scheduler's, who may see it
    if not is_empty:
        saved = load_newest(folder, plan.problem)
        _check_saved(saved, url)
        plan = plan_of_saved(saved, options_on(saved.spec, plan), call.began)
    return replace(plan, attaches=not call.has_own_cluster)


def plan_of_saved(saved: Checkpoint, options: SolveOptions, began: float) -> Plan:
    """Return the plan of a run that goes on.

    ``began``: when the call did that goes on with it.

    OptionError: not all of its optimal permutations would be in the file.
    """
    spec = saved.spec
    if options.optima_file is not None and options.initial is None:
        # with a schedule they may be optimal no more
        check_held(saved.first_optimum, options.optima_file)
    if options.engine is EngineName.AUTO and spec.engine == EngineName.REFERENCE:
        options = options.replace(engine=EngineName.REFERENCE)
    plan = Plan.of_run(spec, time.monotonic() - saved.totals.seconds, options)
    return replace(plan, saved=saved, resumed=began)


def plan_of_running(plan: Plan, spec: RunSpec, opened: float, began: float) -> Plan:
    """Return the plan of a run that another client opened in the plan's folder.

    ``began``: when the call did that attaches to it.

    CheckpointError, OptionError: it is of another problem or tree.
    """
    if spec.problem.digest != plan.problem.digest:
        raise CheckpointError(
            f"expected instance {spec.instance}, as run {spec.run_id} has it, which "
            f"writes to {plan.options.checkpoint}, got {plan.name}"
        )
    found = Plan.of_run(spec, opened, options_on(spec, plan))
    return replace(found, resumed=began)


def options_on(spec: RunSpec, plan: Plan) -> SolveOptions:
    """Return the options of a plan that goes on with a run of the same problem.

    OptionError: they are of another tree, or ask for what the run has not kept.
    """
    before, options = options_before(spec), plan.options
    tuning, own = before.tuning, options.tuning.changed()
    same = {name: own.get(name, getattr(tuning, name)) for name in OF_TREE}
    is_open = options.strategy is Strategy.AUTO
    options = options.replace(
        bound=bound_of(plan.problem),
        branching=options.branching or before.branching,
        strategy=before.strategy if is_open else options.strategy,
        tuning=options.tuning.replace(**same),
    )
    _check_same(spec, before, options)
    return options


def options_before(spec: RunSpec) -> SolveOptions:
    """Return the options that a run goes on with, unless others are given."""
    tree, request = spec.tree, spec.request
    is_one = request.known.below is None
    before: dict[str, Any] = {
        **request.options,
        "branching": tree.branching,
        "bound": tree.bound,
        "all_optima": spec.options.all_optima,
        "strategy": Strategy.INCUMBENT if is_one else Strategy.FROM_BELOW,
    }
    kept = {
        name: value
        for name, value in before.items()
        if name not in OPTIONS or OPTIONS[name].resumed is not Resumed.ANEW
    }
    asked = {**kept, "tuning": request.options.get("tuning", {})}
    options = SolveOptions.from_mapping(asked)
    tuning = Tuning(
        branching_ub=tree.branching_ub,
        root_order=options.tuning.root_order,
        heuristic_threads=spec.tuning.heuristic_threads,  # 0 with a cutoff
    )
    return options.replace(tuning=tuning)


def seconds_of(saved: Checkpoint) -> float:
    """Return the seconds of all trees so far, and of the heuristics before them."""
    return saved.spec.request.seconds + saved.totals.seconds


def _check_saved(saved: Checkpoint, path: str) -> None:
    """Raise CheckpointError for a run that had failed, or that was of no call."""
    if saved.error is not None:
        raise CheckpointError(
            f"{path}: expected a run that had not failed, got: {saved.error}"
        )
    spec, known = saved.spec, saved.spec.request.known
    try:
        options_before(spec)
        check_incumbent(spec.problem, known.makespan, known.permutation)
    except OptionError as error:
        raise CheckpointError(f"{path}: {error}") from error


def _check_same(spec: RunSpec, before: SolveOptions, options: SolveOptions) -> None:
    """Raise OptionError where options are not as before, and have to be."""
    names = [name for name, row in OPTIONS.items() if row.resumed is Resumed.FIXED]
    pairs: list[tuple[str, Any, Any]]
    pairs = [(name, before, options) for name in (*names, "strategy")]
    pairs += [(name, before.tuning, options.tuning) for name in OF_TREE]
    for name, old, new in pairs:
        expected, got = getattr(old, name), getattr(new, name)
        if got != expected:
            raise OptionError(
                f"{name}: expected {expected}, as the run has it, got {got}"
            )
    if options.certificate is not None and not spec.certificate:
        raise OptionError(
            "certificate: expected a run that kept a journal from its start (option "
            f"certificate), got one that did not: {options.certificate}"
        )
