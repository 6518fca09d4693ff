from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.flowshop.heuristics import insertion_lanes
from dpbb.flowshop.heuristics.insertion_lanes import LANES, NOBODY, Room, narrowest
from dpbb.kernels.compiling import int64
from dpbb.kernels.pointers import addresses, pointer_of, pointers
from tests import oracle
from tests.parity.subject import shop_of


@numba.njit
def _evaluate(room_in, lane, sequence, length, job, rng):
    """Cost of all slots for a job and for nobody; and one of its best moves."""
    room = pointers(room_in, lane)
    group, own = int64(room.group_of[job]), int64(room.lane_of[job])
    insertion_lanes.evaluate(room, pointer_of(sequence), length, group)
    costs = np.empty((length + 1, 2), np.int64)
    for s in range(length + 1):
        costs[s, 0] = room.costs[s * LANES + own]
        costs[s, 1] = room.costs[s * LANES + NOBODY]
    used = insertion_lanes.bit(own)
    least = insertion_lanes.least_cost(room, length, used)
    found = insertion_lanes.pick(room, length, used, least, pointer_of(rng))
    return least, costs, found, own


@numba.njit
def _evaluate_block(room_in, lane, sequence, length, block):
    room = pointers(room_in, lane)
    insertion_lanes.evaluate_block(
        room, pointer_of(sequence), length, pointer_of(block), int64(len(block))
    )
    costs = np.empty(length + 1, np.int64)
    for s in range(length + 1):
        costs[s] = room.costs[s * LANES + NOBODY]
    return costs


@numba.njit
def _local_search(room_in, lane, sequence, length, rng, stop):
    room = pointers(room_in, lane)
    return insertion_lanes.local_search(
        room, pointer_of(sequence), length, pointer_of(rng), pointer_of(stop)
    )


def room_of(tiny, dtype=np.int16):
    return Room.of(shop_of(tiny, "lb1"), dtype)


def state(seed=1):
    return np.array([seed], np.uint64)


def sequence_of(jobs, n_jobs):
    sequence = np.zeros(n_jobs + 1, np.int64)
    sequence[: len(jobs)] = jobs
    return sequence


@st.composite
def cases(draw):
    """Draw a shop with given ends, and a sequence of some of its jobs."""
    tiny = draw(oracle.with_given_ends(draw(oracle.problems(max_jobs=6))))
    jobs = draw(st.permutations(range(tiny.n_jobs)))
    length = draw(st.integers(0, len(jobs)))
    return tiny, list(jobs[:length]), list(jobs[length:])


@pytest.mark.parametrize("lanes", [3, LANES])
@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@settings(max_examples=60)
@given(cases(), st.integers(1, 1000))
def test_makespans_of_all_slots_are_those_of_the_naive_loop(lanes, dtype, case, seed):
    """Of jobs of the sequence, each taken out of it alone, and of others."""
    tiny, jobs, others = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(insertion_lanes, "GROUP_JOBS", lanes - 1)
        room = room_of(tiny, dtype)
    sequence, at = sequence_of(jobs, tiny.n_jobs), addresses(room)
    for job in (*jobs, *others):
        given = dtype(0), sequence, len(jobs), job, state(seed)
        least, costs, found, lane = _evaluate(at, *given)
        expected = []
        for s in range(len(jobs) + 1):
            rest = [one for one in jobs[:s] if one != job]
            after = [one for one in jobs[s:] if one != job]
            own = job in jobs and s - jobs.index(job) in (0, 1)
            value = room.largest if own else tiny.evaluate([*rest, job, *after])
            expected.append([value, tiny.evaluate(jobs)])
        assert costs.tolist() == expected
        assert least == min(value for value, _ in expected)
        assert found[0] == lane
        assert expected[found[1]][0] == least


@settings(max_examples=60)
@given(cases())
def test_makespans_of_blocks_are_those_of_the_naive_loop(case):
    tiny, jobs, block = case
    if not block:
        return
    room, sequence = room_of(tiny), sequence_of(jobs, tiny.n_jobs)
    costs = _evaluate_block(
        addresses(room), np.int16(0), sequence, len(jobs), np.array(block, np.int64)
    )
    assert costs.tolist() == [
        tiny.evaluate([*jobs[:s], *block, *jobs[s:]]) for s in range(len(jobs) + 1)
    ]


def test_of_equal_makespans_none_is_never_picked():
    """Two machines of no time: all makespans are equal."""
    room = room_of(oracle.TinyFlowShop(((0, 0),) * 5))
    sequence, rng, slots = sequence_of([0, 1, 2, 3], 5), state(3), set()
    for _ in range(100):
        given = addresses(room), np.int16(0), sequence, 4, 4, rng
        _, _, found, _ = _evaluate(*given)
        slots.add(found[1])
    assert slots == {0, 1, 2, 3, 4}


@settings(max_examples=60)
@given(cases(), st.integers(1, 1000))
def test_local_search_keeps_jobs_and_is_no_worse(case, seed):
    tiny, jobs, _ = case
    if not jobs:
        return
    room, sequence = room_of(tiny), sequence_of(jobs, tiny.n_jobs)
    given = np.int16(0), sequence, len(jobs), state(seed), np.zeros(1, np.int64)
    value = _local_search(addresses(room), *given)
    found = sequence[: len(jobs)].tolist()
    assert sorted(found) == sorted(jobs)
    assert value == tiny.evaluate(found) <= tiny.evaluate(jobs)


def test_the_narrowest_type_never_overflows():
    """Three jobs taken out and one that is tried, on top of the makespan, fit."""
    tiny = oracle.TinyFlowShop(((5, 1), (7, 2)))  # totals 6 and 9
    shop = shop_of(tiny, "lb1")
    assert narrowest(shop, 32767 - 36, 3) == (np.int16, 32767 - 36)
    assert narrowest(shop, 32767 - 35, 3) == (np.int32, 2**31 - 1)


def test_the_longest_times_of_all_are_searched_without_overflow():
    tiny = oracle.TinyFlowShop(((2**28, 1), (2**28, 2**27), (1, 2**28)))
    room, sequence = room_of(tiny, np.int32), sequence_of([0, 1, 2], 3)
    given = np.int32(0), sequence, 3, state(), np.zeros(1, np.int64)
    value = _local_search(addresses(room), *given)
    assert value == tiny.evaluate(sequence[:3].tolist())
    assert value == oracle.best_orders(tiny.times)[0]
