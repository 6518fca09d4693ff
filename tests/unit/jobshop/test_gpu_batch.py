"""What the host prepares for the kernels of batches."""

from dpbb.jobshop import load
from dpbb.jobshop.gpu_batch import Layout
from dpbb.jobshop.instance import JobShopInstance


def test_widths_hold_the_largest_values():
    assert Layout(load("ta21")).entry_bytes == 2
    assert not Layout(load("ta71")).wide
    large = JobShopInstance.from_routes([[(0, 2**28)] * 2, [(1, 5)]])
    layout = Layout(large)
    assert (layout.wide, layout.entry_bytes) == (True, 4)
    assert layout.ready_bits == 30
    many = JobShopInstance.from_routes([[(5000, 2**20)]])
    assert Layout(many).entry_bytes == 8
