from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.kernels.compiling import entry, int64
from dpbb.kernels.pointers import addresses, pointer_of, pointers
from dpbb.modeling import insertions
from dpbb.modeling.insertions import Room, narrowest
from dpbb.modeling.node_lanes import LANES
from tests import oracle
from tests.models import TotalCompletion, random_models
from tests.parity.subject import shop_of
from tests.quick import some_slow


@entry
def _evaluate(room_in, lane, sequence, length, job, rng):
    """Costs of all slots for a job, and one of its best slots."""
    room = pointers(room_in, lane)
    own, group = int64(job // room.n_groups), int64(job % room.n_groups)
    insertions.evaluate(room, pointer_of(sequence), int64(length), group)
    costs = np.empty(length + 1, np.int64)
    for s in range(length + 1):
        costs[s] = room.costs[s * LANES + own]
    used = insertions.bit(own)
    least = insertions.least_cost(room, int64(length), used)
    found = insertions.pick(room, int64(length), used, least, pointer_of(rng))
    return least, costs, found, own


@entry
def _local_search(room_in, lane, sequence, length, rng, stop):
    room = pointers(room_in, lane)
    return insertions.local_search(
        room, pointer_of(sequence), int64(length), pointer_of(rng), pointer_of(stop)
    )


def room_of(tiny, dtype=np.int16):
    return Room.of(shop_of(tiny, "lb1").as_text, dtype)


def state(seed=1):
    return np.array([seed], np.uint64)


def sequence_of(jobs, n_jobs):
    sequence = np.zeros(n_jobs + 1, np.int64)
    sequence[: len(jobs)] = jobs
    return sequence


def moved(jobs, job, slot):
    """Return a sequence with a job at a slot, which is out of it elsewhere."""
    rest = [one for one in jobs[:slot] if one != job]
    return [*rest, job, *(one for one in jobs[slot:] if one != job)]


@st.composite
def cases(draw):
    """Draw a shop with given ends, and a sequence of some of its jobs."""
    tiny = draw(oracle.with_given_ends(draw(oracle.problems(max_jobs=6))))
    jobs = draw(st.permutations(range(tiny.n_jobs)))
    length = draw(st.integers(0, len(jobs)))
    return tiny, list(jobs[:length]), list(jobs[length:])


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@settings(max_examples=60)
@given(cases(), st.integers(1, 1000))
def test_makespans_of_all_slots_are_those_of_the_naive_loop(dtype, case, seed):
    """Of jobs of the sequence, each taken out of it alone, and of others."""
    tiny, jobs, others = case
    room = room_of(tiny, dtype)
    sequence, at = sequence_of(jobs, tiny.n_jobs), addresses(room)
    for job in (*jobs, *others):
        given = dtype(0), sequence, len(jobs), job, state(seed)
        least, costs, found, lane = _evaluate(at, *given)
        expected = [tiny.evaluate(moved(jobs, job, s)) for s in range(len(jobs) + 1)]
        assert costs.tolist() == expected
        assert least == min(expected)
        assert found[0] == lane
        assert expected[found[1]] == least


@pytest.mark.parametrize(
    "kind", some_slow(["makespan", "blocking", "setups"], ["blocking", "setups"])
)
def test_any_model_whose_sides_join_is_searched_in_groups_of_jobs(kind):
    """With vectors, but setups have none."""
    problem = random_models(np.random.default_rng(1), n_jobs=40)[kind]
    dtype, _ = narrowest(problem, problem.trivial_ub, 1)
    room = Room.of(problem, dtype)
    assert (room.n_groups, room.size > 0) == ((40, False), (2, True))[kind != "setups"]
    jobs = np.random.default_rng(2).permutation(40).tolist()
    sequence = sequence_of(jobs, 40)
    for job in (jobs[0], jobs[17], jobs[-1]):
        given = dtype(0), sequence, 40, job, state()
        least, costs, found, lane = _evaluate(addresses(room), *given)
        rows = [moved(jobs, job, s) for s in range(41)]
        assert costs.tolist() == [problem.evaluate(row) for row in rows]
        assert found[0] == lane
        assert costs[found[1]] == least
    given = dtype(0), sequence, 40, state(), np.zeros(1, np.int64)
    value = _local_search(addresses(room), *given)
    assert sorted(sequence[:40]) == list(range(40))
    assert value == problem.evaluate(sequence[:40]) < problem.evaluate(jobs)


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
    if len(jobs) < 2:
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
    shop = shop_of(tiny, "lb1").as_text
    assert narrowest(shop, 32767 - 36, 3) == (np.int16, 32767 - 36)
    assert narrowest(shop, 32767 - 35, 3) == (np.int32, 2**31 - 1)


def test_a_sum_needs_room_for_all_permutations(monkeypatch):
    """A job put in delays all that follow."""
    problem = TotalCompletion(np.full((30, 2), 50))
    monkeypatch.setattr(problem, "largest", lambda ub: ub)
    assert narrowest(problem, 25_000, 2) == (np.int32, 2**31 - 1)


def test_the_longest_times_of_all_are_searched_without_overflow():
    tiny = oracle.TinyFlowShop(((2**28, 1), (2**28, 2**27), (1, 2**28)))
    room, sequence = room_of(tiny, np.int32), sequence_of([0, 1, 2], 3)
    given = np.int32(0), sequence, 3, state(), np.zeros(1, np.int64)
    value = _local_search(addresses(room), *given)
    assert value == tiny.evaluate(sequence[:3].tolist())
    assert value == oracle.best_orders(tiny.times)[0]
