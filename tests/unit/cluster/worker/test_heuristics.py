"""Threads that improve schedules, with a problem whose methods do as the test says."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from dpbb.cluster.worker.heuristics import RunHeuristics
from dpbb.errors import ClusterError, InvariantError, OptionError
from dpbb.options import Tuning
from dpbb.problem import ImprovesSchedules, Incumbent
from tests.cluster.support import wait_until
from tests.oracle import TinyFlowShop

ROWS = ((3, 9), (8, 1), (4, 4), (6, 2))


def beginning(value, *jobs):
    return Incumbent(value, np.array(jobs or (0, 1, 2, 3)), "start")


class Shop(TinyFlowShop):
    """A flow shop whose one method is a function of the test."""

    improving_methods = ("swap",)

    def improve(self, start, search):
        return self.method(search.method, start, search)


class Channel:
    """Notes what is offered."""

    def __init__(self, method, methods=("swap",)):
        problem = Shop(ROWS)
        object.__setattr__(problem, "method", method)
        object.__setattr__(problem, "improving_methods", methods)
        assert isinstance(problem, ImprovesSchedules)
        self.run = SimpleNamespace(problem=problem, tuning=Tuning())
        self.offers, self.notes = [], []
        self.gone = False

    def spec(self):
        return self.run

    def note(self, text):
        self.notes.append(text)

    def offer(self, incumbent):
        if self.gone:
            raise ClusterError("the run is over")
        self.offers.append(incumbent)


@pytest.fixture
def started():
    """Heuristics that end with the test."""
    runs = []

    def start(channel, threads=1, **options):
        run = RunHeuristics(channel, "here", **options)
        runs.append(run)
        run.resize(threads)
        return run

    yield start
    for run in runs:
        run.resize(0)
    wait_until(lambda: not searching())


def searching():
    """Threads that are still there."""
    return [one for one in threading.enumerate() if one.name == "dpbb-heuristics"]


def until_stopped(method, start, search):
    while not search.should_stop():
        time.sleep(0.001)
    return Incumbent(start.value, start.permutation, method)


def better_by_one(method, start, search):
    found = Incumbent(start.value - 1, np.roll(start.permutation, 1), method)
    if found.value >= 90:
        search.on_improvement(found)
    return until_stopped(method, start, search)


def test_a_better_schedule_is_offered_with_its_method(started):
    channel = Channel(better_by_one)
    run = started(channel)
    run.know(beginning(100))
    wait_until(lambda: channel.offers)
    assert [(one.value, one.source) for one in channel.offers] == [(99, "auto")]
    assert run._best.value == 99


def test_what_the_run_has_already_is_not_offered(started):
    """Three threads that find the same."""
    channel = Channel(better_by_one)
    run = started(channel, threads=3)
    run.know(beginning(100))
    wait_until(lambda: channel.offers)
    run.resize(0)
    wait_until(lambda: not searching())
    values = [one.value for one in channel.offers]
    assert values == sorted(set(values), reverse=True)
    assert values[0] == 99


@pytest.mark.parametrize(
    "error", [ZeroDivisionError(), OptionError(), InvariantError()]
)
def test_a_method_that_fails_is_left_out_and_people_are_told_once(
    started, caplog, error
):
    """An error of dpbb's own ended the thread, and nobody learned of it."""
    calls = []

    def failing(method, start, search):
        calls.append(method)
        if method == "bad":
            raise error
        return until_stopped(method, start, search)

    channel = Channel(failing, ("bad", "good"))
    started(channel, threads=2).know(beginning(100))
    wait_until(lambda: "good" in calls)
    assert "bad fails" in caplog.text
    assert calls.count("bad") == 1
    (note,) = channel.notes
    assert "heuristic bad" in note
    assert type(error).__name__ in note


def test_the_threads_end_when_nothing_can_be_better(started):
    run = started(Channel(until_stopped))
    run.know(beginning(22))
    wait_until(lambda: not searching())


def test_a_search_that_left_nothing_out_ends_the_others(started):
    def method(_name, start, _search):
        return Incumbent(start.value, start.permutation, "swap", proved=True)

    channel = Channel(method)
    started(channel).know(beginning(32))
    wait_until(lambda: not searching())
    assert not channel.offers
