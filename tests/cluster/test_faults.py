"""One fault at a time: processes that die, engines that hang, links that are cut.

A scheduler that dies is in ``test_checkpoints.py``; exceptions, repeated reports and a
restart by anybody are in ``test_runs.py`` and ``test_elastic.py``.
"""

import sys
import threading
from dataclasses import dataclass, replace

import pytest
from distributed import Client
from distributed.utils_test import gen_cluster

from dpbb.cluster.storage.checkpoint_folder import load_checkpoint, resumed_id
from dpbb.cluster.worker import link
from dpbb.coordination.format import to_bytes
from dpbb.coordination.messages import Order, OrderKind
from dpbb.coordination.wire import decode, encode
from dpbb.errors import InvariantError
from dpbb.tree.work_unit import WorkUnit
from tests.cluster.support import (
    MIDDLE,
    ONE,
    SlowFlowShop,
    counts,
    exploring_seats,
    in_task,
    local_cluster,
    spec_of,
    submit,
    tiny_spec,
    until,
    wait_until,
)
from tests.oracle import TinyFlowShop, best_orders
from tests.processes import dask_processes
from tests.worlds.faults.arena import Network, Weather
from tests.worlds.faults.suite import TREES, campaign

pytestmark = pytest.mark.cluster

SEEDS = (38, 39)
"""Of two storms with all that is asked of them; ``tests.worlds faults`` has more."""
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")


@POSIX
@pytest.mark.slow
def test_a_killed_nanny_takes_its_worker_along():
    """SIGKILL of the nanny: nobody restarts the worker, another one finishes."""
    with dask_processes(0) as processes:
        nanny = processes.add_worker("--nanny")
        with Client(processes.address, timeout=30) as client:
            client.wait_for_workers(1, timeout=60)
            (first,) = client.scheduler_info()["workers"]
            instance, ub, *golden = MIDDLE
            run = submit(client, spec_of(instance, ub, engine="reference"))
            wait_until(lambda: exploring_seats(run) == 1)
            processes.end(nanny)
            wait_until(lambda: first not in client.scheduler_info()["workers"])
            processes.add_worker()
            assert counts(run.result()) == tuple(golden)
            run.close()


@dataclass(frozen=True)
class HangingFlowShop(TinyFlowShop):
    """A problem whose first exploration hangs until it is let go."""

    hung = threading.Event()
    let_go = threading.Event()

    def child_bounds(self, state, jobs, *, back):
        if in_task() and not HangingFlowShop.hung.is_set():
            HangingFlowShop.hung.set()
            assert HangingFlowShop.let_go.wait(60)
        return super().child_bounds(state, jobs, back=back)


@gen_cluster(client=True, nthreads=ONE * 2, timeout=100)
async def test_hung_engine_loses_its_lease(c, s, a, b):
    """Its unit goes to the other seat, and what it says later moves nothing."""
    HangingFlowShop.hung.clear()
    HangingFlowShop.let_go.clear()
    spec = tiny_spec(problem_class=HangingFlowShop, lease_timeout_s=0.5)
    run = await submit(c, spec)
    try:
        outcome = await run.result()  # while it hangs
        assert HangingFlowShop.hung.is_set()
        assert outcome.exhausted
        assert outcome.value == best_orders(spec.problem.times)[0]
        assert outcome.totals.requeues >= 1
    finally:
        HangingFlowShop.let_go.set()
    await run.close()


