"""Batches over the workers of a cluster in this process."""

import numpy as np
import pytest

from dpbb.errors import InstanceError
from dpbb.jobshop import evaluate, load
from dpbb.jobshop.cpu_batch import random_sequences
from tests.unit.jobshop.shops import SMALL

pytestmark = pytest.mark.cluster

SHOP = load("ta01")


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def sequences():
    return random_sequences(SHOP, 400, seed=1)


@pytest.fixture(scope="module")
def costs(sequences):
    return evaluate(SHOP, sequences, device="cpu").tolist()


def test_an_array_comes_back_as_an_array(client, sequences, costs):
    found = evaluate(SHOP, sequences, client=client)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == costs
    assert evaluate(SHOP, sequences[:0], client=client).tolist() == []


def test_a_dask_array_stays_lazy(client, sequences, costs):
    import dask.array

    given = dask.array.from_array(sequences, chunks=(150, 100))
    found = evaluate(SHOP, given, client=client)
    assert found.shape == (400,)
    assert client.compute(found).result().tolist() == costs
    for chunks in ((7, 13), ((1, 0, 399), 225)):
        found = evaluate(SHOP, given.rechunk(chunks), client=client)
        assert client.compute(found).result().tolist() == costs
    kept = evaluate(SHOP, given[given[:, 0] < 5], client=client)  # of unknown length
    expected = [cost for cost, one in zip(costs, sequences, strict=True) if one[0] < 5]
    assert client.compute(kept).result().tolist() == expected
    with pytest.raises(InstanceError, match="values of type float64"):
        evaluate(SHOP, given * 0.5, client=client)
    with pytest.raises(InstanceError, match=r"shape \(b, 225\)"):
        evaluate(SHOP, given[:, 1:], client=client)


def test_batches_and_futures_come_back_as_futures(client, sequences, costs):
    batches = [sequences[:100], sequences[100:]]
    for given in (batches, client.scatter(batches, hash=False)):
        found = client.gather(evaluate(SHOP, given, client=client))
        assert [len(one) for one in found] == [100, 300]
        assert np.concatenate(found).tolist() == costs


def test_a_plain_list_is_one_batch(client):
    found = evaluate(SMALL, [[2, 0, 1, 0, 2, 1, 0, 1]] * 3, client=client)
    assert found.tolist() == [12, 12, 12]


def test_a_list_of_single_solutions_is_one_batch(client):
    rows = [np.array([2, 0, 1, 0, 2, 1, 0, 1])] * 3
    assert evaluate(SMALL, rows, client=client).tolist() == [12, 12, 12]
    assert evaluate(SMALL, [], client=client).tolist() == []


def test_what_is_no_solution_is_an_error_here_too(client):
    with pytest.raises(InstanceError, match="solution 0: expected job 0"):
        evaluate(SMALL, [[0] * 8], client=client)
