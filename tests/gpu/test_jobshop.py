"""Job-shop costs on a device: exactly those of the CPU, whatever comes in."""

import numpy as np
import pytest

from dpbb.errors import OptionError
from dpbb.jobshop import Criterion, Encoding, evaluate, load
from dpbb.jobshop.cpu_batch import costs as cpu_costs
from tests.unit.jobshop.shops import SMALL, odd_shop, orders_of, random_sequences

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cupy")]

SEQUENCE = [2, 0, 1, 0, 2, 1, 0, 1]
SHOPS = {
    "small": SMALL, "odd": odd_shop(1),
    "more machines than lanes": odd_shop(2, n_machines=40),
    "large times": odd_shop(3, longest_time=20_000_000), "ta01": load("ta01"),
    "ta21": load("ta21"), "ta71": load("ta71"),
}  # fmt: skip


@pytest.mark.parametrize("criterion", Criterion)
@pytest.mark.parametrize("name", SHOPS)
def test_costs_are_those_of_the_cpu(name, criterion):
    shop = SHOPS[name]
    if shop.due is None and criterion is Criterion.WEIGHTED_TARDINESS:
        pytest.skip("no due dates")
    sequences = random_sequences(shop, 5001, seed=1)
    expected = cpu_costs(shop, sequences, Encoding.SEQUENCE, criterion).tolist()
    for kind in (np.uint8, np.int16, np.int32, np.int64):
        given = sequences.astype(kind)
        found = evaluate(shop, given, criterion=criterion, device="gpu")
        assert found.tolist() == expected
    orders = orders_of(shop, sequences[:300], n_cyclic=50)
    expected = cpu_costs(shop, orders, Encoding.MACHINE_ORDERS, criterion).tolist()
    found = evaluate(
        shop, orders, encoding="machine_orders", criterion=criterion, device="gpu"
    )
    assert found.tolist() == expected


def test_input_on_the_device_is_read_there(cupy):
    shop = SHOPS["ta21"]
    sequences = random_sequences(shop, 1000, seed=3)
    expected = evaluate(shop, sequences, device="cpu").tolist()
    there = cupy.asarray(sequences)
    found = evaluate(shop, there)
    assert isinstance(found, cupy.ndarray)
    assert found.get().tolist() == expected

    class Foreign:
        """An array of another library."""

        __cuda_array_interface__ = there.__cuda_array_interface__

    assert evaluate(shop, Foreign()).get().tolist() == expected
    # rows that do not begin at whole words, and an array that is not in C order
    shifted = cupy.asarray(
        np.concatenate([[0], sequences.reshape(-1)]).astype(np.uint8)
    )
    odd = shifted[1:].reshape(sequences.shape)
    assert evaluate(shop, odd).get().tolist() == expected
    assert evaluate(shop, cupy.asfortranarray(there)).get().tolist() == expected


def test_solutions_on_the_device_are_not_for_the_cpu(cupy):
    with pytest.raises(OptionError, match="expected auto or gpu"):
        evaluate(SMALL, cupy.asarray([SEQUENCE]), device="cpu")
