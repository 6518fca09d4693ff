"""The critical path against all paths, and against its own definition."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbb.errors import DpbbError
from dpbb.plotting import critical_path
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
def test_it_is_the_longest_path_that_stays_on_machines_at_the_end(n, m, high, data):
    """Small times, zeros among them, make many paths equally long."""
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    times, order = rng.integers(0, high + 1, (n, m)), rng.permutation(n).tolist()
    schedule = schedule_of(times, order)
    lengths = {
        tuple(path): sum(times[order[position], machine] for position, machine in path)
        for path in all_paths(n, m)
    }
    assert max(lengths.values()) == schedule.makespan
    longest = [path for path, length in lengths.items() if length == schedule.makespan]
    # from the end: the same machine first, that is, the larger machine before
    expected = max(longest, key=lambda path: [machine for _, machine in path[::-1]])
    place = {job: position for position, job in enumerate(order)}
    found = critical_path(schedule)
    assert tuple((place[job], machine) for job, machine in found) == expected


def test_a_schedule_with_needless_waits_has_none():
    schedule = schedule_of([[3, 2], [1, 4]], [1, 0])
    start, end = schedule.start.copy(), schedule.end.copy()
    start[0, 1] += 1
    end[0, 1] += 1
    late = replace(schedule, start=start, end=end)
    with pytest.raises(
        DpbbError, match="job 0 on machine 1 to begin as soon as it can, at 5, got 6"
    ):
        critical_path(late)
