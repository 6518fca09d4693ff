"""Calls about a run, with a scheduler that is not there, or gone, or slow."""

from __future__ import annotations

import asyncio
import pickle
from types import SimpleNamespace

import pytest

from dpbb.cluster.client.connect import check_open
from dpbb.cluster.client.run import Run
from dpbb.errors import ClusterError, OptionError, SchedulerLostError


def calls_of(**handlers):
    scheduler = SimpleNamespace(**handlers)
    return Run(SimpleNamespace(scheduler=scheduler, _asynchronous=True), "run")


def watching(*answers):
    """Return what answers ``watch``: version, end or not, snapshot; and its calls."""
    left, asked = list(answers), []

    async def watch(run_id, version, timeout):
        asked.append((run_id, version))
        version, finished, snapshot = left.pop(0)
        return {
            "version": version,
            "finished": finished,
            "snapshot": pickle.dumps(snapshot),
        }

    return watch, asked


def test_a_run_that_goes_on_is_not_over_in_time():
    watch, _ = watching((1, False, "a"))
    assert not asyncio.run(calls_of(dpbb_watch=watch)._is_over(0.0))


@pytest.mark.parametrize("timeout", [float("nan"), True, "1", [], 1j, 10**400])
def test_a_timeout_is_a_number(timeout):
    """With NaN nothing was ever late, and nothing waited."""
    with pytest.raises(OptionError, match="timeout: expected a number, got"):
        asyncio.run(calls_of()._is_over(timeout))


def test_a_scheduler_that_is_gone_is_named():
    async def lost(**_):
        raise OSError("reset")

    calls = calls_of(dpbb_stop=lost, address="tcp://there:1")
    with pytest.raises(SchedulerLostError, match="lost the scheduler at tcp://there:1"):
        asyncio.run(calls._call("stop"))


def test_a_client_without_a_scheduler_is_closed():
    calls = Run(SimpleNamespace(scheduler=None, _asynchronous=True), "run")
    with pytest.raises(ClusterError, match="its client is closed"):
        asyncio.run(calls._call("stop"))


@pytest.mark.parametrize("status", ["closing", "closed"])
def test_a_closed_client_is_refused(status):
    check_open(SimpleNamespace(status="running", scheduler_info=dict))
    with pytest.raises(ClusterError, match="one that is closed"):
        check_open(SimpleNamespace(status=status))
