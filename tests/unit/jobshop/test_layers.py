import numpy as np
import pytest

from dpbb.jobshop import layers
from dpbb.jobshop.graph import NONE, Graph
from tests.unit.jobshop.shops import GOLDEN_ROWS, golden_shop, odd_shop, random_sequence


@pytest.mark.parametrize("row", GOLDEN_ROWS)
def test_golden_layers(row):
    shop = golden_shop(row)
    found = layers(shop, row["sequence"])
    assert found.depth == row["layers"]
    assert found.sizes.tolist() == row["layer_sizes"]
    ends = found.start + shop.times
    assert ends.max() == row["cmax"]
    assert ends[shop.first[1:] - 1].sum() == row["sum_c"]


@pytest.mark.parametrize("seed", range(6))
def test_layers_are_independent_and_as_early_as_can_be(seed):
    shop = odd_shop(seed)
    sequence = random_sequence(shop, np.random.default_rng(seed))
    found = layers(shop, sequence)
    graph = Graph.of(shop, sequence)
    assert found.start.tolist() == graph.heads().tolist()
    for v, level in enumerate(found.level):
        before = {int(graph.job_before[v]), int(graph.machine_before[v])} - {NONE}
        assert level == max((found.level[u] + 1 for u in before), default=0)
