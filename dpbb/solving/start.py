"""What comes before the tree: the start heuristics, and the choice of what is explored.

That is one tree below the incumbent or some from below, and for many jobs the rule by
which they branch.
"""

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any, TypeVar

from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.from_below import Below, Step
from dpbb.errors import EngineUnavailable, InvariantError
from dpbb.estimation.result import MANY_JOBS, duration
from dpbb.heuristics import heuristics_of
from dpbb.kernels.cores import in_daemon
from dpbb.options import BranchingRule, EngineName, Heuristics, SolveOptions, Strategy
from dpbb.problem import Incumbent, StartSearch, n_machines_of, proving_bound
from dpbb.progress import Progress
from dpbb.result import Improvement
from dpbb.solving.arguments import Call
from dpbb.solving.cluster import Cluster
from dpbb.solving.plan import Plan
from dpbb.solving.resume import seconds_of
from dpbb.text.names import plural
from dpbb.tree.branching import settled_rule

logger = logging.getLogger(__name__)

T = TypeVar("T")

ESTIMATE_S = 2.0
"""Seconds of an estimate, at most."""

ESTIMATE_SHARE = 0.05
"""Of a time limit, what an estimate takes at most."""

WAIT_S = 60.0
"""An estimate is waited for so long, as on its first use Numba compiles for it; with a
time limit three times its share."""

POLL_S = 0.02

PATIENCE_S = 86400.0
"""Without a time limit a tree that takes longer is not waited for."""

NEAR = 1 / 16
"""Share of a schedule's cost that is above the root bound, at most, where many jobs,
whose estimates are not to be trusted, have trees from below: a bound further off does
not come near in hours."""


def start(call: Call, plan: Plan, cluster: Cluster) -> Plan:
    """Return a plan with what the start heuristics find; one that goes on has it."""
    progress = call.progress
    progress.begin(plan.name)
    if plan.saved is not None:
        cluster.answered.set()
        _tell_of(plan, plan.saved, progress.note)
        return plan
    try:
        plan = _with_heuristics(call, plan, cluster, cluster.start_device())
    finally:
        cluster.answered.set()
    if plan.proved or plan.within_gap:
        return plan
    cluster.stay_in_process_if_small(plan)
    options = plan.options
    if options.branching is None or options.strategy is Strategy.AUTO:
        progress.waiting("an estimate of the tree")
    strategy, why = chosen_strategy(
        plan,
        engine=cluster.engine,
        detached=call.detached,
        should_stop=call.should_stop,
    )
    if why:
        progress.note(f"strategy {strategy}: {why}")
    if strategy is Strategy.FROM_BELOW:
        plan = replace(plan, below=Below(Step(1, plan.lower_bound)))
    plan, why = with_rule(plan, call.should_stop)
    progress.waiting("")
    if why:
        progress.note(f"branching {why}")
    return plan


def _tell_of(plan: Plan, saved: Checkpoint, note: Callable[[str], None]) -> None:
    """Say with what a plan goes on, and what it does without."""
    if saved.spec.certificate and plan.options.certificate is None:
        note("no certificate: name its file again (--certificate, certificate=)")
    if plan.options.checkpoint is None:
        note("no more checkpoints are written")
    if saved.first_optimum:
        note(f"its first {saved.first_optimum:,} optimal permutations are in its file")
    left = plural(len(saved.units), "part") if saved.units else "nothing"
    nodes = plan.earlier.nodes + saved.totals.nodes
    note(f"resumed after {seconds_of(saved):.0f} s and {nodes:,} nodes: {left} left")


def _with_heuristics(call: Call, plan: Plan, cluster: Cluster, device: str) -> Plan:
    """Run the start heuristics; on the cores alone if the GPU refuses."""

    def found(incumbent: Incumbent) -> None:
        if device == "cpu" or incumbent.source == "beam":
            cluster.answered.set()

    hooks = StartSearch(
        device=device,
        on_improvement=found,
        should_stop=call.should_stop,
        tree_waits=cluster.tree_waits if device == "cpu" else lambda: False,
        on_note=call.progress.waiting,
    )
    try:
        return with_heuristics(plan, hooks, call.progress, call.heuristic)
    except (EngineUnavailable, RuntimeError, MemoryError) as error:
        if device == "cpu" or isinstance(error, InvariantError):
            raise
        logger.warning("no heuristics on the GPU: %s", error)
        return _with_heuristics(call, plan, cluster, "cpu")


def with_heuristics(
    plan: Plan,
    hooks: StartSearch,
    shown: Progress | None = None,
    heuristic: Callable[..., Any] | None = None,
) -> Plan:
    """Return a plan with the root's bound, and what the start heuristics find.

    Parameters
    ----------
    hooks
        What the search polls and calls, and its device. What the options say of it is
        added.
    shown
        Shows what is found.
    heuristic
        See ``Call``.
    """
    options, bound = plan.options, proving_bound(plan.problem)
    plan = replace(plan, root_bound=bound)
    now = time.monotonic()
    left = plan.seconds_left(now)
    limit, wait = _times(options, left)
    search = replace(
        hooks,
        method=Heuristics.NONE if options.cutoff is not None else options.heuristics,
        time_limit_s=limit,
        end=None if wait is None else now + wait,
        threads=options.threads,
        seed=options.seed,
        initial=options.initial,
        lower_bound=bound,
    )
    first = heuristics_of(plan.problem, heuristic).first_incumbent
    return searched(plan, search, first, shown or Progress())


