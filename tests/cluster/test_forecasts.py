"""A live run is estimated by a process that ends with it."""

import contextlib

import psutil
import pytest

from dpbb import estimate
from dpbb.estimation import background
from tests.cluster.support import HUGE, local_cluster, spec_of, submit, wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture(autouse=True)
def no_forecasts():
    """There are some, here."""


def children():
    """Processes that estimate."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it ends while it is looked at
            if background.__name__ in one.cmdline():
                found.append(one)
    return found


def test_a_run_is_estimated_while_it_goes_on():
    estimate("ta001", upper_bound=1278, measure=False)  # compiles
    with local_cluster() as (cluster, client):
        with submit(client, spec_of(*HUGE)) as run:
            (opened,) = cluster.scheduler.extensions["dpbb"].hub.runs.values()
            opened.outlook.due_s = 0.0
            wait_until(lambda: opened.outlook.count == 1)
            events = run.snapshot().events
            assert any("nodes left" in one.text for one in events)
            opened.outlook.due_s = 0.0  # and the next one is not waited for
            wait_until(lambda: opened.outlook.busy)
        wait_until(lambda: not children())
