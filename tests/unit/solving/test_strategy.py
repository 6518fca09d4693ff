"""What ``auto`` decides where no estimate is needed."""

from __future__ import annotations

from threading import Event

import pytest

from dpbb.errors import EngineUnavailable
from dpbb.estimation.cascades import Choice
from dpbb.flowshop import FlowShopInstance
from dpbb.options import Strategy
from dpbb.problem import bound_of
from dpbb.solving import strategy as module
from dpbb.solving.call import make_call
from dpbb.solving.strategy import bound_for, chosen_strategy
from tests.unit.solving.test_plan import ORDER, plan_of


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


def test_an_estimate_that_does_not_come_in_time_is_not_waited_for(monkeypatch):
    """Nothing interrupts a compiler: the limit holds all the same."""
    late = Event()

    def estimate(*_given, **_how):
        late.wait(60)

    monkeypatch.setattr("dpbb.estimation.estimating.estimate", estimate)
    monkeypatch.setattr(module, "WAIT_S", 0.1)
    plan = plan_of(strategy="auto", initial=ORDER)
    try:
        strategy, said = chosen_strategy(plan, engine="cpu", detached=False)
    finally:
        late.set()
    assert (strategy, said) == (
        Strategy.INCUMBENT,
        "the estimate of the tree was not there in time",
    )


def test_what_goes_wrong_with_an_estimate_is_raised(monkeypatch):
    def estimate(*_given, **_how):
        raise EngineUnavailable("no engine")

    monkeypatch.setattr("dpbb.estimation.estimating.estimate", estimate)
    with pytest.raises(EngineUnavailable, match="no engine"):
        chosen_strategy(
            plan_of(strategy="auto", initial=ORDER), engine="cpu", detached=False
        )


def test_the_bound_that_is_chosen_is_that_of_the_run(monkeypatch):
    choice = Choice("cascade:1-3:0-1", "it is faster")
    monkeypatch.setattr(
        "dpbb.estimation.cascades.chosen_bound", lambda *_, **__: choice
    )
    shop = FlowShopInstance("shop", [[3, 9, 2], [8, 1, 5], [4, 4, 6], [2, 7, 7]])
    call = make_call(shop, None, None, {"bound": "auto", "cutoff": 29}, "none")
    assert bound_of(call.problem) == "lb1"
    call.engine = "cpu"
    spec = call.plan().spec(0.0, "cpu")
    assert spec.tree.bound == bound_of(spec.problem) == choice.bound


def test_of_devices_that_are_not_known_the_bound_is_lb1():
    choice = bound_for(plan_of(bound="auto"), engine=None, ready=lambda: False)
    assert choice.bound == "lb1"
    assert "not known" in choice.why


@pytest.mark.parametrize(
    ("ready", "tree_s", "chosen"),
    [(False, 0.0, "lb2"), (True, 0.0, "lb1"), (True, 1e9, "lb2")],
)
def test_a_choice_is_waited_for_while_it_costs_little(
    monkeypatch, ready, tree_s, chosen
):
    """While a cluster starts, and then for a share of the time of LB1's tree."""
    asked, ended = Event(), Event()

    def chosen_bound(*_, on_estimate, **__):
        on_estimate(tree_s)
        (ended if chosen == "lb1" else asked).wait(60)
        return Choice("lb2", "")

    def is_ready():
        asked.set()
        return ready

    monkeypatch.setattr("dpbb.estimation.cascades.chosen_bound", chosen_bound)
    plan = plan_of(bound="auto", initial=ORDER)
    found = bound_for(plan, engine="cpu", ready=is_ready)
    ended.set()
    assert found.bound == chosen
