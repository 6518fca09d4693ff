"""Two-machine bounds of the CPU engine: few pairs and many, more jobs than a vector."""

import numpy as np
import pytest

from dpbb.engines import explore_to_end, get_engine
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.models.cascade_cpu import FEW, Cascade
from dpbb.options import TreeOptions
from dpbb.tree import WorkUnit


def shop_of(n_jobs, n_machines, seed):
    times = np.random.default_rng(seed).integers(1, 99, (n_jobs, n_machines))
    return FlowShopProblem(FlowShopInstance("shop", times), bound="lb2")


def counts(engine, problem, ub):
    chosen = get_engine(engine)
    tree = TreeOptions(bound=problem.bound)
    session = chosen.open(problem, tree, chosen.devices(1)[0], ub=ub)
    try:
        session.load(WorkUnit.whole(problem.n_jobs))
        return explore_to_end(session, ub, 0.5).counters
    finally:
        session.close()


@pytest.mark.parametrize(
    ("n_jobs", "n_machines", "seed", "optimum"), [(40, 5, 6, 2234), (36, 7, 11, 2159)]
)
def test_counts_are_those_of_the_reference(n_jobs, n_machines, seed, optimum):
    problem = shop_of(n_jobs, n_machines, seed)
    found = counts("cpu", problem, optimum)
    assert found.decomposed > 100
    assert found == counts("reference", problem, optimum)


def test_few_pairs_and_many_are_both_tested():
    assert Cascade.of(shop_of(40, 5, 0), None, np.int16).n_few == 10 <= FEW
    assert Cascade.of(shop_of(36, 7, 0), None, np.int16).n_few == 0


def test_tables_that_are_too_large_are_refused():
    assert Cascade.obstacle(shop_of(100, 20, 0)) is None
    why = Cascade.obstacle(shop_of(800, 60, 0))
    assert why == "expected fewer pairs of machines, for 800 jobs at most 419, got 1770"
