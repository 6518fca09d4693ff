"""The pool engine's kernel bounds nodes on the host: exactly as the CPU does."""

import sys
from types import SimpleNamespace

import pytest

import dpbb
from tests.oracle import random_nodes
from tests.quick import some_slow
from tests.unit.test_bounds import SHOPS

SLOW = "zeros", "one machine", "two machines", "just below 16 bits"

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("name", some_slow(SHOPS, SLOW))
def test_bounds_are_those_of_the_cpu(emulated, name):
    nodes = random_nodes(len(SHOPS[name]), 200, seed=6)
    for bound in (dpbb.bounds.lb1, dpbb.bounds.lb2):
        on_gpu, on_cpu = (
            bound(SHOPS[name], *nodes, device=kind) for kind in ("gpu", "cpu")
        )
        assert on_gpu.tolist() == on_cpu.tolist()
    assert dpbb.bounds.lb2(SHOPS[name], [], 0, 0, device="gpu").tolist() == []


def test_tables_are_there_before_a_stream_that_waits_for_no_other(
    emulated, monkeypatch
):
    """A busy H100 bounded nodes by tables that were still on their way."""
    cupy, late = sys.modules["cupy"], []

    def asarray(array):
        copy = cupy.zeros(array.shape, array.dtype)
        late.append((copy, array))
        return copy

    def synchronize():
        for copy, array in late:
            copy.data.copy_from_host_async(array.ctypes.data, array.nbytes, None)

    monkeypatch.setattr(cupy, "asarray", asarray)
    stream = SimpleNamespace(synchronize=synchronize)
    monkeypatch.setattr(cupy.cuda, "get_current_stream", lambda: stream)
    shop = next(iter(SHOPS.values()))
    nodes = random_nodes(len(shop), 50, seed=6)
    on_gpu, on_cpu = (dpbb.bounds.lb2(shop, *nodes, device=d) for d in ("gpu", "cpu"))
    assert on_gpu.tolist() == on_cpu.tolist()
