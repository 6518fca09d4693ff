import numpy as np

from dpbb.flowshop import FlowShopInstance
from dpbb.flowshop.heuristics.palmer import palmer
from dpbb.flowshop.heuristics.search import Search


def test_jobs_whose_times_grow_come_first():
    """Makespans and slopes by hand."""
    found = []
    shop = FlowShopInstance("shop", np.array([[3, 2], [1, 4], [2, 2]]))
    best = palmer(Search(shop, 0, on_improvement=found.append))
    assert [(step.value, step.source) for step in found] == [
        (11, "own order"),
        (9, "palmer"),
    ]
    assert best is found[-1]
    assert best.permutation.tolist() == [1, 2, 0]
    assert palmer(Search(shop, 0), best) is best
