import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.flowshop import FlowShopInstance, FlowShopProblem, taillard_instance
from dpbb.flowshop.heuristics import first_incumbent
from dpbb.flowshop.heuristics.plain import insertion, johnson, neh, palmer, plain_search
from dpbb.heuristics import Search
from dpbb.problem import StartSearch
from tests import oracle
from tests.parity.subject import shop_of


@st.composite
def sequences(draw):
    """Draw a shop with given ends, a sequence of some of its jobs and another job."""
    tiny = draw(oracle.with_given_ends(draw(oracle.problems(max_jobs=6))))
    jobs = draw(st.permutations(range(tiny.n_jobs)))
    length = draw(st.integers(0, len(jobs) - 1))
    return tiny, list(jobs[:length]), jobs[length]


@given(sequences())
def test_makespans_of_all_positions_are_those_of_the_naive_loop(case):
    tiny, jobs, job = case
    tried = insertion(shop_of(tiny, "lb1"), np.array(jobs, np.intp), job)
    assert tried.makespans.tolist() == [
        tiny.evaluate([*jobs[:position], job, *jobs[position:]])
        for position in range(len(jobs) + 1)
    ]


@settings(max_examples=20)
@given(oracle.problems(max_jobs=5))
def test_optimum_of_small_shops_is_found(tiny):
    best, _ = oracle.best_orders(tiny.times)
    problem = FlowShopProblem(FlowShopInstance("tiny", tiny.times))
    found = plain_search(Search(problem, best, time.monotonic() + 10))
    assert found.value == best == tiny.evaluate(found.permutation)
    if tiny.n_jobs > 1:
        assert found.proved


def test_incumbents_fall_and_a_limit_of_iterations_repeats_them():
    problem = FlowShopProblem(taillard_instance("ta051"))

    def run(seed):
        found = []
        last = plain_search(
            Search(problem, 0, seed=seed, iterations=200, on_improvement=found.append)
        )
        assert found[-1] is last
        return [(one.value, one.permutation.tolist()) for one in found]

    first = run(seed=5)
    values = [value for value, _ in first]
    assert values == sorted(set(values), reverse=True)
    assert values[-1] < neh(Search(problem, 0)).value
    assert run(seed=5) == first
    assert run(seed=6) != first


def test_a_better_start_is_kept_and_a_stop_ends_it():
    problem = FlowShopProblem(taillard_instance("ta001"))
    start = neh(Search(problem, 0))
    assert plain_search(Search(problem, 0, iterations=0), start) is start
    assert plain_search(Search(problem, 0, should_stop=lambda: True), start) is start


def search(problem, **options):
    return Search(problem, problem.root_bound, **options)


@settings(max_examples=50)
@given(oracle.problems(max_jobs=6))
def test_neh_gives_a_schedule_with_its_makespan(tiny):
    found = neh(search(FlowShopProblem(FlowShopInstance("tiny", tiny.times))))
    assert found.source == "neh"
    assert sorted(found.permutation.tolist()) == list(range(tiny.n_jobs))
    assert found.value == tiny.evaluate(found.permutation)
    best, _ = oracle.best_orders(tiny.times)
    assert found.value >= best
    if tiny.n_jobs <= 2:  # both orders are tried
        assert found.value == best
    if found.proved:
        assert found.value == best


def test_a_stop_ends_it_after_the_job_in_hand():
    """Without any schedule the jobs that are left follow in their order."""
    problem = FlowShopProblem(taillard_instance("ta101"))
    asked = []

    def third_time():
        asked.append(True)
        return len(asked) > 3

    stopped = Search(problem, 0, should_stop=third_time)
    cut = neh(stopped)
    assert len(asked) == 4
    assert sorted(cut.permutation) == list(range(200))
    order = np.argsort(-problem.times.sum(axis=1), kind="stable")
    assert cut.permutation[3:].tolist() == order[3:].tolist()
    assert neh(stopped, cut) is cut


def test_jobs_whose_times_grow_come_first():
    """Makespans and slopes by hand."""
    found = []
    shop = FlowShopInstance("shop", np.array([[3, 2], [1, 4], [2, 2]]))
    best = palmer(Search(FlowShopProblem(shop), 0, on_improvement=found.append))
    assert [(step.value, step.source) for step in found] == [
        (11, "own order"),
        (9, "palmer"),
    ]
    assert best is found[-1]
    assert best.permutation.tolist() == [1, 2, 0]
    assert palmer(Search(FlowShopProblem(shop), 0), best) is best


@given(oracle.problems(max_jobs=6, max_machines=2))
def test_its_schedule_is_the_best(tiny):
    found = johnson(
        Search(FlowShopProblem(FlowShopInstance("two", np.array(tiny.times))), 0)
    )
    assert found.value == oracle.best_orders(tiny.times)[0]
    assert found.proved


@pytest.mark.parametrize("equal", [False, True])
def test_two_machines_are_solved_at_the_root(equal):
    """Also with equal times on both machines, where trees are huge."""
    times = np.random.default_rng(3).integers(1, 100, (500, 2))
    if equal:
        times[:, 1] = times[:, 0]
    shop = FlowShopInstance("large", times)
    for method in ("auto", "neh", "beam"):
        found = first_incumbent(FlowShopProblem(shop), StartSearch(method=method))
        best = FlowShopProblem(shop).least_cost
        assert (found.value, found.proved) == (best, True)
        assert found.source == "johnson"


def test_a_start_as_good_as_the_best_is_kept():
    shop = FlowShopInstance("one", [[3], [5], [2]])
    found = first_incumbent(FlowShopProblem(shop), StartSearch(initial=[2, 0, 1]))
    assert found.permutation.tolist() == [2, 0, 1]
    assert found.proved
