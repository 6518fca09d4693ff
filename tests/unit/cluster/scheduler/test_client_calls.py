"""What clients ask of the runs of a scheduler."""

from __future__ import annotations

import asyncio
import pickle

import pytest

from dpbb.cluster.scheduler.client_calls import ClientCalls
from dpbb.cluster.scheduler.hub import Hub
from dpbb.errors import ClusterError
from dpbb.result import Termination
from tests.unit.cluster.support import FakeShell, tiny_spec


def opened():
    """Return calls, and the id of a run that is open."""
    hub, spec = Hub(FakeShell()), tiny_spec(upper_bound=99)
    hub.open(spec, b"blob")
    return ClientCalls(hub, None, None), spec.run_id


def test_a_watch_ends_when_its_run_changes():
    calls, run_id = opened()

    async def watch():
        version = (await calls.watch(run_id, -1, 60.0))["version"]
        watching = asyncio.create_task(calls.watch(run_id, version, 60.0))
        await asyncio.sleep(0)
        assert not watching.done()
        await calls.stop(run_id)
        calls.changed(run_id)
        return await watching

    answer = asyncio.run(watch())
    assert answer["finished"]
    snapshot = pickle.loads(answer["snapshot"])  # noqa: S301
    assert snapshot.termination == Termination.STOPPED


def test_a_watch_ends_when_its_time_is_over():
    calls, run_id = opened()
    version = asyncio.run(calls.watch(run_id, -1, 60.0))["version"]
    answer = asyncio.run(calls.watch(run_id, version, 0.01))
    assert not answer["finished"]
    assert answer["version"] == version


def test_who_watches_is_told_that_the_scheduler_ends():
    calls, run_id = opened()

    async def watch():
        version = (await calls.watch(run_id, -1, 60.0))["version"]
        watching = asyncio.create_task(calls.watch(run_id, version, 60.0))
        await asyncio.sleep(0)
        calls.close()
        await watching

    with pytest.raises(ClusterError, match="closing"):
        asyncio.run(watch())


def test_a_run_that_is_over_takes_no_offer_and_stays_as_it_is():
    calls, run_id = opened()
    asyncio.run(calls.stop(run_id))
    before = asyncio.run(calls.outcome(run_id))["outcome"]
    assert not asyncio.run(calls.offer(run_id, [0, 1, 2, 3, 4, 5], "test"))
    asyncio.run(calls.stop(run_id))
    assert asyncio.run(calls.outcome(run_id))["outcome"] == before
    assert asyncio.run(calls.describe(run_id))["blob"] == b"blob"


@pytest.mark.parametrize("call", ["stop", "describe", "outcome"])
def test_a_run_that_nobody_knows_is_refused(call):
    calls, _ = opened()
    with pytest.raises(ClusterError, match="expected a run of this cluster"):
        asyncio.run(getattr(calls, call)("other"))
