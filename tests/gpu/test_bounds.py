"""Bounds on a device: exactly those of the CPU."""

import pytest

import dpbb
from dpbb.flowshop.taillard import taillard_instance
from tests.oracle import random_nodes
from tests.unit.test_bounds import SHOPS

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cupy")]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        *(("ta021", 400_000), ("ta051", 400_000), ("ta081", 200_000), ("ta101", 5001)),
        *((name, 5001) for name in SHOPS),
    ],
)
def test_random_nodes_have_the_bounds_of_the_cpu(name, count):
    times = SHOPS[name] if name in SHOPS else taillard_instance(name).times
    nodes = random_nodes(len(times), count, seed=1)
    for bound in (dpbb.bounds.lb1, dpbb.bounds.lb2):
        on_gpu, on_cpu = (bound(times, *nodes, device=kind) for kind in ("gpu", "cpu"))
        assert (on_gpu == on_cpu).all()
