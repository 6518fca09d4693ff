import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbb.flowshop.heuristics import insertion
from tests import oracle


def kernel(tiny):
    return np.ascontiguousarray(np.array(tiny.times, np.int32).T)


def state(seed=1):
    return np.array([seed], np.uint64)


def running():
    return np.zeros(1, np.uint8)


@st.composite
def sequences(draw):
    """Draw a shop, a sequence of some of its jobs and another job."""
    tiny = draw(oracle.problems(max_jobs=6))
    jobs = draw(st.permutations(range(tiny.n_jobs)))
    length = draw(st.integers(0, len(jobs) - 1))
    return tiny, list(jobs[:length]), jobs[length]


def room(jobs, n_jobs):
    sequence = np.zeros(n_jobs, np.int32)
    sequence[: len(jobs)] = jobs
    return sequence


@given(sequences(), st.integers(1, 1000))
def test_makespans_of_all_positions_are_those_of_the_naive_loop(case, seed):
    tiny, jobs, job = case
    times, sequence = kernel(tiny), room(jobs, tiny.n_jobs)
    scratch = insertion.workspace(*times.shape)
    value = insertion.fill_tables(times, sequence, len(jobs), scratch)
    assert value == tiny.evaluate(jobs)
    insertion.insertion_makespans(times, len(jobs), job, scratch)
    expected = [
        tiny.evaluate([*jobs[:position], job, *jobs[position:]])
        for position in range(len(jobs) + 1)
    ]
    assert scratch[3][: len(jobs) + 1].tolist() == expected
    least, position = insertion.best_insertion(
        times, sequence, len(jobs), job, state(seed), scratch
    )
    assert least == min(expected) == expected[position]


@given(sequences(), st.integers(0, 10))
def test_insert_and_remove_are_those_of_lists(case, position):
    tiny, jobs, job = case
    position = min(position, len(jobs))
    sequence = room(jobs, tiny.n_jobs)
    insertion.insert(sequence, len(jobs), position, job)
    longer = [*jobs[:position], job, *jobs[position:]]
    assert sequence[: len(longer)].tolist() == longer
    assert insertion.remove(sequence, len(longer), position) == job
    assert sequence[: len(jobs)].tolist() == jobs


@given(sequences(), st.integers(1, 1000))
def test_local_search_gives_a_sequence_of_the_same_jobs_that_is_no_worse(case, seed):
    tiny, jobs, _ = case
    times, sequence = kernel(tiny), room(jobs, tiny.n_jobs)
    before = tiny.evaluate(jobs)
    scratch = insertion.workspace(*times.shape)
    search = times, sequence, len(jobs), before, state(seed), running(), scratch
    value = insertion.local_search(*search)
    found = sequence[: len(jobs)].tolist()
    assert sorted(found) == sorted(jobs)
    assert value == tiny.evaluate(found) <= before


def test_local_search_ends_where_no_reinsertion_is_better():
    """So it is here; an equal move might open a way that the pass has gone by."""
    for seed in range(1, 20):
        values = np.random.default_rng(seed).permutation(1 << 16)[:18].reshape(6, 3)
        tiny = oracle.TinyFlowShop(tuple(map(tuple, values.tolist())))
        times, sequence = kernel(tiny), np.arange(6, dtype=np.int32)
        before = tiny.evaluate(range(6))
        scratch = insertion.workspace(3, 6)
        search = times, sequence, 6, before, state(seed), running(), scratch
        value = insertion.local_search(*search)
        found = sequence.tolist()
        for job in found:
            rest = [other for other in found if other != job]
            for position in range(6):
                moved = [*rest[:position], job, *rest[position:]]
                assert tiny.evaluate(moved) >= value


def test_local_search_stops_at_once_with_the_sequence_intact():
    times = np.array([[3, 1, 2], [1, 3, 2]], np.int32)
    sequence = np.array([0, 1, 2], np.int32)
    stop = np.ones(1, np.uint8)
    scratch = insertion.workspace(2, 3)
    value = insertion.local_search(times, sequence, 3, 99, state(), stop, scratch)
    assert value == 99
    assert sequence.tolist() == [0, 1, 2]


@pytest.mark.parametrize("limit", [1, 2, 7, 1000])
def test_random_numbers_are_below_their_limit_and_spread(limit):
    rng = state(12345)
    values = [insertion.random_below(rng, limit) for _ in range(4000)]
    assert min(values) >= 0
    assert max(values) < limit
    assert abs(np.mean(values) - (limit - 1) / 2) < 0.05 * limit
    if limit <= 7:
        assert set(values) == set(range(limit))


def test_shuffle_reaches_every_order():
    rng = state(7)
    orders = set()
    for _ in range(200):
        values = np.arange(4, dtype=np.int32)
        insertion.shuffle(values, 3, rng)
        assert values[3] == 3
        orders.add(tuple(values[:3].tolist()))
    assert len(orders) == 6
