"""Every engine refuses, by its name, a rule or a bound that it does not know."""

from dataclasses import replace

import pytest

from dpbb.engines import get_engine
from dpbb.engines.base import Device
from dpbb.errors import EngineUnavailable
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import BranchingRule, TreeOptions
from dpbb.tree.branching import refusal, rules_of
from tests.oracle import RULES
from tests.waiting import WaitingJobs

SHOP = FlowShopProblem(FlowShopInstance("tiny", [[3, 9], [8, 1], [4, 4]]))
FRONT = WaitingJobs((1, 2), (1, 1), (9, 9), (frozenset(),) * 2, ("front",))
ENGINES = pytest.mark.parametrize("name", ["reference", "cpu", "gpu", "pool"])

REFUSED = pytest.mark.parametrize(
    ("tree", "named"),
    [
        (TreeOptions(bound="lb9"), "lb9"),
        (TreeOptions(branching="sideways"), "sideways"),
        (TreeOptions(branching="minmin"), "'minmin'"),  # a text is no rule
        (TreeOptions(BranchingRule.MINBRANCH), "needs a branching_ub"),
        (TreeOptions(root_order=(0, 1)), "root_order"),
        (TreeOptions(root_order=(0, 1, 1)), "root_order"),
    ],
)


@ENGINES
@REFUSED
def test_a_tree_that_nobody_knows_is_refused(name, tree, named):
    engine = get_engine(name)
    assert named in engine.supports(SHOP, tree)
    with pytest.raises(EngineUnavailable):  # a gpu may not be there at all
        engine.open(SHOP, tree, Device("cpu", "here"))


@ENGINES
def test_the_bound_of_the_tree_is_that_of_the_problem(name):
    """A tree of LB1 under the name of a stronger bound would be a false certificate."""
    other = replace(SHOP)
    object.__setattr__(other, "bound", "lb2")
    engine = get_engine(name)
    assert "lb1" in engine.supports(other, TreeOptions())
    assert engine.supports(SHOP, TreeOptions()) is None


def test_a_rule_of_a_side_that_the_problem_has_not_is_refused():
    assert rules_of(FRONT) == (BranchingRule.FRONT,)
    assert rules_of(SHOP) == RULES
    assert refusal(FRONT, TreeOptions(BranchingRule.FRONT)) is None
    for rule in set(BranchingRule) - {BranchingRule.FRONT}:
        reason = refusal(FRONT, TreeOptions(rule, branching_ub=3))
        assert reason == (
            f"branching: expected front for waiting-jobs, got {str(rule)!r}"
        )


@ENGINES
def test_engines_ask_for_the_sides(name):
    assert get_engine(name).supports(FRONT, TreeOptions()) is not None
