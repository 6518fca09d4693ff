"""Another dpbb, or none, on the scheduler or a worker is refused and named."""

import asyncio
import sys

import pytest
from distributed import Worker
from distributed.utils_test import gen_cluster

from dpbb.cluster import versions
from dpbb.cluster.client import open as opening
from dpbb.cluster.timeouts import DEFAULTS
from dpbb.cluster.worker import loader
from dpbb.cluster.worker import plugin as worker_plugin
from dpbb.errors import ClusterError
from tests.cluster.support import ONE, SMALL, counts, spec_of, until

pytestmark = pytest.mark.cluster


async def submit(client):
    return await opening.submit_run(client, spec_of(*SMALL[:2]))


@gen_cluster(client=True, nthreads=ONE, timeout=100)
async def test_scheduler_without_dpbb(c, s, a, monkeypatch):
    """The message names the scheduler, its host, the reason and the fix."""
    monkeypatch.setitem(sys.modules, "dpbb.cluster.versions", None)
    with pytest.raises(ClusterError) as error:
        await submit(c)
    text = str(error.value)
    assert s.address in text
    assert "dpbb cannot be imported" in text
    assert "PipInstall" in text
    assert "dpbb" not in s.plugins


@gen_cluster(client=True, nthreads=ONE * 2, timeout=100)
async def test_worker_with_another_tree_rule(c, s, a, b, monkeypatch):
    """Two rules number leaves differently: no run is opened."""
    other = {**versions.versions(), "tree_rule": 0, "host": "elsewhere"}
    monkeypatch.setattr(worker_plugin, "versions", lambda: other)
    with pytest.raises(ClusterError, match=r"tree rule version .* got 0") as error:
        await submit(c)
    assert "elsewhere" in str(error.value)
    assert not s.extensions["dpbb"].hub.table.seats
    for worker in (a, b):
        await worker.close()
    await until(lambda: not s.workers)
    monkeypatch.undo()
    async with Worker(s.address, nthreads=1):  # the refused ones are gone
        opened = await submit(c)
        assert counts(await opened.result()) == SMALL[2:]
        await opened.close()


@gen_cluster(client=True, nthreads=ONE * 2, timeout=100)
async def test_a_run_goes_on_without_the_workers_that_cannot_be_used(
    c, s, a, b, monkeypatch
):
    """One has another version, one never answers: the others explore, and a line says
    which one is not used and why."""
    answer = a.handlers["plugin-add"]

    async def silent(**_message):
        await asyncio.Event().wait()

    monkeypatch.setitem(a.handlers, "plugin-add", silent)
    other = {**versions.versions(), "dpbb": "0.0.1"}
    monkeypatch.setattr(worker_plugin, "versions", lambda: other)
    monkeypatch.setitem(DEFAULTS, "greet", 0.5)
    with pytest.raises(ClusterError, match=r"got 0\.0\.1"):
        await submit(c)  # nobody explores it
    monkeypatch.setattr(worker_plugin, "versions", versions.versions)
    async with Worker(s.address, nthreads=1):
        opened = await submit(c)
        assert counts(await opened.result()) == SMALL[2:]
        events = (await opened.snapshot()).events
        assert [b.address in e.text for e in events if e.kind == "refused"] == [True]
        await opened.close()
    a.handlers["plugin-add"] = answer


@gen_cluster(client=True, nthreads=ONE, timeout=100)
async def test_worker_without_dpbb(c, s, a, monkeypatch):
    """It stays a worker for everybody else, and the message names it."""
    monkeypatch.setitem(sys.modules, "dpbb.cluster.worker.plugin", None)
    with pytest.raises(ClusterError, match="cannot be imported on worker") as error:
        await submit(c)
    assert a.address in str(error.value)
    async with Worker(s.address, nthreads=1, name="late") as late:
        assert late.address in s.workers
    assert await c.submit(sum, (1, 2)) == 3


def test_loader_is_pickled_by_value():
    """Or a worker without dpbb could not join a cluster that has it."""
    assert b"dpbb.cluster.worker.loader\n" not in loader.worker_plugin_bytes()
