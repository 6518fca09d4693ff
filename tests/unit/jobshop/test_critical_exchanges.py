import numpy as np
import pytest

from dpbb.jobshop import JobShopInstance, load, n5, schedule
from dpbb.jobshop.critical_exchanges import critical_exchanges
from tests.unit.jobshop.shops import odd_shop, random_sequence


@pytest.mark.parametrize("seed", range(8))
def test_neighbours_cost_what_their_schedules_say(seed):
    shop = odd_shop(seed) if seed % 2 else load(f"ta{seed + 1:02d}")
    sequence = random_sequence(shop, np.random.default_rng(seed))
    found = n5(shop, sequence, "sequence")
    assert found.schedule.makespan == schedule(shop, sequence).makespan
    for move in range(len(found)):
        neighbour = schedule(shop, found.orders(move), "machine_orders")
        assert found.makespans[move] == neighbour.makespan
        u, v = found.operations[move]
        ends = neighbour.end
        assert ends[v] <= neighbour.start[u]
    if seed == 0:
        assert len(found) > 2


def test_exchanges_are_those_of_the_ends_of_blocks():
    class Shop:
        machines = np.array([0, 0, 0, 1, 1, 1, 1, 2, 3, 3, 3])
        jobs = np.arange(11)
        release = np.zeros(11)

    moves = critical_exchanges(Shop, tuple(range(11)))
    assert moves.tolist() == [[1, 2], [3, 4], [5, 6], [8, 9]]
    assert critical_exchanges(Shop, (0, 1, 2)).tolist() == []  # one block: optimal


def test_behind_a_release_date_the_first_block_has_two_ends():
    """What begins there may have kept jobs waiting that were there before."""
    shop = JobShopInstance.from_routes([[(0, 5)], [(0, 5)]], release=[10, 0])
    found = n5(shop, [0, 1], "sequence")
    assert (found.schedule.makespan, found.makespans.tolist()) == (20, [15])


def test_no_neighbour_is_cyclic_though_operations_take_no_time():
    n_fewer = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        shop = JobShopInstance.from_routes(
            [
                [(int(k), int(rng.integers(0, 2))) for k in rng.permutation(3)]
                for _ in range(5)
            ]
        )
        found = n5(shop, rng.permutation(shop.jobs), "sequence")
        path = found.schedule.critical_path()
        n_fewer += len(found) < len(critical_exchanges(shop, path))
        assert (found.makespans >= 0).all()
        for move in range(len(found)):
            orders = found.orders(move)
            assert schedule(shop, orders, "machine_orders").makespan >= 0
    assert n_fewer
