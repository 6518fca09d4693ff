"""Which strategy a call takes: one tree below the incumbent, or trees from below."""

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from threading import Event, Thread
from typing import TypeVar

from dpbb.estimation.result import duration
from dpbb.options import EngineName, Strategy
from dpbb.problem import n_machines_of
from dpbb.solving.plan import Plan

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
    left = plan.seconds_left(time.monotonic())
    limit = PATIENCE_S if left is None else max(left, 0.0)
    found = _in_time(
        partial(_least_seconds, plan, min(known), engine, limit),
        WAIT_S if left is None else min(WAIT_S, 3 * ESTIMATE_SHARE * limit),
        should_stop,
    )
    if found is None:
        return Strategy.INCUMBENT, "the estimate of the tree was not there in time"
    low_s, where = found
    text = (
        f"the tree below {min(known)} is estimated to take at least "
        f"{duration(low_s)} {where}"
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
    answer: Future[T] = Future()
    stop = Event()

    def run() -> None:
        try:
            answer.set_result(find(stop.is_set))
        except BaseException as error:  # noqa: BLE001 (raised by whoever waits)
            answer.set_exception(error)

    Thread(target=run, name="dpbb-estimate", daemon=True).start()
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
    from dpbb.cluster.worker.gpus import visible_gpus
    from dpbb.estimation.estimating import estimate
    from dpbb.estimation.rates import h100_rate

    options = plan.options
    on_cores = engine in (EngineName.CPU, EngineName.REFERENCE)
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
