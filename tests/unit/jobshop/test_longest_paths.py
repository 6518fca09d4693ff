import numpy as np
import pytest

from dpbb.errors import InstanceError, OptionError
from dpbb.jobshop import layers, load, longest_paths
from dpbb.jobshop.graph import Graph
from dpbb.jobshop.instance import JobShopInstance
from tests.unit.jobshop.shops import SMALL, odd_shop, random_sequence

METHODS = ("floyd_warshall", "squaring")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(6))
def test_paths_from_the_artificial_vertex_are_the_ends(seed, method):
    shop = odd_shop(seed)  # with operations without a duration
    sequence = random_sequence(shop, np.random.default_rng(seed))
    paths = longest_paths(shop, sequence, method=method)
    graph = Graph.of(shop, sequence)
    assert paths[0, 1:].tolist() == (graph.heads() + shop.times).tolist()
    assert (paths[:, 0] == -1).all()
    assert (np.diag(paths) == -1).all()
    # no path to a last operation is longer than the tail of where it begins
    for v, tail in enumerate(graph.tails()):
        assert max(paths[v + 1].max(), 0) == tail


def test_both_methods_find_the_same():
    shop = load("ta01")
    sequence = random_sequence(shop, np.random.default_rng(1))
    one, other = (longest_paths(shop, sequence, method=name) for name in METHODS)
    assert one.tolist() == other.tolist()


def test_paths_of_unit_times_are_levels():
    """Theorem 1 of the paper: so long is the longest chain."""
    shop = odd_shop(4)
    unit = JobShopInstance.from_routes(
        [
            [(int(k), 1) for k in shop.machines[shop.first[j] : shop.first[j + 1]]]
            for j in range(shop.n_jobs)
        ],
        n_machines=shop.n_machines,
    )
    sequence = random_sequence(shop, np.random.default_rng(4))
    levels = layers(shop, sequence).level
    assert longest_paths(unit, sequence)[0, 1:].tolist() == (levels + 1).tolist()


def test_what_cannot_be_done_is_refused():
    sequence = [2, 0, 1, 0, 2, 1, 0, 1]
    with pytest.raises(OptionError, match="method: expected one of floyd_warshall"):
        longest_paths(SMALL, sequence, method="dijkstra")
    with pytest.raises(OptionError, match="or squaring on a CPU"):
        longest_paths(SMALL, sequence, method="blocked")
    with pytest.raises(OptionError, match="device: expected cpu or gpu"):
        longest_paths(SMALL, sequence, device="tpu")
    large = JobShopInstance.from_routes([[(0, 1)] * 30_000])
    with pytest.raises(InstanceError, match="at most 20,000 operations"):
        longest_paths(large, [0] * 30_000)
    with pytest.raises(InstanceError, match="cycle"):
        longest_paths(SMALL, [[0, 1], [1, 0, 2], [0, 2, 1]], "machine_orders")
