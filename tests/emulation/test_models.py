"""Written CUDA headers explore the trees of their texts, node for node."""

from itertools import pairwise

import numpy as np
import pytest

import dpbb
from dpbb.options import SolveOptions
from dpbb.tree.branching import tree_of
from tests.emulation.support import steals
from tests.intervals import unit_between
from tests.models import KINDS, Turns, random_models
from tests.quick import some_slow
from tests.unit.flowshop.shops import check_engine, each, random_shop
from tests.unit.flowshop.test_fixed import BACK, FRONT, drawn
from tests.unit.modeling.test_cpu import SLOW, counted
from tests.unit.modeling.test_model import best_cost

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("kind", some_slow(KINDS, {*SLOW} - {"own search"}))
def test_counts_are_those_of_the_reference(gpu, kind):
    for seed in range(3):
        problem = random_models(np.random.default_rng(seed))[kind]
        ub = best_cost(problem) + 1
        assert counted(problem, "reference", ub) == on_gpu(gpu, problem, ub)


def test_values_of_more_than_16_bits_take_32(gpu):
    problem = random_models(np.random.default_rng(0))["blocking"]
    wide = dpbb.FlowShop(problem.times * 3000, blocking=True)
    ub = best_cost(wide) + 1
    found = gpu.explore(wide, tree_of(wide, SolveOptions(), ub), ub, all_optima=True)
    expected = counted(wide, "reference", ub)
    assert found.counters.closed.tolist() == expected[2]


@pytest.mark.parametrize(
    ("kind", "objective", "released"),
    [
        ("blocking", "max-tardiness", True),
        ("", "weighted-completion", True),
        ("", "total-tardiness", False),
    ],
)
def test_flow_shops_count_as_on_the_reference(gpu, kind, objective, released):
    def explored(problem, ub):
        return on_gpu(gpu, problem, ub)

    check_engine(kind, objective, released, explored, range(2))


def test_ranges_end_with_the_jobs_left(gpu):
    problem = Turns(np.random.default_rng(8).integers(1, 20, 8))
    ub = problem.bound_of(problem.root_state()) + 1
    assert counted(problem, "reference", ub) == on_gpu(gpu, problem, ub)


@pytest.mark.parametrize(
    ("kind", "objective"),
    [("setups", "makespan"), ("", "total-tardiness"), ("", "weighted-late-jobs")],
)
def test_given_ends_count_as_on_the_reference(gpu, kind, objective):
    shop, _, costs = drawn(kind, objective, 0)
    problem, ub = shop.with_ends(FRONT, BACK), int(costs.min()) + 1
    assert counted(problem, "reference", ub) == on_gpu(gpu, problem, ub)


@pytest.mark.slow
@each
def test_every_flow_shop_counts_as_on_the_reference(gpu, kind, objective, released):
    test_flow_shops_count_as_on_the_reference(gpu, kind, objective, released)


@pytest.mark.parametrize("objective", ["total-completion", "total-tardiness"])
def test_parts_of_trees_of_sums_are_the_whole(gpu, objective):
    """Roots that come as paths have the bounds that they had as children."""
    rng = np.random.default_rng(5)
    problem, _ = random_shop(rng, "", objective, True, (6, 3))
    ub = best_cost(problem) + 1
    decomposed, leaves, *_ = counted(problem, "reference", ub)
    tree, n_leaves = tree_of(problem, SolveOptions(), ub), 720
    cuts = [0, *sorted(rng.integers(0, n_leaves, 6)), n_leaves]
    units = [unit_between(6, *ends) for ends in pairwise(cuts)]
    parts = [
        gpu.explore(problem, tree, ub, unit, all_optima=True).counters for unit in units
    ]
    assert decomposed > 6
    assert sum(part.decomposed for part in parts) == decomposed
    assert sum(part.leaves for part in parts) == leaves


@pytest.mark.parametrize(
    ("objective", "n_jobs", "seed"),
    [
        ("total-completion", 32, 1),
        ("total-completion", 64, 1),
        ("total-tardiness", 33, 2),
    ],
)
def test_sets_of_jobs_fill_one_word_or_two(gpu, objective, n_jobs, seed):
    if steals(gpu):
        pytest.skip("children are bounded one by one there")
    rng = np.random.default_rng(seed)
    problem, _ = random_shop(rng, "", objective, False, (n_jobs, 2))
    ub = problem.bound_of(problem.root_state()) + 4
    expected = counted(problem, "reference", ub)
    assert expected[0] > 30
    assert on_gpu(gpu, problem, ub) == expected


def on_gpu(gpu, problem, ub):
    tree = tree_of(problem, SolveOptions(), ub)
    found = gpu.explore(problem, tree, ub, all_optima=True)
    counters = found.counters
    optima = {(leaf.value, *leaf.permutation.tolist()) for leaf in found.optima}
    return counters.decomposed, counters.leaves, counters.closed.tolist(), optima
