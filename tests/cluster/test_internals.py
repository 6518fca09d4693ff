"""What dpbb uses of ``distributed`` beyond its documentation, one by one."""

import asyncio
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from distributed import core, get_worker
from distributed.protocol import dumps, loads, to_serialize
from distributed.protocol.serialize import Serialized
from distributed.utils import warn_on_duration

from dpbb.cluster import internals
from dpbb.cluster.local.process import ignore_dasks_warnings
from tests.cluster.support import local_cluster, submit, tiny_spec, wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def both():
    with local_cluster() as (cluster, client):
        yield cluster, client


def test_what_a_scheduler_keeps_opaque_is_opened():
    """Compressed, and in several frames."""
    content = np.zeros(100_000_000 // 8)
    message = loads(dumps({"x": to_serialize(content)}), deserialize=False)
    assert isinstance(message["x"], Serialized)
    np.testing.assert_array_equal(internals.opened(message["x"]), content)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="expected Python 3.11")
@pytest.mark.parametrize("by", ["a run", "a task"])
def test_no_stack_is_sampled_where_that_can_stop_the_process(by):
    """Whatever Dask did before; heuristics and verifications may be tasks alone."""
    with local_cluster() as (_, client):
        wait_until(lambda: client.submit(stacks_taken, time.time()).result() > 0)
        if by == "a run":
            submit(client, tiny_spec()).result(60)
        else:
            client.submit(internals.stop_deadly_profiler_here).result()
        wait_until(lambda: client.submit(stacks_taken, time.time()).result() <= 0)


def stacks_taken(_):
    """How many Dask takes of a task of a third of a second; below 0: it began anew."""
    worker = get_worker()
    before = worker.profile_recent["count"]
    time.sleep(0.33)
    return worker.profile_recent["count"] - before


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
