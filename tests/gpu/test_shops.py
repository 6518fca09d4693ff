"""Flow shops with each objective and feature: counts of the reference on a device.

pytest -q tests/gpu/test_shops.py
python -m tests.bench.shops --engine gpu
"""

import numpy as np
import pytest

from dpbb.flowshop.shop import OBJECTIVES
from tests.unit.flowshop.shops import KINDS, each, random_shop
from tests.unit.flowshop.test_fixed import BACK, FRONT, drawn
from tests.unit.modeling.test_cpu import counted
from tests.unit.modeling.test_model import best_cost

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

SIZE = (6, 4)  # every size is compiled


def check(problem, best):
    """Trees below the optimum and below one more are those of the reference."""
    for ub in range(max(best, 1), best + 2):
        assert counted(problem, "gpu", ub) == counted(problem, "reference", ub)


@each
def test_counts_are_those_of_the_reference(gpu, kind, objective, released):
    rng = np.random.default_rng(1)
    for _ in range(3):
        problem, _ = random_shop(rng, kind, objective, released, SIZE)
        check(problem, best_cost(problem))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_given_ends_count_as_on_the_reference(gpu, kind, objective):
    shop, _, costs = drawn(kind, objective, len(kind))
    check(shop.with_ends(FRONT, BACK), int(costs.min()))
