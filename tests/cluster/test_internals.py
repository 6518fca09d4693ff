"""What dpbb uses of ``distributed`` beyond its documentation, one by one."""

import asyncio
import threading
import time
import warnings

import cloudpickle
import numpy as np
import pytest
from distributed import Client, core, get_worker
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.protocol import dumps, loads, to_serialize
from distributed.protocol.serialize import Serialized
from distributed.utils import warn_on_duration

from dpbb.cluster import internals
from dpbb.cluster.local.process import ignore_dasks_warnings
from tests.cluster.support import in_process_cluster, wait_until

pytestmark = pytest.mark.cluster

started, go_on, seen = threading.Event(), threading.Event(), []


def busy(_):
    worker = get_worker()
    key = worker.get_current_task()
    seen.append(internals.is_cancelled(worker, key))
    started.set()
    assert go_on.wait(30)
    while not internals.is_cancelled(worker, key):
        time.sleep(0.01)
    seen.append(True)


@pytest.fixture(scope="module")
def both():
    with in_process_cluster() as (cluster, client):
        yield cluster, client


def test_handlers_are_replaced_and_given_back(both):
    scheduler = both[0].scheduler
    names = ("adaptive_target", "retire_workers")
    ours = dict.fromkeys(names, print)
    before = internals.replace_handlers(scheduler, ours)
    assert all(scheduler.handlers[name] is print for name in names)
    assert internals.replace_handlers(scheduler, before) == ours
    assert callable(before["retire_workers"])


def test_an_idle_scheduler_stays_awake(both):
    scheduler = both[0].scheduler
    scheduler.idle_since = 1.0
    internals.stay_awake(scheduler)
    assert scheduler.idle_since is None


def test_messages_reach_a_worker_that_is_there(both):
    cluster, _ = both
    (worker,) = cluster.workers.values()
    heard = []
    worker.stream_handlers["dpbb-test"] = lambda **message: heard.append(message)
    message = {"op": "dpbb-test", "text": "hello"}
    loop = cluster.scheduler.loop
    for address in worker.address, "tcp://127.0.0.1:1":
        loop.add_callback(internals.send_to, cluster.scheduler, address, dict(message))
    wait_until(lambda: heard)
    assert heard[0]["text"] == "hello"


def test_keys_and_cancelled_tasks_are_seen(both):
    cluster, client = both
    (worker,) = cluster.workers.values()
    future = client.submit(busy, 1, key="dpbb-busy", pure=False)
    assert started.wait(30)
    assert internals.keys_of(cluster.scheduler, worker.address) == ["dpbb-busy"]
    assert internals.keys_of(cluster.scheduler, "tcp://127.0.0.1:1") == []
    future.cancel()
    go_on.set()
    wait_until(lambda: len(seen) == 2)
    assert seen == [False, True]


def test_workers_get_a_plugin(both):
    cluster, _ = both
    (worker,) = cluster.workers.values()

    class Plugin(WorkerPlugin):
        name = "dpbb-test"

    async def send():
        sender = internals.WorkerPluginSender(
            cluster.scheduler, "dpbb-test", cloudpickle.dumps(Plugin())
        )
        await sender.all(10.0)
        await sender.close()

    asyncio.run_coroutine_threadsafe(send(), cluster.loop.asyncio_loop).result(20)
    assert "dpbb-test" in worker.plugins
    assert "dpbb-test" in cluster.scheduler.worker_plugins


def test_clients_say_how_they_were_made_and_let_their_loop_end(both):
    cluster, client = both
    assert not internals.is_asynchronous(client)

    async def connect():
        other = await Client(cluster.scheduler.address, asynchronous=True)
        assert internals.is_asynchronous(other)
        await other.close()
        internals.let_loop_end(other)

    asyncio.run(connect())


def test_what_a_scheduler_keeps_opaque_is_opened():
    """Compressed, and in several frames."""
    content = np.zeros(100_000_000 // 8)
    message = loads(dumps({"x": to_serialize(content)}), deserialize=False)
    assert isinstance(message["x"], Serialized)
    np.testing.assert_array_equal(internals.opened(message["x"]), content)


@pytest.mark.timeout(60)
def test_a_client_of_a_loop_that_is_blocked_is_not_waited_for(both):
    """Dask's own client waited for ever."""
    go_on = threading.Event()
    both[0].loop.add_callback(go_on.wait, 30)
    try:
        with pytest.raises(TimeoutError):
            internals.client_in_time(both[0], 0.2)
    finally:
        go_on.set()
    with internals.client_in_time(both[0], 30) as client:
        assert repr(client).startswith("<Client: 'inproc://")


def test_a_slow_scratch_directory_is_nobodys_concern(monkeypatch):
    """Nothing is written into it, so ``-q`` says nothing of it."""
    at_once = lambda _, text: warn_on_duration("0s", text)  # noqa: E731
    monkeypatch.setattr(core, "warn_on_duration", at_once)

    async def start():
        core.Server({}, needs_workdir=True)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="Creating scratch directories"):
            asyncio.run(start())
        ignore_dasks_warnings()
        asyncio.run(start())
