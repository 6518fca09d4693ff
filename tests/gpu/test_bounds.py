"""Bounds on a device: exactly those of the CPU, and what comes in and goes out."""

import numpy as np
import pytest

import dpbb
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance
from dpbb.flowshop.taillard import taillard_instance
from tests.oracle import random_nodes
from tests.unit.flowshop.bounds.test_batch_cpu import SHOPS

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cupy")]


@pytest.mark.parametrize(
    ("name", "count"), [("ta021", 400_000), ("ta051", 400_000), ("ta081", 200_000)]
)
def test_a_million_random_nodes_have_the_bounds_of_the_cpu(name, count):
    shop = taillard_instance(name)
    nodes = random_nodes(shop.n_jobs, count, seed=1)
    for bound in (dpbb.bounds.lb1, dpbb.bounds.lb2):
        on_gpu, on_cpu = (bound(shop, *nodes, device=kind) for kind in ("gpu", "cpu"))
        assert (on_gpu == on_cpu).all()


@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize("name", [*SHOPS, "ta101"])
def test_bounds_of_odd_shops_are_those_of_the_cpu(name, strong):
    times = SHOPS[name] if name in SHOPS else taillard_instance(name).times
    shop = FlowShopInstance(name, times)
    nodes = random_nodes(shop.n_jobs, 5001, seed=2)
    for which in ("all", "adjacent", "last"):
        on_gpu, on_cpu = (
            dpbb.bounds.lb2(shop, *nodes, pairs=which, strong=strong, device=kind)
            for kind in ("gpu", "cpu")
        )
        assert (on_gpu == on_cpu).all()


@pytest.mark.parametrize("words", [1, 2, 4])
@pytest.mark.parametrize("name", ["ta051", "large times"])
def test_any_number_of_words_a_thread_gives_the_same_bounds(cupy, name, words):
    from dpbb.flowshop.bounds.batch_gpu import GpuNodes
    from dpbb.flowshop.bounds.lb2 import machine_pairs

    times = SHOPS[name] if name in SHOPS else taillard_instance(name).times
    shop = FlowShopInstance(name, times)
    orders, d1, d2 = random_nodes(shop.n_jobs, 70_001, seed=3)
    batch = GpuNodes(shop, machine_pairs(shop.n_machines), words=words)
    there = [cupy.asarray(part) for part in (orders.astype(np.uint16), d1, d2)]
    found = batch.bounds(*there, strong=False).get()
    expected = dpbb.bounds.lb2(shop, orders, d1, d2, device="cpu")
    assert (found == expected).all()


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int32, np.int64])
def test_what_is_on_the_device_stays_there(cupy, kind):
    nodes = random_nodes(50, 3000, seed=4)
    expected = dpbb.bounds.lb2("ta051", *nodes, device="cpu")
    orders = cupy.asarray(nodes[0].astype(kind))
    for counts in (nodes[1:], [cupy.asarray(part) for part in nodes[1:]]):
        found = dpbb.bounds.lb2("ta051", orders, *counts)
        assert isinstance(found, cupy.ndarray)
        assert (found.get() == expected).all()
    with pytest.raises(OptionError, match="expected auto or gpu"):
        dpbb.bounds.lb2("ta051", orders, *nodes[1:], device="cpu")


def test_what_is_no_node_is_refused_on_the_device(cupy):
    orders, d1, d2 = random_nodes(20, 3000, seed=5)
    orders[1234, 5] = -1
    with pytest.raises(OptionError, match="schedule 1234: expected a permutation"):
        dpbb.bounds.lb2("ta021", cupy.asarray(orders), d1, d2)
    orders[77] = 70_000
    with pytest.raises(OptionError, match="schedule 77: expected a permutation"):
        dpbb.bounds.lb2("ta021", orders, d1, d2, device="gpu")
