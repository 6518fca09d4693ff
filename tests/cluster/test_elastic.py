"""Workers come and go: scaling, retiring, idling and restarting under open runs."""

import asyncio

import pytest
from distributed import Nanny, Worker
from distributed.utils_test import gen_cluster

from dpbb.result import Termination
from tests.cluster.support import (
    HUGE,
    LARGE,
    ONE,
    SlowFlowShop,
    counts,
    local_cluster,
    spec_of,
    submit,
    tiny_spec,
    until,
)

pytestmark = pytest.mark.cluster


def busy(worker):
    return bool(worker.extensions["dpbb"]._links)


@pytest.mark.parametrize("lifetime", [False, True])
@gen_cluster(client=True, nthreads=ONE * 2, timeout=100)
async def test_retired_worker_drains_first(c, s, a, b, lifetime):
    """Its unit comes back by a last report: nothing is lost with the worker.

    Jobs of a batch system end by ``--lifetime``.
    """
    instance, ub, *golden = LARGE
    run = await submit(c, spec_of(instance, ub))
    await until(lambda: busy(a) and busy(b))
    if lifetime:
        await b.close_gracefully(reason="worker-lifetime-reached")
    else:
        await c.retire_workers([b.address])
    assert b.address not in s.workers
    outcome = await run.result()
    assert counts(outcome) == tuple(golden)
    assert outcome.totals.requeues == 0
    await run.close()


@gen_cluster(client=True, nthreads=ONE, timeout=100)
async def test_worker_that_dask_does_not_retire_explores_again(c, s, a):
    """Its data has nowhere to go, so it stays; the run does not stand still."""
    instance, ub, *golden = LARGE
    held = await c.scatter([1])
    run = await submit(c, spec_of(instance, ub))
    await until(lambda: busy(a))
    assert await c.retire_workers([a.address]) == {}
    assert counts(await run.result()) == tuple(golden)
    events = [event.kind for event in (await run.snapshot()).events]
    assert "no-seat" not in events
    await run.close()
    del held


@gen_cluster(client=True, nthreads=ONE * 2, timeout=100)
async def test_worker_that_its_cluster_closes_is_not_used_again(c, s, a, b, caplog):
    """A ``SpecCluster`` asks Dask by name, which retires nothing, then closes it.

    At the end of a run on an embedded cluster people were told that the worker stays.
    """
    instance, ub, *golden = LARGE
    run = await submit(c, spec_of(instance, ub))
    await until(lambda: busy(a) and busy(b))
    assert await c.scheduler.retire_workers(workers=(b.name,)) == {}
    s.extensions["dpbb"].elastic.tick()
    assert s.extensions["dpbb"].hub.table.leaving() == [b.address]
    await until(lambda: not busy(b))
    assert "it is used again" not in caplog.text
    await b.close()
    outcome = await run.result()
    assert counts(outcome) == tuple(golden)
    assert outcome.totals.requeues == 0
    await run.close()


@gen_cluster(client=True, nthreads=ONE * 2, timeout=100)
async def test_busy_workers_are_not_scaled_down(c, s, a, b):
    """Adaptive scaling may close the workers that explore nothing, no others."""
    run = await submit(c, tiny_spec(0, 2, 2))
    await run.result()
    assert len(s.workers_to_close(n=1)) == 1
    await run.close()
    run = await submit(c, tiny_spec(0, 10, 5, SlowFlowShop))
    await until(lambda: busy(a) and busy(b))
    assert s.workers_to_close(n=1) == []
    await run.close()


@gen_cluster(client=True, nthreads=[], timeout=100)
async def test_adaptive_target_sees_open_runs(c, s):
    """Dask has no task of a run without workers, and would scale to nothing."""
    run = await submit(c, spec_of(*LARGE[:2]))
    assert await c.scheduler.adaptive_target() >= 4
    await run.close()
    assert await c.scheduler.adaptive_target() == 0


@gen_cluster(client=True, nthreads=ONE * 2, Worker=Nanny, timeout=100)
@pytest.mark.slow
async def test_restart_by_anybody_loses_no_work(c, s, a, b):
    """All futures are cancelled, all workers are new, and the run goes on."""
    instance, ub, *golden = LARGE
    run = await submit(c, spec_of(instance, ub))
    hub = s.extensions["dpbb"].hub
    await until(lambda: len(hub.run(run.run_id).coordinator.book.leases) >= 2)
    before = set(s.workers)
    await c.restart()
    assert before.isdisjoint(s.workers)
    outcome = await run.result()
    assert counts(outcome) == tuple(golden)
    await run.close()
    assert not s.tasks


@gen_cluster(
    client=True, nthreads=ONE * 2, timeout=100, scheduler_kwargs={"idle_timeout": "1 s"}
)
async def test_run_that_lost_all_workers_survives_the_idle_timeout(c, s, a, b):
    """Three times as long as Dask would wait; then a worker comes and finishes it."""
    instance, ub, *golden = LARGE
    run = await submit(c, spec_of(instance, ub))
    await until(lambda: busy(a) and busy(b))
    await asyncio.gather(a.close(), b.close())
    assert not s.workers
    await asyncio.sleep(3)
    assert s.status.name == "running"
    async with Worker(s.address, nthreads=2):
        assert counts(await run.result()) == tuple(golden)
    await run.close()


def test_adaptive_cluster_goes_up_to_four_and_down_to_none():
    """``adapt(0, 4)``: workers come for a run and go after it."""

    def workers(number):
        async def there():
            await until(lambda: len(cluster.scheduler.workers) == number, 60)

        cluster.sync(there)

    with local_cluster(0) as (cluster, client):
        cluster.adapt(minimum=0, maximum=4, interval="100 ms", wait_count=2)
        run = submit(client, spec_of(*HUGE))
        workers(4)
        run.stop()
        assert run.result().termination is Termination.STOPPED
        run.close()
        workers(0)
