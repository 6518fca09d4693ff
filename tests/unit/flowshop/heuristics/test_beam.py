import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.errors import InvariantError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem, taillard_instance
from dpbb.flowshop.bounds.lb1 import root_bound
from dpbb.flowshop.heuristics import beam_cpu
from dpbb.flowshop.heuristics.beam import BACK, Polish
from dpbb.flowshop.heuristics.beam_cpu import beam
from dpbb.flowshop.heuristics.search import Search
from dpbb.problem import Incumbent
from tests import oracle


def search(instance, **options):
    options.setdefault("deadline", time.monotonic() + 60)
    return Search(instance, root_bound(instance.times), **options)


def start_at(instance, order=None):
    order = np.arange(instance.n_jobs) if order is None else np.array(order)
    return Incumbent(FlowShopProblem(instance).evaluate(order), order, "initial")


@settings(max_examples=30)
@given(oracle.problems(max_jobs=7), st.randoms(use_true_random=False))
def test_uncut_beam_proves_the_optimum(tiny, random):
    """Seven jobs fit into the widest beam: the result is proved and optimal."""
    best, _ = oracle.best_orders(tiny.times)
    instance = FlowShopInstance("tiny", tiny.times)
    order = list(range(tiny.n_jobs))
    random.shuffle(order)
    found = beam(search(instance), start_at(instance, order))
    assert found.proved
    assert found.value == best == tiny.evaluate(found.permutation)


def test_beams_that_keep_jobs_prove_nothing():
    """The best schedule with these ends is 11 (by hand: there is no other), not 9."""
    instance = FlowShopInstance("tiny", np.array([[3, 2], [1, 4], [2, 2]]))
    found = beam(search(instance, kept=(2, 0)), start_at(instance))
    assert (found.value, found.proved) == (11, False)


@settings(max_examples=30)
@given(oracle.problems(max_jobs=7), st.integers(1, 3))
def test_proof_is_never_claimed_for_less_than_the_optimum(tiny, runs):
    best, _ = oracle.best_orders(tiny.times)
    instance = FlowShopInstance("tiny", tiny.times)
    found = beam(search(instance, iterations=runs), start_at(instance))
    assert found.value >= best
    if found.proved:
        assert found.value == best


@settings(max_examples=30)
@given(oracle.problems(max_jobs=7), st.data())
def test_kept_jobs_stay_and_the_rest_is_best(tiny, data):
    """An uncut beam finds the best schedule with these ends; of others it says none."""
    instance = FlowShopInstance("tiny", tiny.times)
    n_jobs = tiny.n_jobs
    first = data.draw(st.integers(0, n_jobs))
    last = data.draw(st.integers(0, n_jobs - first))
    order = data.draw(st.permutations(range(n_jobs)))
    start = start_at(instance, order)
    found = beam(Search(instance, 0, kept=(first, last)), start)
    inner = order[first : n_jobs - last]
    best = min(
        tiny.evaluate([*order[:first], *middle, *order[n_jobs - last :]])
        for middle in oracle.permutations(inner)
    )
    assert found.value == best
    assert found.permutation[:first].tolist() == order[:first]
    assert found.permutation[n_jobs - last :].tolist() == order[n_jobs - last :]
    assert found.proved == (first == last == 0)


@pytest.mark.parametrize(
    "name",
    ["ta001", "ta007", "ta019", "ta031", "ta035", "ta044", "ta070", "ta091", "ta105"],
)
def test_optima_are_found_and_proved(name):
    instance = taillard_instance(name)
    found = beam(search(instance, threads=2))
    assert found.proved
    assert found.value == instance.best_known.upper_bound


@settings(max_examples=60, deadline=None)
@given(oracle.problems(max_jobs=6), st.data())
def test_proofs_hold_whatever_the_start_and_the_limits(tiny, data):
    """Lower bounds that are given, schedules found elsewhere, a stop."""
    best, _ = oracle.best_orders(tiny.times)
    instance = FlowShopInstance("tiny", tiny.times)
    order = data.draw(st.permutations(range(tiny.n_jobs)))
    elsewhere = start_at(instance, data.draw(st.permutations(range(tiny.n_jobs))))
    left = data.draw(st.integers(0, 40))
    asked = []

    def should_stop():
        asked.append(True)
        return len(asked) > left

    limited = Search(
        instance,
        data.draw(st.integers(0, best)),
        should_stop=should_stop,
        elsewhere=lambda: elsewhere,
    )
    found = beam(limited, start_at(instance, order))
    assert found.value == tiny.evaluate(found.permutation) >= best
    if found.proved:
        assert found.value == best


