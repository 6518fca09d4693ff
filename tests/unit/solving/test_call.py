import time
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import fields
from threading import Event

import pytest

from dpbb.errors import ClusterError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import SolveOptions
from dpbb.progress import Progress
from dpbb.result import Improvement
from dpbb.solving import call as module
from dpbb.solving.call import Call
from dpbb.solving.resume import ResumedCall


@pytest.fixture
def call(monkeypatch):
    monkeypatch.setattr(module, "HEAD_START_S", 60.0)
    problem = FlowShopProblem(FlowShopInstance("shop", [[1, 2], [3, 1]]))
    return Call(problem, "shop", SolveOptions(), Progress(), lambda: False, 0.0)


@contextmanager
def cluster():
    yield "a client"


def test_a_cluster_starts_after_the_first_schedule(call):
    with call._background(cluster) as starting:
        assert not starting.done()
        call._found(Improvement(0.1, 5, "neh"), 4)
        assert starting.result(60) == "a client"


def test_a_cluster_starts_when_there_will_be_no_schedule(call):
    call.options = SolveOptions(heuristics="none", cutoff=9)
    with call._background(cluster) as starting:
        call.plan()
        assert starting.result(60) == "a client"


def test_what_fails_before_a_schedule_does_not_wait_for_one(call):
    with pytest.raises(ArithmeticError), call._background(cluster):
        raise ArithmeticError


@pytest.mark.parametrize(
    ("scheduler", "text"),
    [(None, "workers to start here"), ("tcp://host:1", "an answer of tcp://host:1")],
)
def test_a_cluster_that_takes_longer_than_a_second_is_waited_for_in_words(
    call, scheduler, text
):
    said = []
    call.progress.waiting = said.append
    call.options = SolveOptions(scheduler=scheduler)
    starting = Future()
    for _ in range(99):
        assert not call.wait(starting, 0.0)
    assert said == []
    call.waited_s = 1.0
    assert not call.wait(starting, 0.0)
    assert said == [text]
    starting.set_result("a client")
    assert call.wait(starting, 0.0)
    assert said == [text, ""]


@pytest.mark.parametrize(("limit", "at_once"), [(None, True), (60, True), (2, False)])
def test_workers_are_launched_before_the_first_schedule_where_there_is_time(
    monkeypatch, call, limit, at_once
):
    """But this process imports nothing of Dask beside NEH."""
    reached, imports = Event(), Event()

    @contextmanager
    def embedded(*, launched, **_how):
        reached.set()
        launched()
        imports.set()
        yield None, "a client"

    monkeypatch.setattr("dpbb.cluster.local.embedded_cluster", embedded)
    monkeypatch.setattr(Call, "_choose_engine", lambda _call: None)
    call.options = SolveOptions(time_limit_s=limit, engine="cpu")
    call.began = time.monotonic()
    with call._embedded() as starting:
        assert reached.wait(60) if at_once else not reached.is_set()
        assert not imports.is_set()
        call._found(Improvement(0.1, 5, "neh"), 4)
        assert starting.result(60) == "a client"


@pytest.mark.parametrize("kind", [Call, ResumedCall, "detached"])
def test_no_cluster_is_started_where_no_time_is_left_for_one(monkeypatch, call, kind):
    """But a run that goes on, or is not waited for, is opened whatever its limit."""
    if kind is ResumedCall:
        values = (getattr(call, one.name) for one in fields(Call) if one.init)
        call = ResumedCall(*values)

    @contextmanager
    def embedded(**_how):
        yield None, "a client"

    monkeypatch.setattr("dpbb.cluster.local.embedded_cluster", embedded)
    call.options = SolveOptions(time_limit_s=0.1, engine="cpu")
    call.began, call.detached = time.monotonic(), kind == "detached"
    with call._embedded() as starting:
        call._found(Improvement(0.1, 5, "neh"), 4)
        if kind is Call:
            assert not starting.done()
        else:
            assert starting.result(60) == "a client"
    if kind is Call:
        with pytest.raises(ClusterError, match="expected time for a cluster"):
            starting.result(60)
