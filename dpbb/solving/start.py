"""The plan of a run: what the start heuristics find."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dpbb.heuristics import heuristics_of
from dpbb.options import Heuristics, SolveOptions
from dpbb.problem import Incumbent, Problem, StartSearch, proving_bound
from dpbb.result import Improvement
from dpbb.solving.plan import Plan

GPU_START_S = 15.0
GPU_START_SHARE = 0.2
"""Seconds, and the part of a time limit, that a GPU's beams have before the tree: they
prove much, and a tree is several times as large at an upper bound one unit higher."""


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
) -> Plan:
    """Run the start heuristics.

    Parameters
    ----------
    problem, name, options, began
        See ``Plan``.
    should_stop
        Polled every few milliseconds; True ends the heuristics early.
    tree_waits
        Polled, too: see ``StartSearch``.
    device
        ``"gpu"``: one that nobody explores on yet may search, too.
    """
    bound = proving_bound(problem)
    plan = Plan(problem, name, options, began, bound)
    now = time.monotonic()
    left = plan.seconds_left(now)
    limit, wait = _times(options, left)
    if device == "gpu":
        limit = (
            GPU_START_S if left is None else min(GPU_START_S, GPU_START_SHARE * left)
        )
    search = StartSearch(
        Heuristics.NONE if options.cutoff is not None else options.heuristics,
        time_limit_s=limit,
        end=None if wait is None else now + wait,
        threads=options.threads,
        device=device,
        seed=options.seed,
        initial=options.initial,
        lower_bound=bound,
        should_stop=should_stop,
        tree_waits=tree_waits,
        on_note=on_note,
    )
    first = heuristics_of(problem).first_incumbent
    return searched(plan, search, first, on_incumbent=on_incumbent)


def searched(
    plan: Plan,
    search: StartSearch,
    run: Callable[[StartSearch], Incumbent | None],
    *,
    on_incumbent: Callable[[Improvement, int], None],
) -> Plan:
    """Return the plan with what a search finds.

    Parameters
    ----------
    run
        Runs the search: it gets one that tells what it finds, and ends when that is
        good enough.
    on_incumbent
        As of ``make_plan``.
    """
    steps: list[Improvement] = []

    def found(incumbent: Incumbent) -> None:
        seconds = time.monotonic() - plan.began
        steps.append(Improvement(seconds, incumbent.value, incumbent.source))
        on_incumbent(steps[-1], plan.lower_bound)

    def enough() -> bool:
        known = steps[-1].value if steps else None
        return replace(plan, makespan=known).within_gap or search.should_stop()

    best = run(replace(search, on_improvement=found, should_stop=enough))
    if best is None:
        return plan
    return replace(
        plan,
        makespan=best.value,
        permutation=tuple(best.permutation.tolist()),
        trajectory=tuple(steps),
        small=best.proved,
    )


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
