"""Golden trees on a GPU worker of a Dask cluster, to the last node."""

import pytest

import dpbb
from dpbb.result import Status
from tests.cluster.support import local_cluster

pytestmark = [pytest.mark.gpu, pytest.mark.cluster]

TREES = [
    ("ta030", 2178, 2797688, 43),
    ("ta056", 3655, 20319445, 0),
    ("ta081", 6100, 10360250, 0),
]


@pytest.fixture(scope="module")
def client(gpu):
    with local_cluster(processes=True) as (_, client):
        yield client


@pytest.mark.parametrize(("name", "ub", "decomposed", "leaves"), TREES)
@pytest.mark.parametrize("balance", ["explode", "steal"])
def test_one_worker_counts_the_golden_tree(
    client, name, ub, decomposed, leaves, balance
):
    result = dpbb.solve(
        name, client=client, engine="gpu", cutoff=ub, tuning={"balance": balance}
    )
    assert result.status is Status.INFEASIBLE_CUTOFF
    assert (result.decomposed, result.leaves) == (decomposed, leaves)


def test_one_worker_finds_and_proves_the_optimum(client):
    result = dpbb.solve("ta021", client=client, engine="gpu")
    assert (result.status, result.makespan) == (Status.OPTIMAL, 2297)
    assert result.lower_bound == 2297
