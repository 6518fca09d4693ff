"""What ``auto`` decides where no estimate is needed."""

from __future__ import annotations

from threading import Event

import pytest

from dpbb.errors import EngineUnavailable
from dpbb.options import Strategy
from dpbb.solving import strategy as module
from dpbb.solving.strategy import chosen_strategy
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
