"""What the start heuristics find and leave of the time; which strategy is chosen."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import permutations
from threading import Event

import numpy as np
import pytest

from dpbb.errors import OptionError
from dpbb.estimation.sampling import Sampler
from dpbb.flowshop import FlowShopInstance, FlowShopProblem, taillard_instance
from dpbb.options import SolveOptions, Strategy
from dpbb.problem import StartSearch
from dpbb.progress import Progress
from dpbb.solving import start
from dpbb.solving.plan import Plan
from dpbb.solving.start import chosen_strategy, with_heuristics, with_rule
from tests.unit.solving.test_plan import ORDER, PROBLEM, plan_of

BEST_VALUE, BEST = min(
    (PROBLEM.evaluate(np.array(jobs)), jobs) for jobs in permutations(range(4))
)


class Clock:
    """A clock of its own, which goes on by a step whenever it is looked at."""

    def __init__(self, step=0.0):
        self.now, self.step = 0.0, step

    def monotonic(self):
        self.now += self.step
        return self.now


def test_cutoff_switches_the_heuristics_off():
    assert plan_of(heuristics="auto", cutoff=99).makespan is None
    assert plan_of(heuristics="neh", upper_bound=99).makespan is not None


def test_heuristics_announce_what_they_find():
    steps, shown = [], Progress()
    shown.incumbent = lambda *step: steps.append(step)
    options = SolveOptions(heuristic_time_s=0.1)
    problem = FlowShopProblem(taillard_instance("ta021"))
    plan = with_heuristics(
        Plan(problem, "ta021", options, time.monotonic()), StartSearch(), shown
    )
    found = [(step.seconds, step.value) for step in plan.trajectory]
    assert [(seconds, value) for seconds, value, _ in steps] == found
    assert plan.trajectory[-1].value == plan.makespan
    assert {bound for *_, bound in steps} == {plan.root_bound}
    assert not plan.proved


def hang_with(monkeypatch, clock):
    """Have the heuristics hang, as if they were compiled; returns what ends them."""
    release = Event()
    monkeypatch.setattr("dpbb.solving.start.time", clock)
    monkeypatch.setattr("dpbb.flowshop.heuristics.first.time", clock)
    monkeypatch.setattr(
        "dpbb.flowshop.heuristics.first.neh", lambda *_args: release.wait(60)
    )
    return release


def test_heuristics_that_are_compiled_leave_time_for_the_tree(monkeypatch):
    """On the first use after an installation ta111 had none left of 20 s."""
    clock = Clock(step=0.5)
    release = hang_with(monkeypatch, clock)
    plan = Plan(PROBLEM, "tiny", SolveOptions(time_limit_s=20), 0.0)
    plan = with_heuristics(plan, StartSearch())
    release.set()
    assert plan.makespan is not None
    assert 2 < plan.seconds_left(clock.now) < 6


def test_a_given_schedule_counts_though_there_is_no_time(monkeypatch):
    """It was lost, and the jobs in their own order taken for it."""
    release = hang_with(monkeypatch, Clock(step=0.5))
    for more in ({}, {"heuristics": "none"}):
        options = SolveOptions(time_limit_s=0.1, initial=BEST, **more)
        plan = with_heuristics(Plan(PROBLEM, "tiny", options, 0.0), StartSearch())
        assert (plan.makespan, plan.permutation) == (BEST_VALUE, BEST)
        assert plan.trajectory[0].source == "initial"
    release.set()


def test_a_tree_that_waits_ends_the_heuristics_unless_they_may_prove():
    """They go on beside it; with few machines beams prove more than trees."""
    many = FlowShopProblem(taillard_instance("ta021"))
    limit = SolveOptions(heuristic_time_s=1000.0)
    waiting = StartSearch(tree_waits=lambda: True)
    plan = with_heuristics(Plan(many, "ta021", limit, 0.0), waiting)
    assert plan.permutation is not None
    few = FlowShopProblem(taillard_instance("ta001"))
    limit = SolveOptions(heuristic_time_s=0.1)
    waiting = StartSearch(tree_waits=pytest.fail)
    with_heuristics(Plan(few, "ta001", limit, 0.0), waiting)


@pytest.mark.parametrize(
    ("options", "detached", "chosen", "why"),
    [
        ({"strategy": "from-below"}, False, Strategy.FROM_BELOW, ""),
        ({}, False, Strategy.INCUMBENT, ""),
        ({"strategy": "auto"}, False, Strategy.FROM_BELOW, "no schedule is known"),
        ({"strategy": "auto"}, True, Strategy.INCUMBENT, "nobody stays"),
        ({"strategy": "auto", "cutoff": 9}, False, Strategy.INCUMBENT, "in one tree"),
        (
            {"strategy": "auto", "all_optima": True, "initial": ORDER},
            *(False, Strategy.INCUMBENT, "in one tree"),
        ),
    ],
)
def test_without_an_estimate(options, detached, chosen, why):
    strategy, said = chosen_strategy(
        plan_of(**options), engine="cpu", detached=detached
    )
    assert strategy is chosen
    assert why in said
    assert bool(why) == bool(said)


@pytest.mark.parametrize(("host", "is_known"), [("127.0.0.1", True), ("far", False)])
def test_cores_of_this_machine_are_taken_for_no_gpu(host, is_known):
    """A campaign's cluster is of this machine; of others nothing is known."""
    where = {"scheduler": f"tcp://{host}:1", "engine": "cpu"}
    plan = plan_of(strategy="auto", initial=ORDER, **where)
    _, said = chosen_strategy(plan, engine=None, detached=False)
    assert ("H100" not in said) is is_known


