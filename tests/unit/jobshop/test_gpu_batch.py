"""What the host prepares for the kernels of batches."""

import numpy as np
import pytest

from dpbb.jobshop import load
from dpbb.jobshop.gpu_batch import Layout
from dpbb.jobshop.instance import JobShopInstance
from tests.unit.jobshop.shops import odd_shop


@pytest.mark.parametrize("seed", range(4))
def test_the_table_has_every_operation_and_ends_behind_each_job(seed):
    shop = odd_shop(seed, longest_time=10 ** (seed + 1))
    layout = Layout(shop)
    table = layout.entries().astype(np.int64)
    assert table.size == (layout.longest + 1) * shop.n_jobs
    for job in range(shop.n_jobs):
        own = table[job :: shop.n_jobs]
        part = slice(shop.first[job], shop.first[job + 1])
        length = int(shop.lengths[job])
        machines = own & (1 << layout.machine_bits) - 1
        assert machines[:length].tolist() == shop.machines[part].tolist()
        times = own[:length] >> layout.machine_bits
        assert times.tolist() == shop.times[part].tolist()
        assert (own[length:] == shop.n_machines).all()


def test_widths_hold_the_largest_values():
    assert Layout(load("ta21")).entry_bytes == 2
    assert not Layout(load("ta71")).wide
    large = JobShopInstance.from_routes([[(0, 2**28)] * 2, [(1, 5)]])
    layout = Layout(large)
    assert (layout.wide, layout.entry_bytes) == (True, 4)
    assert layout.ready_bits == 30
    many = JobShopInstance.from_routes([[(5000, 2**20)]])
    assert Layout(many).entry_bytes == 8


def test_groups_hold_the_machines():
    sizes = {1: 1, 2: 2, 5: 8, 16: 16, 17: 32, 32: 32, 40: 32}
    for n_machines, group in sizes.items():
        shop = JobShopInstance.from_routes([[(0, 1)]], n_machines=n_machines)
        assert Layout(shop).group == group
