"""What ``auto`` decides where no estimate is needed."""

from __future__ import annotations

import pytest

from dpbb.options import Strategy
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