def many_jobs(**options):
    problem = FlowShopProblem(taillard_instance("ta114"))
    return Plan(problem, "ta114", SolveOptions(**options), 0.0)


@pytest.mark.parametrize(
    ("jobs", "above", "is_below"), [(100, 0, True), (99, 0, False), (100, 1, False)]
)
def test_many_jobs_come_from_below_where_the_bound_is_near(
    monkeypatch, jobs, above, is_below
):
    """An estimate would say little; one that never comes is not waited for here."""
    monkeypatch.setattr(start, "WAIT_S", 0.0)
    shop = FlowShopInstance("shop", taillard_instance("ta081").times[:jobs])
    plan = plan_of(FlowShopProblem(shop), strategy="auto")
    known = plan.root_bound * 16 // 15 + above  # a sixteenth of it above the bound
    plan = replace(plan, makespan=known)
    strategy, said = chosen_strategy(plan, engine="cpu", detached=False)
    assert strategy == ("from-below" if is_below else "incumbent")
    assert ("explode" if is_below else "not there in time") in said


@pytest.mark.parametrize(
    ("cutoff", "given", "rule"),
    [
        (26456, {}, "minmin"),  # 4 nodes; not in minutes by maxsum
        (26456, {"branching": "maxsum"}, "maxsum"),
        (26454, {}, "maxsum"),  # no node by either rule
    ],
)
def test_of_many_jobs_the_rule_of_a_far_smaller_tree_is_taken(cutoff, given, rule):
    plan, why = with_rule(many_jobs(cutoff=cutoff, **given))
    assert plan.options.branching == rule
    assert bool(why) is (rule == "minmin")


def test_no_estimate_says_the_rule_of_few_jobs_or_of_no_tree(monkeypatch):
    monkeypatch.setattr("dpbb.estimation.sampling.chosen_rule", pytest.fail)
    for plan in plan_of(initial=ORDER), many_jobs():
        assert with_rule(plan) == (plan, "")


def test_an_estimate_that_does_not_fit_leaves_the_default(monkeypatch):
    def rounds(*_given, **_how):
        raise OptionError("samples: expected fewer")

    monkeypatch.setattr(Sampler, "rounds", rounds)
    plan, why = with_rule(many_jobs(cutoff=26456))
    assert (plan.options.branching, why) == ("maxsum", "")


def test_an_estimate_that_does_not_come_in_time_is_not_waited_for(monkeypatch):
    """Nothing interrupts a compiler: the limit holds all the same."""
    late = Event()

    def estimate(*_given, **_how):
        late.wait(60)

    monkeypatch.setattr("dpbb.estimation.estimating.estimate", estimate)
    monkeypatch.setattr(start, "WAIT_S", 0.1)
    plan = plan_of(strategy="auto", initial=ORDER)
    try:
        strategy, said = chosen_strategy(plan, engine="cpu", detached=False)
    finally:
        late.set()
    assert (strategy, said) == (
        Strategy.INCUMBENT,
        "the estimate of the tree was not there in time",
    )
