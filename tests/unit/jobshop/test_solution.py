import numpy as np
import pytest

from dpbb.jobshop import CyclicError, schedule
from dpbb.jobshop.solution import orders_of_sequence
from tests.unit.jobshop.shops import SMALL, odd_shop, random_sequence

SEQUENCE = [2, 0, 1, 0, 2, 1, 0, 1]


def test_the_ith_appearance_of_a_job_is_its_ith_operation():
    orders = orders_of_sequence(SMALL, np.array(SEQUENCE))
    assert orders.tolist() == [[0, 1, -1], [2, 0, 1], [2, 1, 0]]


@pytest.mark.parametrize("seed", range(5))
def test_all_encodings_of_a_solution_have_one_schedule(seed):
    shop = odd_shop(seed)
    sequence = random_sequence(shop, np.random.default_rng(seed))
    orders = orders_of_sequence(shop, sequence)
    starts = schedule(shop, sequence).start.tolist()
    assert schedule(shop, orders, "machine_orders").start.tolist() == starts


def test_the_operations_of_a_cycle_are_named():
    with pytest.raises(CyclicError, match="cycle: expected an order without") as error:
        schedule(SMALL, [[0, 1], [1, 0, 2], [0, 2, 1]], "machine_orders")
    cycle = error.value.cycle
    assert str(error.value).count("->") == len(cycle)
    followers = [*cycle[1:], cycle[0]]
    for v, w in zip(cycle, followers, strict=True):  # all are arcs
        same_machine = SMALL.machines[v] == SMALL.machines[w]
        assert w == v + 1 or same_machine
