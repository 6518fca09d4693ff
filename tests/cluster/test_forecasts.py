"""A live run is estimated by a process that ends with it."""

import contextlib
import time

import psutil
import pytest
from distributed import Client, LocalCluster

from dpbb import estimate
from dpbb.cluster.run import submit_run
from dpbb.estimation import background
from tests.cluster.support import HUGE, as_is, spec_of

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]


def children():
    """Processes that estimate."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it ends while it is looked at
            if background.__name__ in one.cmdline():
                found.append(one)
    return found


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_run_is_estimated_while_it_goes_on(monkeypatch):
    monkeypatch.setattr(background, "NICENESS", 0)
    estimate("ta001", upper_bound=1278, measure=False)  # compiles
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        with submit_run(client, spec_of(*HUGE), make_result=as_is) as run:
            (opened,) = cluster.scheduler.extensions["dpbb"].hub.runs.values()
            opened.outlook.due_s = 0.0
            wait_for(lambda: opened.outlook.count == 1)
            events = run.snapshot().events
            assert any("nodes left" in one.text for one in events)
            opened.outlook.due_s = 0.0  # and the next one is not waited for
            wait_for(lambda: opened.outlook.busy)
        wait_for(lambda: not children())
