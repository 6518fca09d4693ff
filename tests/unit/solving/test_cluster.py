import time
from contextlib import contextmanager
from dataclasses import replace
from threading import Event

import pytest

from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import SolveOptions
from dpbb.progress import Progress
from dpbb.solving import cluster as module
from dpbb.solving.arguments import Call
from dpbb.solving.cluster import Cluster
from tests.unit.solving.test_plan import plan_of


def call_of(**options):
    problem = FlowShopProblem(FlowShopInstance("shop", [[1, 2], [3, 1]]))
    options = SolveOptions(**{"engine": "cpu", **options})
    stop = lambda: False  # noqa: E731
    return Call(problem, "shop", options, Progress(), stop, time.monotonic())


@pytest.fixture
def reached(monkeypatch):
    """Clusters that start at once when they are let; what was reached of a start."""
    monkeypatch.setattr(module, "HEAD_START_S", 60.0)
    reached = {"launch": Event(), "imports": Event()}

    @contextmanager
    def embedded(*, launched, **_how):
        reached["launch"].set()
        launched()
        reached["imports"].set()
        yield None, "a client"

    monkeypatch.setattr("dpbb.cluster.local.embedded_cluster", embedded)
    return reached


@pytest.mark.parametrize(
    ("options", "here"),
    [
        ({}, True), ({"workers": 1}, False), ({"checkpoint": "folder"}, False),
        ({"all_optima": True}, False), ({"engine": "reference"}, False),
    ],
)  # fmt: skip
def test_a_tree_that_a_heuristic_shows_to_be_small_needs_no_cluster(
    reached, options, here
):
    cluster = Cluster(call_of(**options))
    with cluster.entered():
        cluster.stay_in_process_if_small(replace(plan_of(), small=False))
        assert not cluster.unwanted.is_set()
        cluster.stay_in_process_if_small(replace(plan_of(), small=True))
        assert cluster.unwanted.is_set() is here
