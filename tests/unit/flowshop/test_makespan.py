import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpbb.flowshop.makespan import (
    append_job,
    longest_makespan,
    makespan,
    makespans,
    prepend_job,
    schedule,
)
from tests import oracle


@st.composite
def shops_and_orders(draw):
    times = draw(oracle.problems()).times
    return np.array(times), draw(st.permutations(range(len(times))))


@given(shops_and_orders())
def test_makespan_is_that_of_the_naive_loop(case):
    times, order = case
    expected = oracle.makespan(times.tolist(), order)
    assert makespan(times, order) == expected
    assert makespan(times, order) <= longest_makespan(times)


@given(shops_and_orders())
def test_schedule_overlaps_on_no_machine_and_no_job(case):
    times, order = case
    start, end = schedule(times, order)
    assert (end - start == times).all()
    assert (start >= 0).all()
    assert (start[:, 1:] >= end[:, :-1]).all()
    assert (start[order[1:]] >= end[order[:-1]]).all()
    # semi-active: every operation starts at 0 or when its machine or its job is free
    for position, job in enumerate(order):
        for machine in range(times.shape[1]):
            before = [0]
            if position:
                before.append(end[order[position - 1], machine])
            if machine:
                before.append(end[job, machine - 1])
            assert start[job, machine] == max(before)


@given(shops_and_orders(), st.data())
def test_front_and_back_of_a_cut_give_the_makespan(case, data):
    """A complete schedule is as long as its longest front + back over machines."""
    times, order = case
    cut = data.draw(st.integers(0, len(order)))
    front = back = np.zeros(times.shape[1], np.int64)
    for job in order[:cut]:
        front = append_job(front, times[job])
    for job in reversed(order[cut:]):
        back = prepend_job(back, times[job])
    assert (front + back).max() == makespan(times, order)


def test_many_makespans_at_a_time():
    rng = np.random.default_rng(7)
    times = rng.integers(0, 99, (6, 4))
    rows = np.array([rng.permutation(6) for _ in range(50)])
    zero = np.zeros(times.shape[1], np.int64)
    assert makespans(times, rows, zero, zero).tolist() == [
        makespan(times, row) for row in rows
    ]
    assert makespans(times, rows[:0], zero, zero).tolist() == []
