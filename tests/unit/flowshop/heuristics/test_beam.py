import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.flowshop import FlowShopInstance, FlowShopProblem, taillard_instance
from dpbb.flowshop.bounds.lb1 import root_bound
from dpbb.flowshop.heuristics import beam as module
from dpbb.flowshop.heuristics.beam import beam
from dpbb.flowshop.heuristics.beam_kernels import ONE_SIDED, Candidates
from dpbb.flowshop.heuristics.search import Search
from dpbb.problem import Incumbent
from tests import oracle


def search(instance, **options):
    options.setdefault("deadline", time.monotonic() + 60)
    return Search(instance, root_bound(instance.times), **options)


@settings(max_examples=60)
@given(oracle.problems(max_jobs=7), st.randoms(use_true_random=False))
def test_uncut_beam_proves_the_optimum(tiny, random):
    """Seven jobs fit into the widest beam: the result is proved and optimal."""
    best, _ = oracle.best_orders(tiny.times)
    instance = FlowShopInstance("tiny", tiny.times)
    order = list(range(tiny.n_jobs))
    random.shuffle(order)
    start = Incumbent(tiny.evaluate(order), np.array(order), "initial")
    found = beam(search(instance), start)
    assert found.proved
    assert found.value == best == tiny.evaluate(found.permutation)


@settings(max_examples=60)
@given(oracle.problems(max_jobs=7), st.integers(1, 4))
def test_proof_is_never_claimed_for_less_than_the_optimum(tiny, width):
    best, _ = oracle.best_orders(tiny.times)
    instance = FlowShopInstance("tiny", tiny.times)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_CANDIDATES", width * tiny.n_jobs)
        found = beam(search(instance))
    assert found.value >= best
    if found.proved:
        assert found.value == best


@pytest.mark.parametrize(
    "name", ["ta001", "ta007", "ta019", "ta031", "ta035", "ta044", "ta070", "ta091"]
)
def test_optima_of_shops_with_few_machines_are_found_and_proved(name):
    instance = taillard_instance(name)
    found = beam(search(instance, threads=2))
    assert found.proved
    assert found.value == instance.best_known.upper_bound


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_OPERATIONS", 50)
    monkeypatch.setattr(module, "MAX_CANDIDATES", 20 * 64)
    instance = taillard_instance("ta021")
    runs = []
    for threads in (1, 3):
        found = []
        beam(search(instance, threads=threads, on_improvement=found.append))
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


@settings(max_examples=60)
@given(oracle.problems(max_jobs=6), st.data())
def test_expansion_gives_the_bounds_of_the_problem(tiny, data):
    """Bounds, fronts and backs along a random path are those of the oracle."""
    instance = FlowShopInstance("tiny", tiny.times)
    problem = FlowShopProblem(instance)
    beams = module._Beams(search(instance), None, problem.trivial_ub)
    level, state = beams._root(), problem.root_state()
    floor = problem.root_bound
    for depth in range(1, tiny.n_jobs):
        free = level.jobs[0].astype(np.intp)
        ub = data.draw(st.integers(1, problem.trivial_ub))
        sides = [
            np.maximum(problem.child_bounds(state, free, back=back), floor)
            for back in (False, True)
        ]
        alive = [int((side < ub).sum()) for side in sides]
        totals = [int(side[side < ub].sum()) for side in sides]
        back = (alive[1], -totals[1]) < (alive[0], -totals[0])
        found = beams._expand(level, depth, ub)
        assert found.job.tolist() == free[sides[back] < ub].tolist()
        assert found.bound.tolist() == sides[back][sides[back] < ub].tolist()
        assert set(found.side.tolist()) <= {int(back)}
        one_sided = state.suffix_empty if not back else state.prefix_empty
        assert all((guide >= ONE_SIDED) == one_sided for guide in found.guide)
        if not len(found.job):
            break
        row = data.draw(st.integers(0, len(found.job) - 1))
        level = beams._make(level, found.take(slice(row, row + 1)))
        state = problem.extend(state, int(found.job[row]), back=back)
        floor = int(found.bound[row])
        assert level.jobs[0].tolist() == [job for job in free if job != found.job[row]]
        assert level.sides[0].tolist() == [
            not state.prefix_empty,
            not state.suffix_empty,
        ]


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


@pytest.mark.parametrize("gap", [True, False])
def test_guide_is_that_of_the_source(gap):
    """Job 2 at the front, job 0 at the back; then job 1 or 3 at either."""
    times = [[3, 5, 2], [4, 1, 6], [2, 2, 3], [5, 3, 4]]
    instance = FlowShopInstance("x", times)
    beams = module._Beams(search(instance), None, 40)
    beams.gap = gap
    level = beams._root()
    one = np.zeros(1, np.int32)
    for job, side, bound in ((2, 0, 20), (0, 1, 21)):
        move = [np.full(1, value, np.int32) for value in (0, job, side, bound)]
        level = beams._make(level, Candidates(*move, one.astype(float)))
    ub, depth = 40, 3
    found = beams._expand(level, depth, ub)
    mirror = [row[::-1] for row in times]
    for job, side, bound, guide in zip(
        found.job, found.side, found.bound, found.guide, strict=True
    ):
        prefix = [2] if side else [2, job]
        suffix = [0, job] if side else [0]  # in the order of insertion
        weight = sum(
            idle / end
            for shop, order in ((times, prefix), (mirror, suffix))
            for idle, end in list(zip(*idle_times(shop, order), strict=True))[1:]
        )
        if gap:
            gamma = (ub - bound) / ub
            expected = bound / gamma + weight * gamma
        else:
            expected = 0.75 * bound + 0.25 * weight * bound
        assert math.isclose(guide, expected)
    assert len(found.job) == 2


def test_a_node_has_many_children():
    """A child is a copy: its parent may have other children."""
    instance = FlowShopInstance("x", [[1, 3], [2, 4], [2, 2]])
    beams = module._Beams(search(instance), None, 99)
    level = beams._root()
    before = [part.copy() for part in level]
    found = beams._expand(level, 1, 99)
    below = beams._make(level, found)
    assert below.jobs.tolist() == [[1, 2], [0, 2], [0, 1]]
    assert len(np.unique(below.nodes, axis=0)) == 3
    for part, was in zip(level, before, strict=True):
        np.testing.assert_array_equal(part, was)