def test_a_wrong_bound_is_no_proof(monkeypatch):
    """A bound that is not the makespan of what is complete would make false proofs."""
    run = beam_cpu.CpuLevels.run

    def wrong(*how):
        found = run(*how)
        return found._replace(value=found.value and found.value + 1)

    monkeypatch.setattr(beam_cpu.CpuLevels, "run", wrong)
    instance = taillard_instance("ta001")
    with pytest.raises(InvariantError, match="makespan"):
        beam(Search(instance, 0), start_at(instance))


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(beam_cpu, "PIECE_OPERATIONS", 5_000)
    instance = taillard_instance("ta021")
    runs = []
    for threads in (1, 3):
        found = []
        one = search(
            instance, threads=threads, on_improvement=found.append, iterations=8
        )
        beam(one)
        runs.append([(one.value, one.permutation.tolist()) for one in found])
    assert runs[0] == runs[1]
    assert len(runs[0]) > 1


def test_limits_end_the_search():
    instance = taillard_instance("ta051")
    asked = []

    def should_stop():
        asked.append(True)
        return len(asked) > 100

    assert not beam(search(instance, should_stop=should_stop)).proved
    assert 100 < len(asked) < 110
    assert not beam(search(instance, deadline=time.monotonic())).proved


def test_memory_limits_the_width(monkeypatch):
    monkeypatch.setattr(beam_cpu, "MEMORY", 2**16)
    assert not beam(search(taillard_instance("ta021"))).proved


def moved(jobs, first, last):
    """Return the sequences with one of the jobs from first to last elsewhere there."""
    return [
        [*rest[:place], jobs[old], *rest[place:]]
        for old in range(first, last)
        for rest in [jobs[:old] + jobs[old + 1 :]]
        for place in range(first, last)
    ]


@settings(max_examples=30, deadline=None)
@given(oracle.problems(max_jobs=7), st.data())
def test_nodes_become_schedules_with_the_kept_ends(tiny, data):
    """Whatever is missing; all jobs moved until that gives nothing any more.

    The last move may be to a place as good: from where it came none is better.
    """
    n_jobs = tiny.n_jobs
    order = data.draw(st.permutations(range(n_jobs)))
    first = data.draw(st.integers(0, n_jobs))
    last = data.draw(st.integers(0, n_jobs - first))
    inner = order[first : n_jobs - last]
    depth = data.draw(st.integers(0, len(inner)))
    backs = data.draw(st.lists(st.booleans(), min_size=depth, max_size=depth))
    moves = [job + BACK * back for job, back in zip(inner, backs, strict=False)]
    search = Search(FlowShopInstance("tiny", tiny.times), 0, kept=(first, last))
    start = Incumbent(tiny.evaluate(order), np.array(order), "initial")
    polish = Polish(search, start)
    found = polish(np.array([moves], np.uint16))
    prefix = order[:first] + [m for m in moves if m < BACK]
    suffix = [m - BACK for m in moves if m >= BACK][::-1] + order[n_jobs - last :]
    if depth == len(inner):
        assert found.pop(0).tolist() == prefix + suffix
    for one in found:
        jobs = one.tolist()
        assert sorted(jobs) == list(range(n_jobs))
        assert jobs[:first] == order[:first]
        assert jobs[n_jobs - last :] == order[n_jobs - last :]
        same = [
            near
            for near in [jobs, *moved(jobs, first, n_jobs - last)]
            if tiny.evaluate(near) == tiny.evaluate(jobs)
        ]
        assert any(
            min(map(tiny.evaluate, moved(near, first, n_jobs - last)), default=0)
            >= tiny.evaluate(jobs)
            for near in same
        )
    alone = polish(np.array([moves], np.uint16), alone=True)
    assert len(alone) == (depth == len(inner))


def test_a_stop_ends_what_runs():
    instance = taillard_instance("ta051")
    search = Search(instance, 0, should_stop=lambda: True)
    polish = Polish(search, Incumbent(4500, np.arange(50), "initial"))
    moves = np.arange(20, dtype=np.uint16)[np.newaxis].repeat(200, axis=0)
    assert len(polish(moves)) < 200
