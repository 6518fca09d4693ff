"""The first run on a scheduler brings dpbb there, whatever its workers do."""

import asyncio
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from distributed import Client, Worker
from distributed.utils_test import gen_cluster

from dpbb.cluster.scheduler import plugin as scheduler_plugin
from dpbb.cluster.scheduler.plugin import DpbbSchedulerPlugin
from tests.cluster.support import ONE, SMALL, counts, spec_of, submit, until
from tests.processes import dask_processes

pytestmark = pytest.mark.cluster


@pytest.mark.skipif(sys.platform == "win32", reason="SIGSTOP")
def test_a_frozen_worker_that_dies_bricks_nothing():
    """Submit while one of two workers is frozen, kill that one, submit again."""
    with (
        dask_processes(2) as dask,
        Client(dask.address, timeout=30, set_as_default=False) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        client.wait_for_workers(2, timeout=60)
        frozen = dask.workers[0]
        os.kill(frozen.pid, signal.SIGSTOP)
        opening = pool.submit(submit, client, spec_of(*SMALL[:2], engine="reference"))
        run = opening.result(30)
        dask.end(frozen)
        assert counts(run.result()) == SMALL[2:]
        run.close()
        again = pool.submit(submit, client, spec_of(*SMALL[:2], engine="reference"))
        run = again.result(30)
        assert counts(run.result()) == SMALL[2:]
        run.close()


@gen_cluster(client=True, nthreads=ONE, timeout=100)
async def test_a_start_that_failed_can_be_tried_again(c, s, a, monkeypatch):
    """Nothing of the plugin that failed is in the way of the next one."""

    def fail(scheduler):
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(scheduler_plugin.metrics, "register", fail)
        with pytest.raises(OSError, match="no"):
            await s.register_scheduler_plugin(DpbbSchedulerPlugin(), idempotent=True)
    assert "dpbb" not in s.extensions
    run = await submit(c, spec_of(*SMALL[:2], engine="reference"))
    assert counts(await run.result()) == SMALL[2:]
    await run.close()


@gen_cluster(client=True, nthreads=ONE, timeout=100)
async def test_a_worker_that_leaves_while_it_is_greeted_has_no_seat(c, s, a):
    """The plugin hears of it although it is not in place yet."""
    starting = asyncio.ensure_future(c.register_plugin(DpbbSchedulerPlugin()))
    await until(lambda: "dpbb" in s.plugins)
    await a.close()
    await starting
    assert not s.extensions["dpbb"].hub.table.workers


@gen_cluster(client=True, nthreads=ONE, timeout=100)
async def test_a_worker_that_joins_meanwhile_is_not_forgotten(c, s, a):
    """One of the workers is greeted by us, the other by Dask."""
    starting = asyncio.ensure_future(c.register_plugin(DpbbSchedulerPlugin()))
    async with Worker(s.address, nthreads=1) as late:
        await starting
        table = s.extensions["dpbb"].hub.table
        await until(lambda: table.workers.keys() == {a.address, late.address})
