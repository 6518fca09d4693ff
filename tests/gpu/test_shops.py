"""Flow shops with each objective and feature: counts of the reference on a device.

pytest -q tests/gpu/test_shops.py
python -m tests.bench.shops --engine gpu
"""

import numpy as np
import pytest

from tests.unit.flowshop import test_features, test_shop
from tests.unit.modeling.test_cpu import counted
from tests.unit.modeling.test_model import best_cost

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

SIZE = (6, 4)  # every size is compiled


def check(problem):
    """Trees below the optimum and below one more are those of the reference."""
    best = best_cost(problem)
    for ub in range(max(best, 1), best + 2):
        assert counted(problem, "gpu", ub) == counted(problem, "reference", ub)


@test_shop.each
def test_dates_weights_and_blocking(gpu, objective, released, blocking):
    rng = np.random.default_rng(1)
    for _ in range(3):
        check(test_shop.random_shop(rng, objective, released, blocking, SIZE))


@test_features.each
def test_set_ups_lags_buffers_ovens(gpu, kind, objective, released):
    rng = np.random.default_rng(1)
    for _ in range(3):
        problem, _ = test_features.random_shop(rng, kind, objective, released, SIZE)
        check(problem)
