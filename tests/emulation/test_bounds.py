"""The kernel of bounds, lane by lane on the host: exactly the oracle's."""

import numpy as np
import pytest

import dpbb
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance
from dpbb.flowshop.bounds.lb2 import JohnsonTables, machine_pairs
from dpbb.flowshop.bounds.nodes import Nodes
from tests.oracle import random_nodes
from tests.unit.flowshop.bounds.test_batch_cpu import SHOPS

pytestmark = pytest.mark.timeout(600)

CASES = [(name, 2) for name in SHOPS] + [
    (name, words) for name in ("ta021", "large times") for words in (1, 4)
]


@pytest.mark.parametrize(("name", "words"), CASES)
def test_bounds_are_those_of_the_oracle(emulated, name, words):
    import cupy

    from dpbb.flowshop.bounds.batch_gpu import GpuNodes

    times = SHOPS[name]
    orders, d1, d2 = random_nodes(len(times), 600, seed=6)
    pairs = machine_pairs(times.shape[1])
    batch = GpuNodes(FlowShopInstance(name, times), pairs, words=words)
    there = [cupy.asarray(orders.astype(np.uint16)), *map(cupy.asarray, (d1, d2))]
    strong = words == 2
    expected = Nodes.of(times, orders, d1, d2, strong=strong)
    found = batch.bounds(*there, strong=strong).get()
    assert found.tolist() == expected.lb2(JohnsonTables.of(times, pairs)).tolist()


def test_the_api_bounds_on_the_device(emulated):
    orders, d1, d2 = random_nodes(20, 40, seed=7)
    for bound in (dpbb.bounds.lb1, dpbb.bounds.lb2):
        on_cpu = bound("ta021", orders, d1, d2, device="cpu")
        assert bound("ta021", orders, d1, d2, device="gpu").tolist() == on_cpu.tolist()
    assert dpbb.bounds.lb2("ta021", [], 0, 0, device="gpu").tolist() == []
    orders[30, 3] = 70_000
    with pytest.raises(OptionError, match="schedule 30: expected a permutation"):
        dpbb.bounds.lb2("ta021", orders, d1, d2, device="gpu")
    d1[20] = 21
    with pytest.raises(OptionError, match=r"schedule 20: .*got 21 and"):
        dpbb.bounds.lb2("ta021", orders, d1, d2, device="gpu")
