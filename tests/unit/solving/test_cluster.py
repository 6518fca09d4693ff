import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import SolveOptions
from dpbb.progress import Progress
from dpbb.solving import cluster as module
from dpbb.solving.arguments import Call
from dpbb.solving.cluster import Cluster
from dpbb.solving.plan import Plan
from tests.unit.solving.test_plan import plan_of


def cluster_of(**options):
    problem = FlowShopProblem(FlowShopInstance("shop", [[1, 2], [3, 1]]))
    options = SolveOptions(**{"engine": "cpu", **options})
    call = Call(options, Progress(), lambda: False, time.monotonic())
    return Cluster(call, Plan(problem, "shop", options, call.began))


@pytest.fixture
def at_once(monkeypatch):
    """Clusters start at once when they are let."""
    monkeypatch.setattr(module, "HEAD_START_S", 60.0)

    @contextmanager
    def embedded(*, launched, **_how):
        launched()
        yield None, "a client"

    monkeypatch.setattr("dpbb.cluster.local.embedded_cluster", embedded)


@pytest.mark.parametrize(
    ("engine", "n_jobs", "waits"),
    [("gpu", 50, True), (None, 50, True), ("cpu", 50, False), ("gpu", 49, False)],
)
def test_imports_wait_for_beams_on_the_gpu(monkeypatch, engine, n_jobs, waits):
    monkeypatch.setattr(module, "HEAD_START_S", 0.0)
    monkeypatch.setattr(module, "GPU_HEAD_START_S", 0.2)
    monkeypatch.setattr(module, "is_shared", lambda: True)
    cluster = cluster_of(engine="auto")
    cluster._problem = FlowShopProblem(FlowShopInstance("shop", [[1, 2]] * n_jobs))
    cluster.engine, cluster._choosing = engine, engine is None
    began = time.monotonic()
    cluster._give_head_start()
    assert (time.monotonic() - began > 0.2) is waits
    cluster.engine = "gpu"
    cluster._problem = type("", (), {"n_jobs": 50, "improving_methods": ["ig"]})()
    assert cluster.start_device() == "cpu"


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    ("options", "here"),
    [
        ({}, True), ({"workers": 1}, False), ({"checkpoint": "folder"}, False),
        ({"all_optima": True}, False), ({"engine": "reference"}, False),
    ],
)  # fmt: skip
def test_a_tree_that_a_heuristic_shows_to_be_small_needs_no_cluster(options, here):
    cluster = cluster_of(**options)
    with cluster.entered():
        cluster.stay_in_process_if_small(replace(plan_of(), small=False))
        assert not cluster.unwanted.is_set()
        cluster.stay_in_process_if_small(replace(plan_of(), small=True))
        assert cluster.unwanted.is_set() is here