@gen_cluster(client=True, nthreads=ONE * 2, timeout=100)
async def test_partition_and_a_report_from_beyond_it(c, s, a, b):
    """A worker is cut off: its unit goes on elsewhere, its old lease is dropped."""
    sent = []
    original = link.WorkerLink.report

    def report(self, report):
        if not report.has_roots:
            sent.append((self._worker.address, report))
        return original(self, report)

    link.WorkerLink.report = report
    try:
        spec = tiny_spec(0, 7, 4, SlowFlowShop, report_interval_s=0.1)
        run = await submit(c, spec)
        await until(lambda: {address for address, _ in sent} == {a.address, b.address})
        s.stream_comms[b.address].abort()
        await until(lambda: b.address not in s.workers)
        late = next(r for address, r in reversed(sent) if address == b.address)
        answer = await c.scheduler.dpbb_report(
            run_id=run.run_id, lease=late.lease, seq=late.seq + 1, full=False,
            body=encode(late),
        )  # fmt: skip
        assert decode(Order, answer).kind is OrderKind.DROP
        outcome = await run.result()
    finally:
        link.WorkerLink.report = original
    assert outcome.exhausted
    assert outcome.value == best_orders(spec.problem.times)[0]
    assert outcome.totals.requeues >= 1
    await run.close()


def closes_too_much(full):
    """One more subtree than there was."""
    closed = full.closed.copy()
    closed[1] += 1
    return replace(full, closed=closed)


def keeps_what_is_not_its_own(full):
    """The whole tree is still to be explored, whatever the lease was."""
    return replace(full, remaining=WorkUnit.whole(len(full.closed) - 1))


@pytest.mark.parametrize("lie", [closes_too_much, keeps_what_is_not_its_own])
def test_worker_that_lies_ends_the_run_with_its_state_saved(lie, monkeypatch, tmp_path):
    """The liar has one of several units; honest workers go on from the checkpoint."""
    tree = TREES[1]
    instance, ub, golden = tree.instance, tree.optimum, (tree.decomposed, tree.leaves)
    lies = []

    def lying(report):
        unit = report.lease.rpartition("/")[2].partition(".")[0]
        if report.full is not None and unit != "1":
            lies.append(report.lease)
            report = replace(report, full=lie(report.full))
        return encode(report)

    folder = tmp_path / "run"
    with local_cluster(2) as (_, client):
        spec = spec_of(instance, ub, engine="reference", checkpoint=str(folder))
        with monkeypatch.context() as patch:
            patch.setattr(link, "encode", lying)
            run = submit(client, spec)
            with pytest.raises(InvariantError):
                run.result()
            run.close()
        assert lies
        saved = load_checkpoint(str(folder))
        assert not saved.finished
        assert saved.counters.decomposed < golden[0]
        run = submit(
            client,
            replace(saved.spec, run_id=resumed_id(saved.spec.run_id)),
            saved=to_bytes(saved),
        )
        assert counts(run.result()) == golden
        run.close()


@gen_cluster(client=True, nthreads=ONE * 2, timeout=100)
async def test_late_repeated_and_lost_messages(c, s, a, b):
    """Answers are lost, reports come twice and late: the same counts."""
    instance, ub, *golden = MIDDLE
    await submit_and_stop(c)
    network = Network(s)
    network.set(Weather(0.1, 0.1, 0.2, 0.2, 0.2, 1.0, 0.1), seed=1)
    run = await submit(c, spec_of(instance, ub, engine="reference"))
    outcome = await run.result()
    assert counts(outcome) == tuple(golden)
    assert network.n_mistreated > 0
    await network.close()
    await run.close()


async def submit_and_stop(client):
    """Have the plugin registered."""
    await (await submit(client, tiny_spec())).close()


@pytest.mark.slow(ci=True)
@pytest.mark.timeout(600)  # processes start all the time
def test_campaign_of_two_seeds():
    """Of ``tests.worlds faults``: several kinds of faults, and every count exact.

    One of the trees is said to have a node more: that is found out.
    """
    wrong = replace(TREES[1], decomposed=TREES[1].decomposed + 1)
    records = campaign(SEEDS, trees=[TREES[0], wrong], show=print)
    assert [record.seed for record in records] == list(SEEDS)
    told = "expected (11950, 256) nodes, got (11949, 256)"
    for record in records:
        is_told = record.fixed_ub and record.tree == wrong.instance
        assert record.wrong == (told if is_told else None)
    assert {told, None} == {record.wrong for record in records}
    faults = {kind for record in records for kind in record.faults}
    assert "kill" in faults
    assert len(faults) > 1
