"""A call, from its checked arguments to its result: what comes after what.

A cluster is found or started while heuristics make the plan; the plan's tree is a run,
whose outcome the result is made of. From below another tree follows, with a new plan.
One coroutine does so for all clients: with a blocking one nothing in it suspends.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from dpbb.cluster.storage.checkpoint_folder import resumed_id
from dpbb.coordination.messages import RunId, RunSpec
from dpbb.coordination.outcome import Outcome
from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.errors import DpbbError, UnwrittenError
from dpbb.result import Result, Termination
from dpbb.solving.arguments import Call
from dpbb.solving.cluster import Cluster
from dpbb.solving.plan import Plan
from dpbb.solving.results import result_of_run, result_without_tree, with_certificate
from dpbb.solving.resume import plan_of_running
from dpbb.solving.start import start

T = TypeVar("T")

POLL_S = 0.1
"""Seconds between looks at a run, and at ``should_stop`` while it goes on."""

BOUND = "{bound}"
"""Stands for the proved lower bound in the path of a certificate: one of each tree."""


def solved(call: Call) -> Any:
    """Return the result of a call; awaitable if its client is asynchronous.

    Interrupted: somebody pressed Ctrl-C; it has the result.
    """
    cluster = Cluster(call)
    if not cluster.blocks:
        return _solve(call, cluster)
    with call.interruptible() as call:
        return _at_once(_solve(call, cluster))


def submitted(call: Call) -> Any:
    """Open the run of a call and return it; awaitable if its client is asynchronous."""
    cluster = Cluster(call)
    opening = _submit(call, cluster)
    return _at_once(opening) if cluster.blocks else opening


async def _solve(call: Call, cluster: Cluster) -> Result:
    with closing(call.progress), cluster.entered():
        opened = await _going_on(call, cluster)
        if opened is None:
            plan = await _in_thread(cluster, partial(start, call, cluster))
            result = _ended_early(call, plan)
            while result is None and not cluster.is_there():
                result = _ended_early(call, plan)
            if result is not None:
                return call.done(result)
            opened = await _open(call, cluster, plan, None)
        while True:
            plan, run, made = opened
            failed = True
            try:
                outcome, last = await _watched(call, cluster, plan, run)
                result = made(outcome, run.n_written)
                plan, ended = _after(call, plan, outcome, result)
                if ended is not None:
                    ended = call.done(ended, last)
                failed = False
            finally:
                await _value(cluster, run.close(keep=failed))
            if ended is not None:
                return ended
            opened = await _open(call, cluster, plan, run.run_id)


async def _submit(call: Call, cluster: Cluster) -> Any:
    with closing(call.progress), ExitStack() as stack:
        stack.enter_context(cluster.entered())
        plan = await _in_thread(cluster, partial(start, call, cluster))
        while not cluster.is_there():
            pass
        _, run, _ = await _open(call, cluster, plan, None)
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


async def _in_thread(cluster: Cluster, function: Callable[[], T]) -> T:
    """Call what takes a while: in a thread where an event loop would wait for it."""
    return function() if cluster.blocks else await asyncio.to_thread(function)


async def _value(cluster: Cluster, called: Any) -> Any:
    """Return what a client's method gives, awaited if the client is asynchronous."""
    return called if cluster.blocks else await called


def _end_of(call: Call, plan: Plan) -> Termination | None:
    """Return why the plan's tree is not to be explored; None: it is."""
    left = plan.seconds_left(time.monotonic())
    if plan.proved:
        return Termination.EXHAUSTED
    if plan.within_gap:
        return Termination.GAP_LIMIT
    if call.should_stop():
        return Termination.STOPPED
    return Termination.TIME_LIMIT if left is not None and left <= 0 else None


def _ended_early(call: Call, plan: Plan) -> Result | None:
    """Return the result of a call without a tree; None: there is one to explore."""
    end = None if plan.saved is not None else _end_of(call, plan)
    if end is None:
        return None
    result = result_without_tree(plan, end)
    if plan.proved and call.options.certificate is not None:
        result = with_certificate(call.problem, result, plan.permutation)
    return _written(call, result)


