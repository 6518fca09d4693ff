"""Ctrl-C in Python: what was found is on the exception, and the run stays known."""

import os
import signal

import pytest

import dpbb
from dpbb.progress import Progress
from tests.cluster.support import local_cluster

pytestmark = pytest.mark.cluster

HUGE = {"instance": "ta056", "heuristics": "neh", "engine": "cpu", "threads": 1}


class Impatient(Progress):
    """Somebody who presses Ctrl-C when the tree has begun, or before."""

    def __init__(self, times=1, *, at_once=False):
        self.times = times
        self.at_once = at_once
        self.alerts = []

    def press(self):
        if self.times:
            self.times -= 1
            os.kill(os.getpid(), signal.SIGINT)

    def incumbent(self, seconds, value, bound):
        if self.at_once:
            self.press()

    def update(self, snapshot):
        if snapshot.decomposed:
            self.press()

    def alert(self, text):
        self.alerts.append(text)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("at_once", [False, True])
def test_what_was_found_is_on_the_exception(workers, at_once):
    before = signal.getsignal(signal.SIGINT)
    shown = Impatient(at_once=at_once)
    with pytest.raises(KeyboardInterrupt) as caught:
        dpbb.solve(**HUGE, workers=workers, progress=shown)
    assert isinstance(caught.value, dpbb.Interrupted)
    result = caught.value.result
    assert (result.status, result.termination) == ("feasible", "stopped")
    assert dpbb.evaluate("ta056", result.permutation).makespan == result.makespan
    assert (result.decomposed > 0) == (not at_once)
    assert len(shown.alerts) == 1
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("times", [1, 2])
def test_the_run_stays_known_to_the_cluster(times):
    """Also when Ctrl-C is pressed again, and nobody waits for the result."""
    with local_cluster() as (_, client):
        with pytest.raises(KeyboardInterrupt) as caught:
            dpbb.solve(**HUGE, client=client, progress=Impatient(times))
        assert isinstance(caught.value, dpbb.Interrupted) == (times == 1)
        (snapshot,) = dpbb.runs(client)
        assert (snapshot.state, snapshot.termination) == ("finished", "stopped")
        with dpbb.attach(snapshot.run_id, client) as run:
            assert run.result().makespan == snapshot.value


def test_a_heuristic_keeps_its_schedule():
    shown = Impatient(at_once=True)
    with pytest.raises(dpbb.Interrupted) as caught:
        dpbb.heuristic("ta056", time_limit_s=60, progress=shown)
    assert caught.value.result.termination == "stopped"
    assert caught.value.result.seconds < 30
