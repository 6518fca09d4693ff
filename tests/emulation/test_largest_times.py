"""Times may sum to 2**30 - 2: the device's kernels have the numbers of the cores."""

import numpy as np
import pytest

from dpbb.engines.gpu.engine import GpuEngine
from dpbb.flowshop import FlowShopInstance
from dpbb.kernels.cuda_model import WIDE_LIMIT
from dpbb.options import LB1, TreeOptions, Tuning
from tests.emulation.test_pool import check
from tests.largest import WHERE, largest, shops
from tests.oracle import TinyFlowShop
from tests.parity.subject import shop_of
from tests.parity.tabu import same_on_both

pytestmark = pytest.mark.timeout(600)


def test_the_engine_refuses_what_its_kernels_cannot_hold():
    """By name: ``auto`` leaves it to the cores."""
    problem = shop_of(TinyFlowShop(largest(5, 3, "even")), LB1)
    expected = f"engine gpu takes values below {WIDE_LIMIT}, they may reach "
    assert GpuEngine().supports(problem, TreeOptions()).startswith(expected)


@pytest.mark.parametrize("bound", ["lb1", "lb2"])
def test_pools(bound):
    for shop in shops(bound):
        if shop.n_jobs == 5:
            tree = TreeOptions(bound=getattr(shop, "bound", LB1))
            check(shop_of(shop, tree.bound), tree, Tuning(pool_size=64))


@pytest.mark.parametrize("where", WHERE)
def test_tabu_search(where):
    same_on_both(FlowShopInstance(where, np.array(largest(5, 3, where))))