Opened = tuple[Plan, Any, Callable[[Outcome, int | None], Result]]
"""A plan, the run of its tree, and what makes the result of its outcome."""


async def _going_on(call: Call, cluster: Cluster) -> Opened | None:
    """Attach to the run that writes to the call's folder of checkpoints.

    None: there is none on the cluster.
    """
    if call.writer is None or call.detached:
        return None
    cluster.answered.set()  # no heuristic is waited for
    while not cluster.is_there():
        if call.should_stop():
            return None
    from dpbb.cluster.client.open import attach_run, describe_run

    client, file = cluster.client, call.options.optima_file
    found = await _value(cluster, describe_run(client, call.writer))
    if found is None:
        return None
    plan = plan_of_running(call, *found)

    def made(
        spec: RunSpec, opened: float, outcome: Outcome, n_written: int | None
    ) -> Result:
        return _written(call, result_of_run(plan, spec, opened, outcome, n_written))

    run = await _value(cluster, attach_run(client, call.writer, made, file))
    call.progress.offset_s = found[1] - plan.began
    call.progress.note(f"attached to run {run.run_id}, which writes there")
    return plan, run, partial(made, *found)


async def _open(
    call: Call, cluster: Cluster, plan: Plan, before: RunId | None
) -> Opened:
    """Open the run of a plan's tree.

    ``before``: the run of the tree before it: the checkpoints of both are in the same
    folder.
    """
    progress = call.progress
    engine = cluster.engine_of_run(before is None)
    if plan.saved is not None:
        before = plan.saved.spec.run_id
    now = time.monotonic()
    spec = plan.spec(now, engine, None if before is None else resumed_id(before))
    folder = spec.options.checkpoint
    if folder is not None and call.has_own_cluster and "://" not in folder:
        folder = os.path.abspath(os.path.expanduser(folder))
        spec = replace(spec, options=replace(spec.options, checkpoint=folder))
    opened = plan.opened(now)
    progress.offset_s = opened - plan.began
    first = plan.below is None or plan.below.step.number == 1 or plan.saved is not None
    if folder is not None and first:
        progress.note(f"checkpoints {folder}")

    def made(outcome: Outcome, n_written: int | None) -> Result:
        result = result_of_run(plan, spec, opened, outcome, n_written)
        return _written(call, result)

    run = await _value(cluster, cluster.open(spec, plan.saved, made))
    if run.dashboard is not None and first:
        progress.note(f"dashboard {run.dashboard}")
    return plan, run, made


async def _watched(
    call: Call, cluster: Cluster, plan: Plan, run: Any
) -> tuple[Outcome, Snapshot]:
    """Show a run to its end, and stop it where it is to be stopped."""
    version, finished, stopping = -1, False, False
    while not finished:
        version, finished, snapshot = await _value(cluster, run.poll(version, POLL_S))
        if plan.below is None:
            call.progress.update(snapshot)
        elif snapshot.state is not RunState.FINISHED:  # another tree may follow
            call.progress.update(plan.below.shown_on(snapshot))
        if not stopping and call.should_stop():
            stopping = True
            await _value(cluster, run.stop())
    return await _value(cluster, run.outcome()), snapshot


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
    end = _end_of(call, after)
    return after, None if end is None else result_without_tree(after, end, result)


def _written(call: Call, result: Result) -> Result:
    """Write a result's certificate where the options say, if they do; return it.

    UnwrittenError: that fails; it has the result.
    """
    path, certificate = call.options.certificate, result.certificate
    if path is None:
        return result
    if certificate is None:
        if not result.bounds:
            said = "certificate: not written, as there is no proof"
            call.progress.note(f"{said} ({result.termination})")
        return result
    path = path.replace(BOUND, str(result.lower_bound))
    try:
        certificate.write(path)
    except DpbbError as error:
        raise UnwrittenError(str(error), result) from error
    call.progress.note(f"certificate: written to {path}")
    return result
