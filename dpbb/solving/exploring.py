"""A call, from its plan to its result: what comes after what.

A cluster is found or started while heuristics complete the plan; the plan's tree is a
run, whose outcome the result is made of. From below another tree follows, with a new
plan. One coroutine does so for all clients: with a blocking one nothing in it suspends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, closing, nullcontext
from functools import partial
from typing import Any, TypeVar

from dpbb.coordination.outcome import Outcome
from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.result import Result
from dpbb.solving.arguments import Call
from dpbb.solving.cluster import Cluster
from dpbb.solving.plan import Plan
from dpbb.solving.results import done, result_of_run, result_without_tree, written
from dpbb.solving.start import start

T = TypeVar("T")

POLL_S = 0.1
"""Seconds between looks at a run, and at ``should_stop`` while it goes on."""


def solved(call: Call, plan: Plan) -> Any:
    """Return the result of a call; awaitable if its client is asynchronous.

    Interrupted: somebody pressed Ctrl-C; it has the result.
    """
    with call.interruptible() if call.blocks else nullcontext(call) as call:
        solving = _solve(call, plan)
        return _at_once(solving) if call.blocks else solving


def submitted(call: Call, plan: Plan) -> Any:
    """Open the run of a call and return it; awaitable if its client is asynchronous."""
    opening = _submit(call, plan)
    return _at_once(opening) if call.blocks else opening


async def _solve(call: Call, plan: Plan) -> Result:
    stop = call.should_stop
    with closing(call.progress), Cluster(call, plan).entered() as cluster:
        attached = await cluster.attach(plan)
        if attached is not None:
            plan, run = attached
        else:
            plan = await _in_thread(call, partial(start, call, plan, cluster))
            while not (end := plan.end(stop)) and not cluster.is_there():
                pass
            if end is not None:
                result = written(call, result_without_tree(plan, end))
                return done(call, result)
            plan, run = await cluster.open(plan)
        while True:
            failed = True
            try:
                outcome, last = await _watched(call, plan, run)
                result = result_of_run(plan, run.spec, outcome, run.n_written)
                result = written(call, result)
                plan, ended = _after(call, plan, outcome, result)
                if ended is not None:
                    ended = done(call, ended, last)
                failed = False
            finally:
                await call.value(run.close(keep=failed))
            if ended is not None:
                return ended
            plan, run = await cluster.open(plan, run.spec.run_id)


async def _submit(call: Call, plan: Plan) -> Any:
    with closing(call.progress), ExitStack() as stack:
        cluster = stack.enter_context(Cluster(call, plan).entered())
        plan = await _in_thread(call, partial(start, call, plan, cluster))
        while not cluster.is_there():
            pass
        plan, run = await cluster.open(plan)
        run.make_result = lambda *known: written(call, result_of_run(plan, *known))
        run.on_close(stack.pop_all().close)
        return run


def _at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine gives in which nothing suspends: all its calls block."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    raise RuntimeError("expected a coroutine that does not suspend, got one that does")


async def _in_thread(call: Call, function: Callable[[], T]) -> T:
    """Call what takes a while: in a thread where an event loop would wait for it."""
    return function() if call.blocks else await asyncio.to_thread(function)


async def _watched(call: Call, plan: Plan, run: Any) -> tuple[Outcome, Snapshot]:
    """Show a run to its end, and stop it where it is to be stopped."""
    version, finished, stopping = -1, False, False
    while not finished:
        version, finished, snapshot = await call.value(run.poll(version, POLL_S))
        if plan.below is not None:
            snapshot = plan.below.shown_on(snapshot, plan.options.upper_bound)
        if plan.below is None or snapshot.state is not RunState.FINISHED:
            call.progress.update(snapshot)  # else another tree may follow
        if not stopping and call.should_stop():
            stopping = True
            await call.value(run.stop())
    return await call.value(run.outcome()), snapshot


def _after(
    call: Call, plan: Plan, outcome: Outcome, result: Result
) -> tuple[Plan, Result | None]:
    """Return the plan of the tree that follows, or the result of the call."""
    after = plan.after(outcome, result)
    if after is None:
        return plan, result
    what = f"nothing is below {after.lower_bound}"
    if not outcome.exhausted:
        what = f"the tree is too large: half the step, as {what}"
    call.progress.note(f"from below: {what}; looking below {after.upper_bound}")
    end = after.end(call.should_stop)
    return after, None if end is None else result_without_tree(after, end, result)
