import json

import numpy as np
import pytest

from dpbb.jobshop import layers, load
from dpbb.jobshop.graph import Graph
from dpbb.jobshop.longest_paths import arcs_matrix
from tests.unit.jobshop.shops import odd_shop, random_sequence


@pytest.mark.data
def test_golden_layers(shared):
    text = (shared / "golden" / "bounds_tabu_jobshop.json").read_text()
    for row in json.loads(text)["jsp"]:
        shop = load(row["inst"], data_dir=shared / "data")
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
    arcs = arcs_matrix(graph)[1:, 1:] >= 0
    for v, level in enumerate(found.level):
        before = np.flatnonzero(arcs[:, v])
        assert level == max((found.level[u] + 1 for u in before), default=0)
