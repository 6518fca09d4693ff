"""Hundreds of real workers in one process: a join storm, a mass loss, exact counts."""

import asyncio
import time
from dataclasses import dataclass

import pytest
from distributed import Worker
from distributed.utils_test import gen_cluster

from dpbb.engines.base import explore_to_end
from dpbb.engines.reference import ReferenceEngine
from dpbb.options import TreeOptions, Tuning
from dpbb.tree.work_unit import WorkUnit
from tests.cluster.support import counts, in_task, submit, tiny_spec, until
from tests.oracle import TinyFlowShop, best_orders

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(400)]

N_WORKERS = 200
SLACK = 20  # weaker bounds make a larger tree


@dataclass(frozen=True)
class IdleFlowShop(TinyFlowShop):
    """A problem whose nodes take time and no processor."""

    def child_bounds(self, state, jobs, *, back):
        if in_task():
            time.sleep(0.05)
        return super().child_bounds(state, jobs, back=back) - SLACK


async def start_workers(scheduler, number):
    """All at once; some hundred heartbeats a second would be work for nothing."""
    workers = [
        Worker(
            scheduler.address,
            nthreads=1,
            dashboard=False,
            dashboard_address=None,
            heartbeat_interval="30s",
        )
        for _ in range(number)
    ]
    await asyncio.gather(*workers)
    return workers


def fixed_tree(n_jobs=7):
    """A run whose UB nothing improves, and the counts of its tree."""
    spec = tiny_spec(3, n_jobs, 4, IdleFlowShop)
    best, _ = best_orders(spec.problem.times)
    spec = tiny_spec(
        3,
        n_jobs,
        4,
        IdleFlowShop,
        engine="reference",
        upper_bound=best,  # nothing improves it
        report_interval_s=0.5,
        tuning=Tuning(slice_s=0.05),
    )
    engine = ReferenceEngine()
    (device,) = engine.devices()
    session = engine.open(spec.problem, TreeOptions(), device, ub=best)
    session.load(WorkUnit.whole(n_jobs))
    return spec, explore_to_end(session, best).counters


@gen_cluster(client=True, nthreads=[], timeout=300)
async def test_hundreds_of_workers_join_at_once_and_half_are_lost(c, s):
    """Counts are exact; the scheduler's loop keeps up with both."""
    spec, expected = fixed_tree()
    workers = await start_workers(s, N_WORKERS // 4)
    run = await submit(c, spec)
    hub = s.extensions["dpbb"].hub
    await until(lambda: len(hub.runs[spec.run_id].tasks) > 10, timeout=60)
    workers += await start_workers(s, 3 * N_WORKERS // 4)
    assert len(hub.table.seats) == N_WORKERS
    await until(lambda: len(hub.runs[spec.run_id].tasks) > N_WORKERS // 2, timeout=60)
    lost = workers[::2]
    for worker in lost:  # no goodbye: the scheduler notes that they are gone
        await s.remove_worker(worker.address, stimulus_id="lost", close=False)
    assert len(hub.table.seats) == N_WORKERS - len(lost)
    outcome = await run.result()
    assert counts(outcome) == (expected.decomposed, expected.leaves)
    assert outcome.totals.requeues > 0
    await run.close()
    await asyncio.gather(*(worker.close() for worker in workers))
