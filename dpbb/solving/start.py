"""The plan of a run: what fits the instance, and what the start heuristics find."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from dpbb.errors import InstanceError, OptionError, shown
from dpbb.options import Heuristics, SolveOptions, TreeOptions
from dpbb.options.permutations import check_permutation
from dpbb.problem import (
    Encodable,
    HasHeuristics,
    Incumbent,
    PartOfSequence,
    Problem,
    StartSearch,
    bound_of,
    check_numbers,
    cost_of,
    part_of,
    proving_bound,
    whole_of,
)
from dpbb.problems import decoded, encoded, family_of, holds_problem
from dpbb.proof import checker
from dpbb.result import Improvement
from dpbb.solving.plan import Plan
from dpbb.text.labels import NO_NAMES, names_of
from dpbb.tree.branching import refusal

GPU_START_S = 15.0
GPU_START_SHARE = 0.2
"""Seconds, and the part of a time limit, that a GPU's beams have before the tree: they
prove much, and a tree is several times as large at an upper bound one unit higher."""


JOB_LISTS = ("initial", "root_order")
"""Options whose jobs may be given by their names."""


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
    for side, jobs in ("front", front), ("back", back):
        if isinstance(jobs, str) or not isinstance(jobs, Iterable):
            raise OptionError(f"{side}: expected a list of jobs, got {shown(jobs)}")
    given = names.numbers(front, "front"), names.numbers(back, "back")
    if not any(given):
        return problem
    if not isinstance(problem, PartOfSequence):
        raise OptionError(
            f"front, back: expected a problem whose sequences may have given ends, "
            f"such as a flow shop, got one of kind {problem.name!r}"
        )
    return problem.with_ends(*given)


def numbered(problem: Problem[Any], options: SolveOptions) -> SolveOptions:
    """Return options that give jobs by their numbers alone.

    Raises
    ------
    OptionError
        There is no job of a name, or the jobs are no permutation.
    """
    names, changed = names_of(problem), dict[str, Any]()
    if options.initial is not None:
        jobs = names.numbers(options.initial, "initial")
        changed["initial"] = part_of(problem, jobs, "initial")
    if options.root_order is not None:
        # of the jobs between given ones, which have numbers of their own
        all_ours = len(whole_of(problem, range(problem.n_jobs))) == problem.n_jobs
        jobs = (names if all_ours else NO_NAMES).numbers(
            options.root_order, "root_order"
        )
        changed["root_order"] = check_permutation(jobs, "root_order", problem.n_jobs)
    return options.replace(**changed)


def check_fit(problem: Problem[Any], options: SolveOptions) -> None:
    """Raise OptionError for an option that does not fit the instance.

    InstanceError: what the instance says of itself does not fit.
    """
    check_numbers(problem)
    for option in JOB_LISTS:
        jobs = getattr(options, option)
        if jobs is not None and len(jobs) != problem.n_jobs:
            raise OptionError(
                f"{option}: expected {problem.n_jobs} jobs, got {len(jobs)}"
            )
    any_ub = 0  # whether there is one for MinBranch is asked below
    own = bound_of(problem)
    tree = TreeOptions(options.branching, any_ub, own, options.root_order)
    reason = refusal(problem, tree)
    if reason is not None:
        raise OptionError(reason)
    if options.initial is not None:
        cost_of(problem, np.array(options.initial, dtype=np.intp))
    if options.certificate is not None and not isinstance(problem, Encodable):
        raise OptionError(
            f"certificate: expected a problem that has encode(), got one of kind "
            f"{problem.name!r}: nobody could check it without the problem"
        )
    if options.certificate is not None and problem.n_jobs > checker.MOST_JOBS:
        raise OptionError(
            f"certificate: expected at most {checker.MOST_JOBS} jobs, got "
            f"{problem.n_jobs}: nobody could check it"
        )
    if options.certificate is not None or options.checkpoint is not None:
        _check_encoding(problem)
    named = problem.heuristics if isinstance(problem, HasHeuristics) else ()
    if options.heuristics not in (*Heuristics, *named):
        raise OptionError(
            f"heuristics: expected one of {', '.join((*Heuristics, *named))}, got "
            f"{options.heuristics!r}"
        )
    none = options.heuristics == Heuristics.NONE
    if none or not isinstance(problem, HasHeuristics):
        given = (options.initial, options.upper_bound, options.cutoff)
        options.tree(None if given == (None, None, None) else 0, own)


def _check_encoding(problem: Problem[Any]) -> None:
    """Raise OptionError now if what is saved could not be read later.

    A kind that nobody has registered yet may be, by then.
    """
    try:
        known = json.loads(json.dumps(encoded(problem)))
        if holds_problem(known) and family_of(problem.name) is not None:
            decoded(known)
    except (InstanceError, TypeError, ValueError) as error:
        raise OptionError(
            f"encode() of kind {problem.name!r}: expected JSON values that its family "
            f"decodes, got: {error}"
        ) from error


def make_plan(
    problem: Problem[Any],
    name: str,
    options: SolveOptions,
    *,
    began: float,
    on_incumbent: Callable[[Improvement, int], None] = lambda _step, _bound: None,
    should_stop: Callable[[], bool] = lambda: False,
    tree_waits: Callable[[], bool] = lambda: False,
    device: str = "cpu",
    on_note: Callable[[str], None] = lambda _text: None,
    on_bound: Callable[[int], None] = lambda _bound: None,
) -> Plan:
    """Run the start heuristics.

    Parameters
    ----------
    problem, name, options, began
        See ``Plan``.
    on_incumbent
        Called with every incumbent and the best lower bound, in this thread.
    should_stop
        Polled every few milliseconds; True ends the heuristics early.
    tree_waits
        Polled, too: see ``StartSearch``.
    device
        ``"gpu"``: one that nobody explores on yet may search, too.
    on_note
        Called with what is waited for, see ``StartSearch``.
    on_bound
        Called with every better lower bound that heuristics show.

    Raises
    ------
    OptionError
        An option does not fit the instance.
    """
    check_fit(problem, options)
    bound = proving_bound(problem)
    plan = Plan(problem, name, options, began, bound)
    if not isinstance(problem, HasHeuristics):
        return _with_initial(plan)
    steps: list[Improvement] = []

    def found(incumbent: Incumbent) -> None:
        seconds = time.monotonic() - began
        steps.append(Improvement(seconds, incumbent.value, incumbent.source))
        on_incumbent(steps[-1], plan.lower_bound)

    def bounded(value: int) -> None:
        nonlocal plan
        if value > plan.lower_bound:
            plan = plan.with_uncut(value)
            on_bound(value)

    def enough() -> bool:
        known = steps[-1].value if steps else None
        return replace(plan, makespan=known).within_gap or should_stop()

    now = time.monotonic()
    left = plan.seconds_left(now)
    limit, wait = _times(options, left)
    if device == "gpu":
        limit = (
            GPU_START_S if left is None else min(GPU_START_S, GPU_START_SHARE * left)
        )
    incumbent = problem.first_incumbent(
        StartSearch(
            Heuristics.NONE if options.cutoff is not None else options.heuristics,
            time_limit_s=limit,
            end=None if wait is None else now + wait,
            threads=options.threads,
            device=device,
            seed=options.seed,
            initial=options.initial,
            lower_bound=bound,
            on_improvement=found,
            should_stop=enough,
            tree_waits=tree_waits,
            on_note=on_note,
            on_bound=bounded,
        )
    )
    return plan if incumbent is None else with_incumbent(plan, incumbent, tuple(steps))


def with_incumbent(
    plan: Plan, incumbent: Incumbent, steps: tuple[Improvement, ...]
) -> Plan:
    """Return the plan with what heuristics have found, and perhaps proved."""
    plan = replace(
        plan,
        makespan=incumbent.value,
        permutation=tuple(incumbent.permutation.tolist()),
        trajectory=steps,
    )
    proved = incumbent.proved and incumbent.value > plan.root_bound
    return plan.with_uncut(incumbent.value) if proved else plan


def _times(
    options: SolveOptions, left: float | None
) -> tuple[float | None, float | None]:
    """Return how long the heuristics search, and how long they are waited for.

    Only the second counts what they compile on the first use after an installation.
    With a time limit a part of it, however short, is the tree's, unless an option says
    how long they may take.
    """
    given = options.heuristic_time_s
    if left is None:
        return given, None
    left = max(left, 0.0)
    if given is not None:
        return min(given, left), left
    return None, 0.75 * left


def _with_initial(plan: Plan) -> Plan:
    """Plan of a problem that there are no heuristics for."""
    jobs = plan.options.initial
    if jobs is None:
        return plan
    value = cost_of(plan.problem, np.array(jobs, dtype=np.intp))
    steps = (Improvement(time.monotonic() - plan.began, value, "initial"),)
    return replace(plan, makespan=value, permutation=jobs, trajectory=steps)
