import numpy as np
import pytest

from dpbb.errors import InstanceError, OptionError
from dpbb.jobshop import CyclicError, load, schedule
from dpbb.jobshop.solution import check_orders, criterion_of, orders_of_sequence
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


def test_orders_are_filled_up():
    rows = ([0, 1], [2, 0, 1], [2, 1, 0])
    for given in (rows, [*map(tuple, rows)], [*map(np.array, rows)]):
        assert check_orders(SMALL, given)[0].tolist() == [0, 1, -1]


BAD_SEQUENCES = {
    "short": ([0, 1, 2], "expected 8 jobs, one for every operation"),
    "no job": ([*SEQUENCE[:-1], 3], "place 7: expected a job from 0 to 2, got 3"),
    "negative": ([*SEQUENCE[:-1], -1], "place 7: expected a job"),
    "twice": ([*SEQUENCE[:-1], 2], "expected job 1 3 times, got 2 times"),
    "floats": ([0.5] * 8, "whole numbers"),
    "words": (["a"] * 8, "whole numbers"),
    "two": ([SEQUENCE, SEQUENCE], "shape"),
}


@pytest.mark.parametrize("case", BAD_SEQUENCES)
def test_bad_sequences_are_refused(case):
    given, message = BAD_SEQUENCES[case]
    with pytest.raises(InstanceError, match=message):
        schedule(SMALL, given)


BAD_ORDERS = {
    "one machine": ([[0, 1]], "a row for each of 3 machines"),
    "short": ([[0], [2, 0, 1], [2, 1, 0]], "machine 0: expected 2 jobs, got 1"),
    "long": ([[0, 1, 0], [2, 0, 1], [2, 1, 0]], "machine 0: expected 2 jobs, got 3"),
    "stranger": ([[0, 2], [2, 0, 1], [2, 1, 0]], "machine 0: expected job 1 1 times"),
    "no job": ([[0, 9], [2, 0, 1], [2, 1, 0]], "place 1: expected a job"),
}


@pytest.mark.parametrize("case", BAD_ORDERS)
def test_bad_orders_are_refused(case):
    given, message = BAD_ORDERS[case]
    with pytest.raises(InstanceError, match=message):
        schedule(SMALL, given, "machine_orders")


def test_the_operations_of_a_cycle_are_named():
    with pytest.raises(CyclicError, match="cycle: expected an order without") as error:
        schedule(SMALL, [[0, 1], [1, 0, 2], [0, 2, 1]], "machine_orders")
    cycle = error.value.cycle
    assert str(error.value).count("->") == len(cycle)
    followers = [*cycle[1:], cycle[0]]
    for v, w in zip(cycle, followers, strict=True):  # all are arcs
        same_machine = SMALL.machines[v] == SMALL.machines[w]
        assert w == v + 1 or same_machine


@pytest.mark.data
def test_independent_orders_are_cyclic(shared):
    shop = load("ft06", data_dir=shared / "data")
    rng = np.random.default_rng(1)
    for _ in range(20):
        orders = [rng.permutation(6) for _ in range(6)]
        with pytest.raises(CyclicError):
            schedule(shop, np.array(orders), "machine_orders")


def test_names_of_encodings_and_criteria_are_checked():
    with pytest.raises(OptionError, match="encoding: expected one of sequence"):
        schedule(SMALL, [[0]], "list")
    with pytest.raises(OptionError, match="criterion: expected one of makespan"):
        criterion_of("cmax", SMALL)
    with pytest.raises(OptionError, match="expected due dates"):
        criterion_of("weighted_tardiness", SMALL)
