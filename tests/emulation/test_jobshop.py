"""The job-shop kernels, lane by lane on the host: exactly the CPU's costs."""

import numpy as np
import pytest

from dpbb.jobshop.cpu_batch import costs as cpu_costs
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import Criterion, Encoding
from dpbb.jobshop.taillard import taillard_instance
from tests.unit.jobshop.shops import odd_shop, orders_of, random_sequences

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def gpu_batch(emulated):
    from dpbb.jobshop import gpu_batch

    return gpu_batch


SHOPS = {
    "ta01": taillard_instance(1),
    "odd": odd_shop(1, n_machines=5),
    "more machines than lanes": odd_shop(2, n_machines=40),
    "large times": odd_shop(3, longest_time=20_000_000),
    "one operation": JobShopInstance.from_routes([[(0, 3)]]),
}
CASES = [(name, Criterion.MAKESPAN) for name in SHOPS] + [
    ("odd", Criterion.SUM_COMPLETION),
    ("odd", Criterion.WEIGHTED_TARDINESS),
    ("large times", Criterion.WEIGHTED_TARDINESS),
]


def put(array):
    import cupy

    return cupy.asarray(np.ascontiguousarray(array))


@pytest.mark.parametrize(("name", "criterion"), CASES)
def test_sequences_cost_what_they_cost_on_the_cpu(gpu_batch, name, criterion):
    shop = SHOPS[name]
    sequences = random_sequences(shop, 45, seed=5)
    expected = cpu_costs(shop, sequences, Encoding.SEQUENCE, criterion)
    batch = gpu_batch.GpuBatch(shop, criterion)
    kinds = (np.uint8, np.int16, np.int32) if name == "odd" else (np.uint8,)
    for kind in kinds:
        found = batch.sequences(put(sequences.astype(kind))).get()
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(("name", "criterion"), CASES)
def test_machine_orders_cost_what_they_cost_on_the_cpu(gpu_batch, name, criterion):
    shop = SHOPS[name]
    orders = orders_of(shop, random_sequences(shop, 9, seed=6), n_cyclic=3)
    expected = cpu_costs(shop, orders, Encoding.MACHINE_ORDERS, criterion)
    found = gpu_batch.GpuBatch(shop, criterion).orders(put(orders)).get()
    assert found.tolist() == expected.tolist()
    if name == "ta01":
        assert (found[:6] > 0).all()
        assert (found[6:] == -1).all()


def test_what_is_no_solution_is_invalid_and_harms_no_other(gpu_batch):
    shop = SHOPS["odd"]
    sequences = random_sequences(shop, 40, seed=9).astype(np.int16)
    expected = cpu_costs(shop, sequences, Encoding.SEQUENCE, Criterion.MAKESPAN)
    sequences[3, 0], sequences[20, 5] = 7, -1
    sequences[31] = 2
    sequences[32, sequences[32] == 1] = 30_000
    expected[[3, 20, 31, 32]] = -2
    batch = gpu_batch.GpuBatch(shop, Criterion.MAKESPAN)
    assert batch.sequences(put(sequences)).get().tolist() == expected.tolist()

    orders = orders_of(shop, random_sequences(shop, 9, seed=9))
    orders[1, 0, 0], orders[4, 2, 0] = 7, -1
    orders[5, 1] = orders[5, 1, 0]
    expected = cpu_costs(shop, orders, Encoding.MACHINE_ORDERS, Criterion.MAKESPAN)
    assert expected[[1, 4, 5]].tolist() == [-2, -2, -2]
    assert batch.orders(put(orders)).get().tolist() == expected.tolist()
