import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.heuristics.beam_cpu import CpuLevels
from dpbb.flowshop.heuristics.beam_levels import best_of, moves_of
from tests import oracle


def idle_times(times, order):
    """Idle time of every machine between 0 and its last job, and that job's end."""
    idle, ends = [0] * len(times[0]), [0] * len(times[0])
    for job in order:
        end = 0
        for machine, duration in enumerate(times[job]):
            idle[machine] += max(0, end - ends[machine])
            end = max(end, ends[machine]) + duration
            ends[machine] = end
    return idle, ends


def weight_of(times, prefix, suffix):
    """Weights of front and back by their definition."""
    mirror = [row[::-1] for row in times]
    return [
        sum(
            idle / max(end, 1)
            for idle, end in list(zip(*idle_times(shop, order), strict=True))[1:]
        )
        for shop, order in ((times, prefix), (mirror, suffix[::-1]))
    ]


@given(oracle.problems(max_jobs=7), st.data())
def test_the_first_level_has_the_ends_and_idle_times_of_its_jobs(tiny, data):
    order = data.draw(st.permutations(range(tiny.n_jobs)))
    first = data.draw(st.integers(0, tiny.n_jobs))
    last = data.draw(st.integers(0, tiny.n_jobs - first))
    prefix, suffix = order[:first], order[tiny.n_jobs - last :]
    problem = FlowShopProblem(FlowShopInstance("tiny", tiny.times))
    kept = moves_of(np.array(prefix, np.intp), np.array(suffix, np.intp))
    levels = CpuLevels(problem, kept, problem.trivial_ub)
    level, m = levels._first, len(tiny.times[0])
    assert level.used[0].tolist() == [first > 0, last > 0]
    free = order[first : tiny.n_jobs - last]
    assert level.jobs[0].tolist() == [sum(1 << job for job in free)]
    ends = level.nodes[0, : 2 * m].reshape(m, 2)
    mirror = [row[::-1] for row in tiny.times]
    for side, (shop, jobs) in enumerate(((tiny.times, prefix), (mirror, suffix[::-1]))):
        idle, expected = idle_times(shop, jobs)
        if jobs:
            assert ends[:, side].tolist() == expected
        assert level.idle[0, side].tolist() == idle
    expected = weight_of(tiny.times, prefix, suffix)
    np.testing.assert_allclose(level.weights[0], expected, rtol=1e-5)


def test_the_first_of_equal_keys_are_best():
    keys = np.array([5, 3, 4, 3, 4, 1, 4], np.int32)
    assert best_of(keys, 5).tolist() == [5, 1, 3, 2, 4]
    assert best_of(keys, 9).tolist() == [5, 1, 3, 2, 4, 6, 0]
    assert best_of(keys[:0], 3).tolist() == []
