"""Runs on in-process clusters: counts, steering, several at once, what is left behind.

The engine of most is the CPU engine, on golden trees of known size; the workers share
this process, so that a test can look into everything.
"""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from distributed.utils_test import gen_cluster

from dpbb.coordination.messages import Order, OrderKind
from dpbb.coordination.wire import decode
from dpbb.errors import ClusterError
from dpbb.result import Termination
from tests.cluster.support import (
    HUGE,
    LARGE,
    MIDDLE,
    ONE,
    SMALL,
    BrokenFlowShop,
    SlowFlowShop,
    counts,
    in_task,
    spec_of,
    submit,
    tiny_spec,
    until,
)
from tests.oracle import TinyFlowShop, best_orders

pytestmark = pytest.mark.cluster

TWO = ONE * 2


def plugin_of(scheduler):
    return scheduler.extensions["dpbb"]


@gen_cluster(client=True, nthreads=TWO, timeout=100)
async def test_counts_are_golden_and_nothing_is_left(c, s, a, b):
    """After a run is closed neither scheduler nor workers hold anything of it."""
    trees = {"reference": SMALL, "pool": MIDDLE, "cpu": LARGE}
    for engine, (instance, ub, *golden) in trees.items():
        run = await submit(c, spec_of(instance, ub, engine=engine))
        outcome = await run.result()
        assert counts(outcome) == tuple(golden)
        assert outcome.exhausted
        assert outcome.termination is Termination.EXHAUSTED
        assert await run.done()
        await run.close()
    assert len(outcome.seats) == 2
    assert not s.tasks
    plugin = plugin_of(s)
    assert not plugin.hub.runs
    assert not plugin.hub.finished
    assert not plugin._changes
    assert all(seat.run is None for seat in plugin.hub.table.seats.values())
    for worker in (a, b):
        mine = worker.extensions["dpbb"]
        await until(lambda mine=mine: not mine._links and not mine._specs)
        assert not any(sessions._sessions for sessions in mine.seats.values())


@gen_cluster(client=True, nthreads=ONE, timeout=100)
async def test_closing_the_scheduler_leaves_nothing(c, s, a):
    """An open run does not keep the plugin's client, threads or tasks alive."""
    run = await submit(c, tiny_spec(n_jobs=9, problem_class=SlowFlowShop))
    plugin = plugin_of(s)
    await until(lambda: a.extensions["dpbb"]._links)
    waiting = asyncio.create_task(run._wait(None))
    await until(lambda: plugin._changes)
    await plugin.before_close()
    with pytest.raises(ClusterError, match="closing"):
        await waiting
    assert plugin._ticker.done()
    assert plugin.submitter._client.status == "closed"
    assert not [name for name in s.clients if name.startswith("dpbb")]


@gen_cluster(client=True, nthreads=ONE * 4, timeout=100)
async def test_runs_share_the_seats_and_are_kept_apart(c, s, *workers):
    """A second run gets its half while the first goes on; a third is exact beside."""
    runs = [await submit(c, spec_of(*HUGE))]
    await until(lambda: sum(len(w.extensions["dpbb"]._links) for w in workers) == 4)
    runs.append(await submit(c, spec_of(*HUGE)))
    hub = plugin_of(s).hub
    await until(lambda: [len(run.tasks) for run in hub.runs.values()] == [2, 2])
    instance, ub, *golden = MIDDLE
    third = await submit(c, spec_of(instance, ub))
    assert counts(await third.result()) == tuple(golden)
    for run in (third, *runs):
        await run.close()


@gen_cluster(client=True, nthreads=ONE, timeout=100)
async def test_what_fails_at_every_tick_costs_nobody_else_its_turn(c, s, a):
    """Without theirs, runs wrote no checkpoints and Dask closed an idle scheduler."""
    run = await submit(c, tiny_spec(n_jobs=9, problem_class=SlowFlowShop))
    plugin = plugin_of(s)
    turns = Counter()
    for name in ("hub", "forecasts", "elastic", "monitor"):

        def fail(*_, name=name):
            turns[name] += 1
            raise ArithmeticError(name)

        getattr(plugin, name).tick = fail
    await until(lambda: len(turns) == 4)
    await until(lambda: min(turns.values()) > 1)
    await run.close()


@gen_cluster(client=True, nthreads=ONE, timeout=100)
async def test_exception_in_a_task_reaches_the_user(c, s, a):
    """With the worker's traceback, after other seats had their chance."""
    run = await submit(c, tiny_spec(problem_class=BrokenFlowShop))
    with pytest.raises(ClusterError, match="failed 3 times") as error:
        await run.result()
    assert "ArithmeticError: the bound is broken" in str(error.value)
    assert "child_bounds" in str(error.value)
    await run.close()


class FlakyFlowShop(TinyFlowShop):
    """A problem whose bound fails once."""

    failed = False

    def child_bounds(self, state, jobs, *, back):
        if in_task() and not FlakyFlowShop.failed:
            FlakyFlowShop.failed = True
            raise ArithmeticError("once")
        return super().child_bounds(state, jobs, back=back)


@gen_cluster(client=True, nthreads=TWO, timeout=100)
async def test_exception_once_loses_no_work(c, s, a, b):
    """The unit is explored again, and the counts are those of a run without it."""
    spec = tiny_spec(problem_class=FlakyFlowShop)
    run = await submit(c, spec)
    outcome = await run.result()
    assert FlakyFlowShop.failed
    assert outcome.exhausted
    assert outcome.value == best_orders(spec.problem.times)[0]
    await run.close()


@gen_cluster(client=True, nthreads=ONE, timeout=100)
async def test_unknown_runs_are_answered_and_not_logged(c, s, a):
    """A seat of a run that is over is told to drop it."""
    run = await submit(c, tiny_spec())
    await run.result()
    answer = await c.scheduler.dpbb_report(
        run_id=run.run_id, lease="x/1.1", seq=1, full=False, body=b""
    )
    assert decode(Order, answer).kind is OrderKind.DROP
    with pytest.raises(ClusterError, match="which is taken"):
        await submit(c, replace(tiny_spec(), run_id=run.run_id))
    await run.close()
