from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import SolveOptions
from dpbb.progress import Progress
from dpbb.result import Improvement
from dpbb.solving import call as module
from dpbb.solving.call import Call


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
