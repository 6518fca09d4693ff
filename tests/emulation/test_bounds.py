"""The kernel of bounds, lane by lane on the host: exactly the bounds of the CPU."""

import pytest

import dpbb
from dpbb.flowshop.models import pool_cuda
from tests.oracle import random_nodes
from tests.unit.flowshop.bounds.test_batch import SHOPS

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("placement", pool_cuda.PLACEMENTS)
@pytest.mark.parametrize("name", SHOPS)
def test_bounds_are_those_of_the_cpu(emulated, name, placement, monkeypatch):
    monkeypatch.setattr(pool_cuda, "placement_of", lambda *_: placement)
    nodes = random_nodes(len(SHOPS[name]), 600, seed=6)
    for bound in (dpbb.bounds.lb1, dpbb.bounds.lb2):
        on_gpu, on_cpu = (
            bound(SHOPS[name], *nodes, device=kind) for kind in ("gpu", "cpu")
        )
        assert on_gpu.tolist() == on_cpu.tolist()
    assert dpbb.bounds.lb2(SHOPS[name], [], 0, 0, device="gpu").tolist() == []
