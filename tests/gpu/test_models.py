"""Models that are texts: counts of the CPU engine on a device, and rates to read.

pytest -q -s tests/gpu/test_models.py
dpbb bench gpu --trees blocking-5 blocking-20 --balance explode --limit-s 20
"""

from time import perf_counter

import numpy as np
import pytest

from dpbb.engines import get_engine
from dpbb.flowshop.family import read_problem
from dpbb.options import SolveOptions
from dpbb.tree import WorkUnit
from dpbb.tree.branching import tree_of
from tests.models import KINDS, LinearOrdering, random_models
from tests.unit.modeling.test_cpu import counted
from tests.unit.modeling.test_model import best_cost

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_those_of_the_reference(gpu, kind):
    for seed in range(3):
        problem = random_models(np.random.default_rng(seed))[kind]
        ub = best_cost(problem) + 1
        assert counted(problem, "reference", ub) == counted(problem, "gpu", ub)


def test_a_tree_of_a_million_nodes_is_that_of_the_cpu(gpu):
    problem = read_problem("ta011", blocking=True)
    ub = 1650  # below the optimum: 1,017,254 nodes and leaves
    assert counted(problem, "cpu", ub)[:3] == counted(problem, "gpu", ub)[:3]


def rate(problem, ub, seconds=5.0):
    """Print and return nodes a second of a tree that lasts."""
    engine = get_engine("gpu")
    tree = tree_of(problem, SolveOptions(), ub)
    session = engine.open(problem, tree, engine.devices()[0], ub=ub)
    session.load(WorkUnit.whole(problem.n_jobs))
    session.advance(ub, 1.0)
    began, nodes = perf_counter(), 0
    while perf_counter() - began < seconds:
        part = session.advance(ub, session.slice_s)
        nodes += part.decomposed
        if part.exhausted:
            break
    taken = perf_counter() - began
    session.close()
    told = f"{problem.name}: {nodes:,} nodes in {taken:.2f} s"
    print(f"\n{told}, {nodes / taken / 1e9:.3f} G/s")  # noqa: T201 (to be read)
    return nodes / taken


def test_rates_are_told(gpu):
    rate(read_problem("ta021", blocking=True), 2437)
    rng = np.random.default_rng(30)
    ordering = LinearOrdering(rng.integers(0, 100, (30, 30)))
    rate(ordering, 18139)  # the loss of a good order
