"""Models that are texts: counts of the CPU engine on a device, and rates to read.

pytest -q -s tests/gpu/test_models.py
dpbb bench gpu --trees blocking-5 blocking-20 --balance explode --limit-s 20
"""

import numpy as np
import pytest

from dpbb.flowshop.family import read_problem
from tests.models import KINDS, random_models
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
