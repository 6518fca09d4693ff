"""More optima than a launch can report: each is listed once all the same."""

from math import factorial

import numpy as np
import pytest

from dpbb.engines.gpu import memory as memory_module
from dpbb.engines.gpu import steal as steal_module
from dpbb.engines.gpu.layout import Stop
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.options import Balance, TreeOptions, Tuning
from dpbb.tree import WorkUnit
from tests.gpu.stops import stops_of_launches

pytestmark = pytest.mark.gpu

N_JOBS = 8
EXPLORERS = 1024
BEYOND = 512


@pytest.mark.parametrize("balance", list(Balance))
def test_more_optima_than_a_launch_can_report(gpu, monkeypatch, balance):
    """Every schedule of equal jobs is optimal."""
    for module in (memory_module, steal_module):
        monkeypatch.setattr(module, "leaf_capacity", lambda n, all_optima: n + BEYOND)
    stops = stops_of_launches(monkeypatch)
    times = np.full((N_JOBS, 4), 3)
    problem = FlowShopProblem(FlowShopInstance("equal jobs", times))
    best = 3 * (N_JOBS + 3)
    session = gpu.engine.open(
        problem,
        TreeOptions(),
        gpu.device,
        ub=best + 1,
        all_optima=True,
        tuning=Tuning(explorers=EXPLORERS, balance=str(balance)),
    )
    session.load(WorkUnit.whole(N_JOBS))
    listed, leaves, exhausted = [], 0, False
    while not exhausted:
        part = session.advance(best + 1, 0.2)
        assert {leaf.value for leaf in part.optima} <= {best}
        listed += [tuple(leaf.permutation.tolist()) for leaf in part.optima]
        leaves += part.leaves
        exhausted = part.exhausted
    session.close()
    assert stops.count(Stop.OPTIMA_FULL) > 1
    assert len(listed) == len(set(listed)) == leaves == factorial(N_JOBS)
