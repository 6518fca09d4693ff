import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpbb.flowshop.heuristics.plain import after, heads_and_tails, insertion
from dpbb.flowshop.makespan import append_job, completion_times
from tests import oracle


@st.composite
def sequences(draw):
    """Draw a shop, a sequence of some of its jobs and another job."""
    tiny = draw(oracle.problems(max_jobs=6))
    jobs = draw(st.permutations(range(tiny.n_jobs)))
    length = draw(st.integers(0, len(jobs) - 1))
    return tiny, list(jobs[:length]), jobs[length]


def kernel(tiny):
    return np.ascontiguousarray(np.array(tiny.times, np.int32).T)


@given(sequences())
def test_makespans_of_all_positions_are_those_of_the_naive_loop(case):
    tiny, jobs, job = case
    tried = insertion(kernel(tiny), np.array(jobs, np.intp), job)
    expected = [
        tiny.evaluate([*jobs[:position], job, *jobs[position:]])
        for position in range(len(jobs) + 1)
    ]
    assert tried.makespans.tolist() == expected
    for position in range(len(jobs) + 1):
        order = [*jobs[:position], job]
        ends = completion_times(np.array(tiny.times, np.int64), order)
        assert tried.ends[:, position].tolist() == ends[-1].tolist()


@given(sequences())
def test_heads_are_ends_and_tails_are_heads_in_reverse(case):
    tiny, jobs, _ = case
    times = np.array(tiny.times, np.int64)
    head, tail = heads_and_tails(kernel(tiny), np.array(jobs, np.intp))
    assert not head[:, 0].any()
    assert not tail[:, -1].any()
    ends = completion_times(times, jobs)
    assert head[:, 1:].T.tolist() == ends.tolist()
    starts = completion_times(times[:, ::-1], jobs[::-1])
    assert tail[::-1, :-1].T[::-1].tolist() == starts.tolist()


def test_fronts_are_those_of_the_definition():
    rng = np.random.default_rng(1)
    fronts, jobs = rng.integers(0, 50, (2, 4, 6)).astype(np.int32)
    expected = append_job(fronts.T.astype(np.int64), jobs.T.astype(np.int64))
    assert after(fronts, jobs).T.tolist() == expected.tolist()
    one = append_job(fronts.T.astype(np.int64), jobs[:, 0].astype(np.int64))
    assert after(fronts, jobs[:, :1]).T.tolist() == one.tolist()
