"""The critical path against all paths, and against its own definition."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbb
from dpbb.plotting.gantt_chart import bars_of
from tests.unit.plotting.samples import schedule_of


def all_paths(n_jobs, n_machines):
    """Every monotone path of (position, machine) from the first to the last one."""
    steps = n_jobs + n_machines - 2
    for changes in combinations(range(steps), n_machines - 1):
        position = machine = 0
        path = [(0, 0)]
        for step in range(steps):
            machine += step in changes
            position += step not in changes
            path.append((position, machine))
        yield path


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 4), st.data())
def test_it_is_a_longest_path_that_stays_with_jobs_at_the_end(n, m, high, data):
    """Small times, zeros among them, make many paths equally long."""
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    times, order = rng.integers(0, high + 1, (n, m)), rng.permutation(n).tolist()
    schedule = schedule_of(times, order)
    found = [divmod(bar, m) for bar in bars_of(schedule)[0].critical]
    assert sum(times[order[at], machine] for at, machine in found) == schedule.makespan
    # what ends last may be followed by operations that take no time
    assert np.ravel_multi_index(found[-1], (n, m)) == schedule.end[order].argmax()
    at, machine = found[-1]
    longest = [
        path
        for path in all_paths(at + 1, machine + 1)
        if sum(times[order[one], on] for one, on in path) == schedule.makespan
    ]
    # from the end: the same job first, that is, the smaller machine before
    assert found == min(longest, key=lambda path: [on for _, on in path[::-1]])


FEATURES = {
    "blocking": lambda _: {"blocking": True},
    "buffers": lambda _: {"buffers": "1,0"},
    "set-ups": lambda rng: {"setups": rng.integers(0, 2, (4, 4)).tolist()},
    "lags": lambda rng: {"lags": rng.integers(0, 2, (4, 2)).tolist()},
    "ovens": lambda _: {"unlimited": [1]},
}


@pytest.mark.parametrize("feature", FEATURES)
def test_what_is_marked_makes_the_schedule_longer(feature):
    """With features few schedules have a path; a longer operation shows it."""
    rng = np.random.default_rng(1)
    marked = 0
    for _ in range(60):
        times, order = rng.integers(0, 5, (4, 3)), rng.permutation(4).tolist()
        how = FEATURES[feature](rng)
        schedule = dpbb.FlowShop(times, **how).schedule(order)
        for bar in bars_of(schedule)[0].critical:
            longer = times.copy()
            longer[order[bar // 3], bar % 3] += 1
            late = dpbb.FlowShop(longer, **how).schedule(order)
            assert late.makespan > schedule.makespan
            marked += 1
    assert marked


def test_a_schedule_with_needless_waits_has_none():
    schedule = schedule_of([[3, 2], [1, 4]], [1, 0])
    start, end = schedule.start.copy(), schedule.end.copy()
    start[0, 1] += 1
    end[0, 1] += 1
    assert bars_of(replace(schedule, start=start, end=end))[0].critical == ()
