import time
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.errors import InvariantError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem, taillard_instance
from dpbb.flowshop.heuristics import beam_cpu
from dpbb.flowshop.heuristics.beam import BACK, Polish, Runs
from dpbb.flowshop.heuristics.beam_cpu import beam
from dpbb.heuristics import Search
from dpbb.problem import Incumbent
from tests import oracle
from tests.parity.beams import shop
from tests.parity.subject import shop_of


def search(problem, **options):
    options.setdefault("deadline", time.monotonic() + 60)
    return Search(problem, problem.root_bound, **options)


def start_at(problem, order=None):
    order = np.arange(problem.n_jobs) if order is None else np.array(order)
    return Incumbent(problem.evaluate(order), order, "initial")


@settings(max_examples=30)
@given(oracle.problems(max_jobs=7), st.randoms(use_true_random=False))
def test_uncut_beam_proves_the_optimum(tiny, random):
    """Seven jobs fit into the widest beam: the result is proved and optimal."""
    best, _ = oracle.best_orders(tiny.times)
    problem = FlowShopProblem(FlowShopInstance("tiny", tiny.times))
    order = list(range(tiny.n_jobs))
    random.shuffle(order)
    found = beam(search(problem), start_at(problem, order))
    assert found.proved
    assert found.value == best == tiny.evaluate(found.permutation)


@settings(max_examples=30)
@given(oracle.problems(max_jobs=7).flatmap(oracle.with_given_ends))
def test_with_given_ends_the_best_between_them_is_proved(tiny):
    problem = shop_of(tiny, "lb1")
    found = beam(Search(problem, 0), start_at(problem))
    assert found.proved
    assert found.value == tiny.best_orders()[0]


@pytest.mark.parametrize(
    "name",
    ["ta001", "ta007", "ta019", "ta031", "ta035", "ta044", "ta070", "ta091", "ta105"],
)
def test_optima_are_found_and_proved(name):
    problem = FlowShopProblem(taillard_instance(name))
    found = beam(search(problem, threads=2))
    assert found.proved
    assert found.value == problem.best_known.upper_bound


@settings(max_examples=60, deadline=None)
@given(oracle.problems(max_jobs=6), st.data())
def test_proofs_hold_whatever_the_start_and_the_limits(tiny, data):
    """Lower bounds that are given, schedules found elsewhere, a stop."""
    best, _ = oracle.best_orders(tiny.times)
    problem = FlowShopProblem(FlowShopInstance("tiny", tiny.times))
    order = data.draw(st.permutations(range(tiny.n_jobs)))
    elsewhere = start_at(problem, data.draw(st.permutations(range(tiny.n_jobs))))
    left = data.draw(st.integers(0, 40))
    asked = count(1)
    limited = Search(
        problem, data.draw(st.integers(0, best)), elsewhere=lambda: elsewhere,
        should_stop=lambda: next(asked) > left,
    )  # fmt: skip
    found = beam(limited, start_at(problem, order))
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
    problem = FlowShopProblem(taillard_instance("ta001"))
    with pytest.raises(InvariantError, match="makespan"):
        beam(Search(problem, 0), start_at(problem))


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(beam_cpu, "PIECE_OPERATIONS", 5_000)
    problem = FlowShopProblem(taillard_instance("ta021"))
    runs = []
    for threads in (1, 3):
        found = []
        one = search(
            problem, threads=threads, on_improvement=found.append, iterations=8
        )
        beam(one)
        runs.append([(one.value, one.permutation.tolist()) for one in found])
    assert runs[0] == runs[1]
    assert len(runs[0]) > 1


@pytest.mark.parametrize(("n_jobs", "both"), [(99, False), (100, True), (150, False)])
def test_guides_take_turns_from_width_to_width(monkeypatch, n_jobs, both):
    second = {}

    def failing(runs, width, target):
        second.setdefault(width, set()).add(bool(runs.levels.lack))
        return False

    monkeypatch.setattr(Runs, "run", failing)
    problem = FlowShopProblem(shop(n_jobs, 6))
    beam(Search(problem, 0), start_at(problem))
    assert [second[2**i] for i in range(4)] == [{False}, {both}] * 2


def test_limits_end_the_search():
    problem = FlowShopProblem(taillard_instance("ta051"))
    asked = count(1)
    assert not beam(search(problem, should_stop=lambda: next(asked) > 100)).proved
    assert 101 < next(asked) < 111
    assert not beam(search(problem, deadline=time.monotonic())).proved


def test_memory_limits_the_width(monkeypatch):
    monkeypatch.setattr(beam_cpu, "MEMORY", 2**16)
    assert not beam(search(FlowShopProblem(taillard_instance("ta021")))).proved


def moved(jobs):
    """Return the sequences with one of the jobs elsewhere."""
    return [
        [*rest[:place], jobs[old], *rest[place:]]
        for old in range(len(jobs))
        for rest in [jobs[:old] + jobs[old + 1 :]]
        for place in range(len(jobs))
    ]


@settings(max_examples=30, deadline=None)
@given(oracle.problems(max_jobs=7), st.data())
def test_nodes_become_schedules(tiny, data):
    """Whatever is missing; all jobs moved until that gives nothing any more.

    The last move may be to a place as good: from where it came none is better.
    """
    n_jobs = tiny.n_jobs
    order = data.draw(st.permutations(range(n_jobs)))
    depth = data.draw(st.integers(0, n_jobs))
    backs = data.draw(st.lists(st.booleans(), min_size=depth, max_size=depth))
    moves = [job + BACK * back for job, back in zip(order, backs, strict=False)]
    problem = FlowShopProblem(FlowShopInstance("tiny", tiny.times))
    polish = Polish(Search(problem, 0), tiny.evaluate(order))
    found = polish(np.array([moves], np.uint16))
    if depth == n_jobs:
        front = [m for m in moves if m < BACK]
        back = [m - BACK for m in moves if m >= BACK][::-1]
        assert found.pop(0).tolist() == front + back
    for one in found:
        jobs = one.tolist()
        assert sorted(jobs) == list(range(n_jobs))
        value = tiny.evaluate(jobs)
        same = [near for near in [jobs, *moved(jobs)] if tiny.evaluate(near) == value]
        assert max(min(map(tiny.evaluate, moved(near))) for near in same) >= value
    alone = polish(np.array([moves], np.uint16), alone=True)
    assert len(alone) == (depth == n_jobs)


def test_a_stop_ends_what_runs():
    problem = FlowShopProblem(taillard_instance("ta051"))
    search = Search(problem, 0, should_stop=lambda: True)
    polish = Polish(search, 4500)
    moves = np.arange(20, dtype=np.uint16)[np.newaxis].repeat(200, axis=0)
    assert len(polish(moves)) < 200