def searched(
    plan: Plan,
    search: StartSearch,
    run: Callable[[StartSearch], Incumbent | None],
    shown: Progress,
) -> Plan:
    """Return the plan with what a search finds, and show it.

    ``run`` runs the search: it gets one that tells what it finds, and ends when that is
    good enough.
    """
    steps: list[Improvement] = []

    def found(incumbent: Incumbent) -> None:
        seconds = time.monotonic() - plan.began
        steps.append(Improvement(seconds, incumbent.value, incumbent.source))
        shown.incumbent(seconds, incumbent.value, plan.lower_bound)
        search.on_improvement(incumbent)

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


def with_rule(
    plan: Plan, should_stop: Callable[[], bool] = lambda: False
) -> tuple[Plan, str]:
    """Return the plan with the branching rule of its first tree, and why, for people.

    Only many jobs want estimates for it; the default stays where they do not come.
    """
    options, ub = plan.options, plan.upper_bound
    if ub is None or settled_rule(plan.problem, options.branching) is not None:
        return plan, ""
    from dpbb.estimation.sampling import chosen_rule

    found = _in_time(
        partial(chosen_rule, plan.problem, options, ub),
        _patience(plan.seconds_left(time.monotonic())),
        should_stop,
    )
    rule, why = found or (BranchingRule.MAXSUM, "")
    return replace(plan, options=options.replace(branching=rule)), why


def _patience(left: float | None) -> float:
    """Return for how many seconds an estimate is waited for."""
    return WAIT_S if left is None else min(WAIT_S, 3 * ESTIMATE_SHARE * max(left, 0.0))


def chosen_strategy(
    plan: Plan,
    *,
    engine: str | None,
    detached: bool,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[Strategy, str]:
    """Return the strategy, and why, for people; nothing where it was given.

    Parameters
    ----------
    engine
        The engine of an embedded cluster; None: another cluster explores.
    detached
        Nobody stays until the end of the run: one tree.
    """
    options = plan.options
    if options.strategy is not Strategy.AUTO:
        return options.strategy, ""
    if detached:
        return Strategy.INCUMBENT, "nobody stays to explore another tree"
    if options.cutoff is not None or options.all_optima:
        return Strategy.INCUMBENT, "what is asked for is in one tree"
    if plan.small:
        return Strategy.INCUMBENT, "a heuristic left nothing out below its schedule"
    known = [ub for ub in (plan.makespan, options.upper_bound) if ub is not None]
    if not known:
        return Strategy.FROM_BELOW, "no schedule is known"
    ub = min(known)
    near = 0 <= ub - plan.root_bound <= NEAR * ub
    if near and plan.problem.n_jobs >= MANY_JOBS:
        return Strategy.FROM_BELOW, "above the optimum trees of so many jobs explode"
    left = plan.seconds_left(time.monotonic())
    limit = PATIENCE_S if left is None else max(left, 0.0)
    found = _in_time(
        partial(_least_seconds, plan, ub, engine, limit), _patience(left), should_stop
    )
    if found is None:
        return Strategy.INCUMBENT, "the estimate of the tree was not there in time"
    low_s, where = found
    text = (
        f"the tree below {ub} is estimated to take at least {duration(low_s)} {where}"
    )
    if low_s > limit:
        there = "what is left of the time limit" if left is not None else "that"
        return Strategy.FROM_BELOW, f"{text}: more than {there}, {duration(limit)}"
    return Strategy.INCUMBENT, f"{text}, and there is time for it"


def _in_time(
    find: Callable[[Callable[[], bool]], T],
    most_s: float,
    should_stop: Callable[[], bool],
) -> T | None:
    """Call a function in a thread, which nobody waits for longer than so long.

    It is given what it has to poll: True ends it, as nobody waits any more.
    """
    stop = Event()
    answer = in_daemon(partial(find, stop.is_set), "dpbb-estimate")
    end = time.monotonic() + most_s
    while time.monotonic() < end and not should_stop():
        if wait([answer], POLL_S).done:
            return answer.result()
    stop.set()
    return None


def _least_seconds(
    plan: Plan,
    ub: int,
    engine: str | None,
    limit: float,
    should_stop: Callable[[], bool],
) -> tuple[float, str]:
    """Return the least seconds that a tree is estimated to take, and on what."""
    from dpbb.cluster.local.embedded import HOST
    from dpbb.cluster.worker.gpus import is_explored_by_cores, visible_gpus
    from dpbb.estimation.estimating import estimate
    from dpbb.estimation.rates import h100_rate

    options = plan.options
    on_cores = engine in (EngineName.CPU, EngineName.REFERENCE)
    if engine is None and HOST in (options.scheduler or ""):  # such as a campaign's
        on_cores = is_explored_by_cores(options.engine)
    found = estimate(
        plan.problem,
        upper_bound=ub,
        seconds=max(0.1, min(ESTIMATE_S, ESTIMATE_SHARE * limit)),
        seed=options.seed,
        measure=on_cores,
        should_stop=should_stop,
        branching=options.branching,
        tuning=options.tuning,
        engine=options.engine,
        threads=options.threads,
    )
    rate = found.here
    if not on_cores:
        gpus = len(visible_gpus(os.environ)) if engine == EngineName.GPU else 1
        n_jobs, n_machines = plan.problem.n_jobs, n_machines_of(plan.problem)
        rate = h100_rate(n_jobs, max(1, n_machines), max(1, gpus))
    if rate is None:  # it was exhausted before its rate could be measured
        return 0.0, "here"
    return found.low / rate.nodes_per_second, f"on {rate.what}"
