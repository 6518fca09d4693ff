"""Workers of several devices: a GPU each by dask-cuda, cores beside a GPU."""

from dataclasses import replace

import pytest
from distributed import Client

import dpbb
from dpbb.cluster.scheduler.plugin import DpbbSchedulerPlugin
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import generate
from dpbb.result import Status
from tests.cluster.support import (
    HUGE,
    LARGE,
    counts,
    exploring_seats,
    nannies,
    spec_of,
    submit,
    wait_until,
)

pytestmark = [pytest.mark.gpu, pytest.mark.cluster]


@pytest.mark.filterwarnings("default")  # what others' packages warn of is no failure
def test_dask_cuda_gives_each_gpu_to_a_worker(gpu):
    """Its workers see all GPUs, each another one first."""
    dask_cuda = pytest.importorskip("dask_cuda", exc_type=ImportError)
    uuids = {device.uuid for device in gpu.engine.devices()}
    if len(uuids) < 2:
        pytest.skip("one GPU is visible: two are needed")
    with (
        dask_cuda.LocalCUDACluster(dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.register_plugin(DpbbSchedulerPlugin())
        table = cluster.scheduler.extensions["dpbb"].hub.table
        wait_until(lambda: len(table.workers) == len(uuids), timeout=60)
        gpus = [
            [seat.device.uuid for seat in worker.seats if seat.device.kind == "cuda"]
            for worker in table.workers.values()
        ]
        assert all(len(own) == 1 for own in gpus), gpus
        assert {own[0] for own in gpus} == uuids
        # some seconds of work, so that there is some for everybody
        result = dpbb.solve("ta056", client=client, engine="gpu", cutoff=3679)
    assert result.status is Status.INFEASIBLE_CUTOFF
    assert result.nodes == 207_683_508_756
    assert len(result.seats) == len(uuids)


SMALL_20X20 = ("ta030", 2178, 2_797_688, 43)
LARGE_20X20 = (13, 2320, 9_577_257_228)
"""Time seed of Taillard's generator, upper bound, decomposed nodes and leaves."""


def beside(gpu):
    """Environments of a worker on a GPU, and of one on cores."""
    place = {"DPBB_SEATS": "gpu", "CUDA_VISIBLE_DEVICES": gpu.device.uuid}
    return place, {"DPBB_SEATS": "cpu"}


def test_cores_and_a_gpu_share_a_run(gpu):
    """Exact counts; both explore."""
    name, ub, *golden = SMALL_20X20
    seed, large_ub, nodes = LARGE_20X20
    problem = FlowShopProblem(FlowShopInstance("seed 13", generate(seed, 20, 20)))
    large = spec_of(name, large_ub, engine="auto", certificate=True)
    large = replace(large, problem=problem)
    with nannies(beside(gpu)) as client:
        for engine in ("cpu", "gpu"):  # compiled, so that both begin at once
            with submit(client, spec_of(name, ub, engine=engine)) as run:
                assert counts(run.result()) == tuple(golden)
        with submit(client, large) as run:
            outcome = run.result()
    assert sum(counts(outcome)) == nodes
    assert set(outcome.engines) == {"cpu", "gpu"}


def test_pools_on_a_gpu_and_on_cores_share_a_run(gpu):
    """Exact counts; both seats explore."""
    name, ub, *golden = LARGE
    with nannies(beside(gpu)) as client:
        with submit(client, spec_of(*HUGE, engine="pool")) as run:  # both compile
            wait_until(lambda: exploring_seats(run) == 2, timeout=200)
        spec = spec_of(name, ub, engine="pool", certificate=True)
        with submit(client, spec) as run:
            outcome = run.result()
    assert counts(outcome) == tuple(golden)
    assert set(outcome.engines) == {"pool"}
    assert len(outcome.seats) == 2
