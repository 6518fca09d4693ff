import csv
import json

import numpy as np
import pytest

from dpbb.jobshop import JobShopInstance, layers, load, n5, schedule
from dpbb.jobshop.schedule import critical_exchanges
from dpbb.result.schedule import NONE
from tests.unit.jobshop.shops import (
    GOLDEN_ROWS,
    SMALL,
    golden_shop,
    odd_shop,
    random_sequence,
)

SEQUENCE = [2, 0, 1, 0, 2, 1, 0, 1]


def test_a_small_schedule_by_hand():
    found = schedule(SMALL, SEQUENCE)
    assert found.start.tolist() == [0, 4, 8, 3, 7, 8, 0, 4]
    assert found.makespan == 12
    assert found.machine_sequences() == [[0, 1], [2, 0, 1], [2, 1, 0]]
    assert found.critical_path() == (6, 7, 4, 5)
    assert found.cost("sum_completion") == 10 + 12 + 7
    assert str(found).splitlines()[0] == "machine 0      0:0-3  1:3-5"


@pytest.mark.parametrize("seed", range(6))
def test_a_critical_path_has_no_slack(seed):
    shop = odd_shop(seed)
    found = schedule(shop, random_sequence(shop, np.random.default_rng(seed)))
    path = list(found.critical_path())
    assert found.end[path[-1]] == found.makespan
    assert (found.start[path[1:]] == found.end[path[:-1]]).all()
    begin = found.start[path[0]]
    job = int(shop.jobs[path[0]])
    assert begin == 0 or (path[0] == shop.first[job] and begin == shop.release[job])


def test_files_have_every_operation(tmp_path):
    found = schedule(SMALL, SEQUENCE)
    found.write_csv(tmp_path / "out.csv")
    rows = list(csv.reader((tmp_path / "out.csv").read_text().splitlines()))
    assert rows[0] == ["job", "operation", "machine", "start", "end"]
    assert rows[5] == ["1", "1", "2", "7", "8"]
    values = json.loads(found.to_json())
    assert values["costs"] == {"makespan": 12, "sum_completion": 29}
    assert values["operations"][4]["start"] == 7
    assert values["critical_path"] == [6, 7, 4, 5]


@pytest.mark.parametrize("row", GOLDEN_ROWS)
def test_golden_layers(row):
    shop = golden_shop(row)
    sizes = np.bincount(layers(shop, row["sequence"]))
    assert len(sizes) == row["layers"]
    assert sizes.tolist() == row["layer_sizes"]
    found = schedule(shop, row["sequence"])
    assert found.makespan == row["cmax"]
    assert found.cost("sum_completion") == row["sum_c"]


@pytest.mark.parametrize("seed", range(6))
def test_layers_are_independent_and_as_early_as_can_be(seed):
    shop = odd_shop(seed)
    sequence = random_sequence(shop, np.random.default_rng(seed))
    found = layers(shop, sequence)
    before = schedule(shop, sequence).before
    for v, level in enumerate(found):
        waits = {int(u) for u in before[:, v]} - {NONE}
        assert level == max((found[u] + 1 for u in waits), default=0)


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
