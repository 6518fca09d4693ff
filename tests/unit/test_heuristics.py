"""Heuristics of any problem, on problems that bring none of their own."""

from __future__ import annotations

import time
from itertools import permutations

import numpy as np
import pytest

import dpbb
from dpbb.errors import InstanceError, OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.heuristics import METHODS, OwnHeuristic, heuristics_of
from dpbb.options import Heuristics, SolveOptions
from dpbb.problem import NO_CHILD, Incumbent, StartSearch
from dpbb.testing import LawError, check_heuristic
from tests.models import swaps
from tests.oracle import TinyFlowShop

HERE = {"workers": 0, "verbosity": "quiet"}
TIMES = np.random.default_rng(3).integers(1, 30, (7, 4))
SHOP = FlowShopProblem(FlowShopInstance("seven", TIMES))


class Costs:
    """Place costs, from one side alone; ``pairs``: jobs that wait for others.

    ``strict``: whether ``evaluate`` knows of that, too.
    """

    name = "place-costs"
    digest = "0"

    def __init__(self, n_jobs, pairs=(), side="front", strict=True, seed=0):
        self.n_jobs, self.pairs, self.strict = n_jobs, pairs, strict
        self.sides = (side,)
        self.costs = np.random.default_rng(seed).integers(0, 99, (n_jobs, n_jobs))
        self.trivial_ub = 99 * n_jobs + 1
        self.evaluated = 0

    def root_state(self):
        return 0, 0

    def child_bounds(self, state, jobs, *, back):
        bounds = state[0] + self.costs[jobs, self.place(state, back)]
        for first, then in self.pairs:
            if (then if back else first) in jobs:
                bounds[jobs == (first if back else then)] = NO_CHILD
        return bounds

    def place(self, state, back):
        assert back == ("back" in self.sides)  # the other side is never asked for
        return self.n_jobs - 1 - state[1] if back else state[1]

    def extend(self, state, job, *, back):
        return state[0] + self.costs[job, self.place(state, back)], state[1] + 1

    def exists(self, order):
        order = list(order)
        return all(order.index(a) < order.index(b) for a, b in self.pairs)

    def evaluate(self, permutation):
        self.evaluated += 1
        if self.strict and not self.exists(permutation):
            raise ValueError("a job is before one that it waits for")
        return int(self.costs[permutation, np.arange(self.n_jobs)].sum())

    def best(self):
        orders = filter(self.exists, permutations(range(self.n_jobs)))
        return min(self.costs[order, range(self.n_jobs)].sum() for order in orders)


class Batched(Costs):
    def evaluate_all(self, permutations):
        return np.array([self.evaluate(one) for one in permutations])


def found_by(problem, method="ig", **limits):
    """Result of a search, and all that it announced."""
    steps = []
    search = StartSearch(method, on_improvement=steps.append, **limits)
    return heuristics_of(problem).first_incumbent(search), steps


def test_a_problem_keeps_its_own(monkeypatch):
    assert heuristics_of(SHOP) is SHOP
    assert heuristics_of(Costs(3)).heuristics == METHODS
    monkeypatch.setattr(Costs, "evaluate", lambda _, order: np.mean(order))
    with pytest.raises(InstanceError, match="expected a whole number"):
        found_by(Costs(3))


@pytest.mark.parametrize("side", ["front", "back"])
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("kind", [Costs, Batched])
def test_they_find_the_best_order_that_there_is(kind, side, strict):
    for seed in range(4):
        problem = kind(6, ((0, 1), (4, 1)), side, strict, seed)
        found, steps = found_by(problem, iterations=400, time_limit_s=60)
        assert problem.exists(found.permutation)
        assert found.value == problem.costs[found.permutation, range(6)].sum()
        values = [step.value for step in steps]
        assert values == sorted(set(values), reverse=True)
        assert values[-1] == found.value
        assert not strict or found.value == problem.best()


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("side", ["front", "back"])
def test_a_tree_after_them_proves_the_optimum(side, strict):
    """Though ``evaluate`` may have costs of orders that do not exist."""
    for seed in range(6):
        problem = Costs(6, ((0, 1), (4, 1), (2, 5)), side, strict, seed)
        result = dpbb.solve(problem, **HERE)
        assert result.status is dpbb.Status.OPTIMAL
        assert problem.exists(result.permutation)
        assert result.makespan == problem.best()
        assert str(result.options.branching) == side


def test_insertions_improve_on_any_start():
    problem = Costs(30)
    first, _ = found_by(problem, Heuristics.NONE, initial=range(30))
    neh, _ = found_by(problem, "neh", initial=range(30))
    ig, _ = found_by(problem, "ig", iterations=300)
    assert first.source == "initial"
    assert ig.value <= neh.value < first.value


def test_with_iterations_a_search_can_be_repeated():
    one, two = (found_by(Costs(12), iterations=60, seed=5)[0] for _ in range(2))
    assert (one.value, one.permutation.tolist()) == (
        two.value,
        two.permutation.tolist(),
    )


