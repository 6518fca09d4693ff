import time

import numpy as np

from dpbb.flowshop import FlowShopInstance
from dpbb.flowshop.heuristics.search import Search, machine_times, random_state
from dpbb.problem import Incumbent

SHOP = FlowShopInstance("shop", np.array([[3, 2], [1, 4], [2, 2]]))


def test_random_streams_differ_and_repeat():
    states = [random_state(seed, stream)[0] for seed in (0, 1) for stream in (0, 1)]
    assert len(set(states)) == 4
    assert all(states)
    assert random_state(1, 1)[0] == states[3]


def test_times_of_kernels_are_machine_by_job():
    times = machine_times(Search(SHOP, 0))
    assert times.dtype == np.int32
    assert times.flags.c_contiguous
    assert times.tolist() == [[3, 1, 2], [2, 4, 2]]


def test_a_search_is_over_at_its_deadline_or_when_asked_to():
    assert not Search(SHOP, 0).over
    assert Search(SHOP, 0, deadline=time.monotonic()).over
    assert Search(SHOP, 0, should_stop=lambda: True).over


def test_the_latest_incumbent_is_ones_own_unless_there_is_a_better_one():
    own, better = (Incumbent(value, np.arange(3), "x") for value in (9, 8))
    assert Search(SHOP, 0).latest(own) is own
    assert Search(SHOP, 0, elsewhere=lambda: better).latest(own) is better
    assert Search(SHOP, 0, elsewhere=lambda: own).latest(better) is better
