"""Written CUDA headers explore the trees of their texts, node for node."""

import numpy as np
import pytest

from dpbb.options import SolveOptions
from dpbb.tree.branching import tree_of
from tests.models import KINDS, random_models
from tests.unit.modeling.test_cpu import counted
from tests.unit.modeling.test_model import best_cost

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_those_of_the_reference(gpu, kind):
    for seed in range(3):
        problem = random_models(np.random.default_rng(seed))[kind]
        ub = best_cost(problem) + 1
        tree = tree_of(problem, SolveOptions(), ub)
        expected = counted(problem, "reference", ub)
        found = gpu.explore(problem, tree, ub, all_optima=True)
        counters = found.counters
        assert expected == (
            counters.decomposed,
            counters.leaves,
            counters.closed.tolist(),
            {(leaf.value, *leaf.permutation.tolist()) for leaf in found.optima},
        )


def test_values_of_more_than_16_bits_take_32(gpu):
    problem = random_models(np.random.default_rng(0))["blocking"]
    wide = type(problem)(type(problem.instance)("large", problem.times * 3000))
    ub = best_cost(wide) + 1
    found = gpu.explore(wide, tree_of(wide, SolveOptions(), ub), ub, all_optima=True)
    expected = counted(wide, "reference", ub)
    assert found.counters.closed.tolist() == expected[2]