def test_a_proved_permutation_ends_it():
    problem = Costs(8)
    found, _ = found_by(problem, time_limit_s=60, lower_bound=99 * 8)
    assert found.proved
    assert problem.evaluated <= 2


@pytest.mark.parametrize("limits", [{"time_limit_s": 0.3}, {"end": 0.3}])
def test_a_slow_problem_has_one_in_time(limits):
    class Slow(Costs):
        def evaluate(self, permutation):
            time.sleep(0.01)
            return super().evaluate(permutation)

    began = time.monotonic()
    if "end" in limits:
        limits = {"end": began + limits["end"]}
    found, _ = found_by(Slow(40), **limits)
    assert isinstance(found, Incumbent)
    assert time.monotonic() - began < 0.3 + 0.5


def test_a_stop_ends_it():
    problem = Costs(40)
    found_by(problem, time_limit_s=60, should_stop=lambda: problem.evaluated > 30)
    assert problem.evaluated < 60


@pytest.mark.parametrize(
    ("method", "more"),
    [("beam", {}), ("ig", {"device": "gpu"}), ("ig", {"initial": (1, 0, 2)})],
)
def test_what_it_cannot_do_is_refused(method, more):
    with pytest.raises(OptionError):
        found_by(Costs(3, ((0, 1),)), method, **more)


def test_a_problem_without_any_order_has_none():
    problem = Costs(3, ((0, 1), (1, 2), (2, 0)))
    assert found_by(problem) == (None, [])
    assert dpbb.solve(problem, **HERE).makespan is None


@pytest.mark.parametrize("times", [((3, 1),), ((3, 1), (2, 4))])
def test_one_job_and_two(times):
    own = TinyFlowShop(times)
    assert found_by(own)[0].value == own.best_orders()[0]


# -- functions that users give ---------------------------------------------------------


def orders(problem, rng, seconds):
    while True:
        yield rng.permutation(problem.n_jobs)


def test_a_heuristic_is_a_function_that_returns_a_permutation_or_yields_some():
    best = dpbb.solve(SHOP, **HERE)
    given = {"heuristics": lambda *_: best.permutation, "gap_limit": 0.9, **HERE}
    result = dpbb.solve(SHOP, **given)
    assert [step.value for step in result.trajectory] == [best.makespan]
    assert result.trajectory[0].source == "<lambda>"
    drawn = [dpbb.heuristic("ta021", orders, iterations=9, seed=s) for s in (1, 1, 2)]
    assert drawn[0].makespan == drawn[1].makespan
    assert drawn[0].permutation == drawn[1].permutation != drawn[2].permutation


def test_who_yields_is_stopped_in_time_and_by_the_lower_bound():
    began = time.monotonic()
    dpbb.solve("ta021", heuristics=orders, heuristic_time_s=0.3, node_limit=1, **HERE)
    dpbb.heuristic("ta021", orders, should_stop=lambda: True)
    assert time.monotonic() - began < 9  # heuristics may take 10 s
    result = dpbb.heuristic([[4], [5], [6]], orders)
    assert (result.status, result.makespan) == ("optimal", 15)


def test_what_is_given_otherwise_counts_too():
    initial = dpbb.solve("ta021", heuristics="neh", node_limit=1, **HERE).permutation
    found = dpbb.heuristic("ta021", orders, initial=initial, iterations=3)
    assert found.permutation == initial
    called = []
    dpbb.solve(SHOP, heuristics=lambda *about: called.append(about), cutoff=9, **HERE)
    assert called == []  # there is no search before a cutoff's tree


@pytest.mark.parametrize(
    ("gives", "expected"),
    [
        (None, "expected a sequence of jobs, got None"),
        ([0, 1, 2, 3, 4, 5, 5], "expected every job once"),
        ([[0, 1, 2, 3, 4, 5, 6]], "expected 7 jobs|expected a whole number"),
        (iter([]), "expected a permutation, got none"),
    ],
)
def test_what_is_no_permutation_is_told(gives, expected):
    def mine(problem, rng, seconds):
        return gives

    with pytest.raises(LawError, match=rf"law 11 .*heuristic mine: .*{expected}"):
        check_heuristic(mine, SHOP)


def test_a_permutation_that_does_not_exist_is_told():
    for strict in (True, False):
        problem = Costs(4, ((1, 0),), strict=strict)
        with pytest.raises(OptionError, match=r"before|after"):
            dpbb.solve(problem, heuristics=lambda *_: [0, 1, 2, 3], **HERE)
    found = check_heuristic(swaps, SHOP, seconds=0.2)
    assert found.value == SHOP.evaluate(found.permutation)


def test_only_calls_take_a_function():
    with pytest.raises(OptionError, match="name of a heuristic"):
        SolveOptions(heuristics=swaps)
    search = StartSearch(time_limit_s=0.0)
    assert OwnHeuristic(SHOP, swaps).first_incumbent(search) is None
