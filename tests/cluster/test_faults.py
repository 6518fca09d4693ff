"""Clusters that fail: fixed seeds of ``dpbb bench faults``, and single faults."""

from __future__ import annotations

import asyncio

import pytest
from distributed import Client, LocalCluster, Worker
from distributed.utils_test import gen_cluster

from dpbb.bench.faults import campaign
from dpbb.cluster.run import submit_run
from dpbb.errors import InvariantError
from tests.cluster.support import HUGE, LARGE, as_is, counts, spec_of, until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

SEEDS = range(100, 120)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Dask, about workers that were killed
def test_a_campaign_of_faults_is_exact():
    reports = asyncio.run(campaign(SEEDS))
    wrong = [report for report in reports if not report.exact]
    assert not wrong
    assert len(reports) == len(SEEDS)
    assert len({fault for report in reports for fault in report.faults}) >= 6


@gen_cluster(client=True, nthreads=[("127.0.0.1", 1)], timeout=90)
async def test_a_lying_worker_stops_the_run_and_the_state_is_saved(c, s, a, tmp_path):
    """Its sums do not match: the run fails, and its folder holds what was true."""
    from dpbb.cluster.checkpoint_folder import load_checkpoint

    folder = tmp_path / "run"
    spec = spec_of(*HUGE, checkpoint=str(folder), full_interval_s=0.2)
    run = await submit_run(c, spec, make_result=as_is)
    await until(lambda: folder.exists() and len(list(folder.glob("*.dpbb"))) > 1)
    handler = s.handlers["dpbb_report"]

    async def lie(*args, body, full, **kwargs):
        if full:
            body = {**body, "decomposed": 2**50}
        return await handler(*args, body=body, full=full, **kwargs)

    s.handlers["dpbb_report"] = lie
    with pytest.raises(InvariantError, match="decomposed nodes"):
        await run.result()
    await run.close()
    saved = load_checkpoint(str(folder))
    assert "decomposed nodes" in saved.error
    assert saved.units


@gen_cluster(client=True, nthreads=[], timeout=90)
async def test_a_worker_that_is_cut_off_and_comes_back_changes_nothing(c, s):
    """Its comm breaks, its lease is lost; what it says later is dropped."""
    instance, ub, *golden = LARGE
    async with Worker(s.address, nthreads=1) as cut, Worker(s.address, nthreads=1):
        run = await submit_run(c, spec_of(instance, ub), make_result=as_is)
        await until(lambda: cut.extensions["dpbb"]._links)
        cut.batched_stream.comm.abort()
        assert counts(await run.result()) == tuple(golden)
        await run.close()


def test_adaptive_scaling_follows_the_runs():
    """From no worker to four, and back to none when nothing is left to do."""
    with (
        LocalCluster(
            n_workers=0, threads_per_worker=1, dashboard_address=":0", processes=False
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        cluster.adapt(minimum=0, maximum=4, interval="50ms", wait_count=2)
        with submit_run(client, spec_of(*HUGE), make_result=as_is):
            client.sync(_until_workers, cluster.scheduler, 4)
        client.sync(_until_workers, cluster.scheduler, 0)


async def _until_workers(scheduler, number):
    await until(lambda: len(scheduler.workers) == number, timeout=60)


@gen_cluster(
    client=True,
    nthreads=[("127.0.0.1", 1)],
    timeout=90,
    scheduler_kwargs={"idle_timeout": "500ms"},
)
async def test_a_run_without_workers_keeps_the_scheduler(c, s, a):
    """It survives three times the idle timeout, and goes on with the next worker."""
    instance, ub, *golden = LARGE
    run = await submit_run(c, spec_of(instance, ub), make_result=as_is)
    await until(lambda: a.extensions["dpbb"]._links)
    await a.close()
    await asyncio.sleep(1.6)
    assert s.status.name == "running"
    async with Worker(s.address, nthreads=1):
        assert counts(await run.result()) == tuple(golden)
        await run.close()
