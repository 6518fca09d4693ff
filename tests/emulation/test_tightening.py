"""Two-machine bounds in the kernels of both arms, lane by lane on the host."""

import random
from itertools import combinations

import numpy as np
import pytest

from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.kernels.cuda_model import NARROW_LIMIT
from dpbb.options import BranchingRule, TreeOptions
from tests.emulation.support import steals
from tests.oracle import TightFlowShop, best_orders, naive_tree
from tests.parity.subject import churn

pytestmark = pytest.mark.timeout(600)

# decomposed nodes of the reference engine, no leaves
TREES = (
    ("ta016", 1397, "lb2", 1289),
    ("ta049", 2897, "cascade:2-45:0-9,1-9,0-8,4-9,0-3", 644),
    ("ta081", 6050, "cascade:1-80:0-19,7-19,2-16,8-18,11-19,0-12", 4356),
)


def random_shop(rng, n_jobs, n_machines, longest):
    """Few different times, so that bounds tie often; some depths and pairs."""
    times = tuple(
        tuple(rng.choice((1, longest // 2, longest)) for _ in range(n_machines))
        for _ in range(n_jobs)
    )
    first = rng.randint(1, n_jobs - 1)
    depths = range(first, rng.randint(first, n_jobs - 1) + 1)
    every = [*combinations(range(n_machines), 2)]
    pairs = rng.sample(every, rng.randint(1, len(every)))
    return TightFlowShop(times, depths=tuple(depths), pairs=tuple(pairs))


def problem_of(shop):
    pairs = ",".join(f"{u}-{v}" for u, v in shop.pairs)
    bound = f"cascade:{shop.depths[0]}-{shop.depths[-1]}:{pairs}"
    return FlowShopProblem(FlowShopInstance("tight", np.array(shop.times)), bound)


def tree_of(problem, rule=BranchingRule.MINMIN, ub=None):
    return TreeOptions(rule, branching_ub=ub, bound=problem.bound)


@pytest.mark.parametrize("longest", [9, 2 * NARROW_LIMIT])
def test_counts_are_those_of_the_naive_tree(gpu, longest):
    rng = random.Random(longest)
    for _ in range(8):
        shop = random_shop(rng, 6, 4, longest)
        problem = problem_of(shop)
        best, _ = best_orders(shop.times)
        ub = best + rng.randint(0, 1)
        tree = tree_of(problem)
        expected = naive_tree(shop, tree, ub)
        total = gpu.explore(problem, tree, ub, all_optima=True)
        counted = total.counters.decomposed, total.counters.leaves
        assert counted == (len(expected.decomposed), len(expected.leaves))
        assert total.counters.closed.tolist() == expected.closed()


def test_given_jobs_are_before_and_after_the_pairs(gpu):
    rng = random.Random(7)
    for n_front, n_back in ((1, 0), (0, 2), (1, 1)):
        rows = random_shop(rng, 6 + n_front + n_back, 4, 40).times
        between, back = rows[n_front : n_front + 6], rows[n_front + 6 :]
        shop = TightFlowShop(
            between, depths=(1, 2, 3, 4), pairs=((0, 3), (1, 2)), front=rows[:n_front],
            back=back,
        )  # fmt: skip
        best, _ = shop.best_orders()
        tree = TreeOptions(bound=shop.bound)
        expected = naive_tree(shop, tree, best)
        total = gpu.explore(shop, tree, best)
        assert total.counters.closed.tolist() == expected.closed()


@pytest.mark.parametrize(("name", "ub", "bound", "decomposed"), TREES)
def test_counts_are_those_of_the_reference_engine(gpu, name, ub, bound, decomposed):
    if steals(gpu) and decomposed > 2000:
        pytest.skip("a node is a warp's work there: too many")
    problem = FlowShopProblem(taillard_instance(name), bound)
    total = gpu.explore(problem, tree_of(problem), ub)
    assert (total.counters.decomposed, total.counters.leaves) == (decomposed, 0)


def test_stops_donations_and_reloads_lose_nothing(gpu):
    """Paths of loaded roots are pruned by the same bounds on their way down."""
    name, ub, bound, decomposed = TREES[0]
    problem = FlowShopProblem(taillard_instance(name), bound)
    rng = random.Random(14)
    total, best, _ = churn(gpu, problem, tree_of(problem), ub, rng, slice_s=0.02)
    assert (total.decomposed, total.leaves, best) == (decomposed, 0, None)
