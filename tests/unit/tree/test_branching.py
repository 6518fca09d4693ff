from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbb.errors import InstanceError, OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import BranchingRule, SolveOptions, TreeOptions
from dpbb.problem import NO_CHILD, kinds_of
from dpbb.tree.branching import (
    bound_children,
    choose_back,
    fixed_side,
    refusal,
    tree_of,
)
from tests.oracle import RULES, takes_back

MINMIN, MINBRANCH = BranchingRule.MINMIN, BranchingRule.MINBRANCH
MAXSUM, BEST = BranchingRule.MAXSUM, (2, 0, 3, 1)


@pytest.mark.parametrize(
    ("rule", "front", "back", "branching_ub", "expected"),
    [
        (MINMIN, [5, 9, 9], [5, 5, 9], None, False),  # 5 occurs once in the front set
        (MINMIN, [5, 5, 9], [5, 9, 9], None, True),
        (MINMIN, [6, 6, 6], [5, 9, 9], None, False),  # 5 does not occur there at all
        (MINBRANCH, [5, 6, 9], [5, 9, 9], 9, True),  # fewer below 9
        (MAXSUM, [5, 6], [5, 7], None, True),
        (MAXSUM, [5, 6], [NO_CHILD, 7], None, False),  # in no sum
        (MINMIN, [5, 6], [NO_CHILD] * 2, None, True),  # there is nothing in this node
    ],
)
def test_choose_back(rule, front, back, branching_ub, expected):
    arrays = np.array(front), np.array(back)
    assert choose_back(rule, *arrays, 0, branching_ub) is expected


@pytest.mark.parametrize(("n_jobs", "rule"), [(199, MINMIN), (200, MAXSUM)])
def test_the_default_depends_on_the_number_of_jobs(n_jobs, rule):
    shop = FlowShopProblem(FlowShopInstance("shop", np.ones((n_jobs, 2), np.int64)))
    assert tree_of(shop, SolveOptions(), 500).branching is rule
    assert tree_of(shop, SolveOptions(branching="front"), 500).branching == "front"


def test_minbranch_needs_a_value_to_compare_with():
    """Without any UB a minbranch tree is not defined (law 1)."""
    options = SolveOptions(branching="minbranch")
    given = options.replace(tuning={"branching_ub": 7})
    assert tree_of(EQUAL, options, 99).branching_ub == 99
    assert tree_of(EQUAL, given, 99).branching_ub == 7
    with pytest.raises(
        OptionError, match="branching_ub: expected a value, as minbranch"
    ):
        tree_of(EQUAL, options, None)


def test_other_rules_do_not_depend_on_a_ub():
    """A branching_ub that no rule reads must not tell two trees apart."""
    tree = tree_of(EQUAL, SolveOptions(tuning={"branching_ub": 7}), 99)
    assert tree.branching is MINMIN
    assert tree.branching_ub is None


def test_rules_of_one_side_need_no_bounds():
    nothing = np.array([], np.int64)
    sides = {
        BranchingRule.FRONT: [False] * 4,
        BranchingRule.BACK: [True] * 4,
        BranchingRule.ALTERNATE: [False, True, False, True],
    }
    for rule in BranchingRule:
        for depth in range(4):
            side = fixed_side(rule, depth)
            if rule in sides:
                assert side is sides[rule][depth]
                assert choose_back(rule, nothing, nothing, depth) is side
            else:
                assert side is None


BOUND = st.integers(0, 4) | st.just(NO_CHILD)
BOUNDS = st.lists(st.tuples(BOUND, BOUND), min_size=2, max_size=8)


@given(st.sampled_from(RULES), BOUNDS, st.integers(0, 3), st.integers(0, 5))
def test_choose_back_is_the_rule_as_worded(rule, pairs, depth, branching_ub):
    front, back = (list(side) for side in zip(*pairs, strict=True))
    got = choose_back(rule, np.array(front), np.array(back), depth, branching_ub)
    assert got == takes_back(rule, front, back, depth, branching_ub)


def shop(times):
    return FlowShopProblem(FlowShopInstance("shop", times))


EQUAL = shop([[3, 9], [8, 1], [3, 9], [4, 4], [8, 1], [3, 9]])


@pytest.mark.parametrize(
    ("sides", "order"),
    [(("front", "back"), (2, 1, 0, 3)), (("front",), BEST), (("back",), BEST[::-1])],
)
def test_a_schedule_says_the_root_order_unless_an_option_does(sides, order):
    problem = shop([[3, 9], [8, 1], [3, 8], [4, 4]])
    object.__setattr__(problem, "sides", sides)
    assert tree_of(problem, SolveOptions(), 20, BEST).root_order == order
    asked = SolveOptions(tuning={"root_order": (0, 1, 2, 3)})
    assert tree_of(problem, asked, 20, BEST).root_order == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("given", "order"),
    [
        (None, (0, 2, 5, 1, 4, 3)),
        ((4, 3, 5, 1, 0, 2), (4, 1, 3, 5, 0, 2)),
        ((3, 1, 4, 2, 0, 5), (3, 1, 4, 2, 0, 5)),
    ],
)
def test_copies_follow_the_first_of_equal_jobs_in_root_order(given, order):
    tree = tree_of(EQUAL, SolveOptions(tuning={"root_order": given}), 20)
    assert tree == TreeOptions(root_order=order, rule_version=2)
    assert refusal(EQUAL, tree) is None


def test_equal_jobs_that_are_neighbors_need_no_root_order():
    tree = tree_of(shop([[3, 9], [3, 9], [4, 4]]), SolveOptions(), 20)
    assert tree == TreeOptions(rule_version=2)


def test_without_equal_jobs_or_for_all_optima_the_rules_are_those_of_version_1():
    assert tree_of(shop([[3, 9], [9, 3], [4, 4]]), SolveOptions(), 20) == TreeOptions()
    assert tree_of(EQUAL, SolveOptions(all_optima=True), 20) == TreeOptions()


@pytest.mark.parametrize(
    ("problem", "order", "version", "reason"),
    [
        (EQUAL, None, 2, "root_order: expected equal jobs side by side"),
        (EQUAL, (0, 2, 1, 5, 4, 3), 2, "root_order: expected equal jobs side by side"),
        (shop([[3, 9], [9, 3]]), None, 2, "rule_version: expected 1 for a flowshop"),
        (EQUAL, None, 3, "rule_version: expected 1 to 2, got 3"),
        (EQUAL, None, 0, "rule_version: expected 1 to 2, got 0"),
    ],
)
def test_a_tree_that_has_no_such_rules_is_refused(problem, order, version, reason):
    tree = TreeOptions(root_order=order, rule_version=version)
    assert refusal(problem, tree).startswith(reason)


@pytest.mark.parametrize("kinds", [[0, 1], [[0], [1], [1]], [0.0, 1.0, 1.0]])
def test_kinds_that_are_no_number_for_each_job_are_refused(kinds):
    problem = SimpleNamespace(name="own", n_jobs=3, job_kinds=kinds)
    with pytest.raises(InstanceError, match="job_kinds of own: expected 3 whole"):
        kinds_of(problem)


@pytest.mark.parametrize("back", [False, True])
def test_all_children_choose_the_side_and_copies_are_no_children_afterwards(back):
    rule = BranchingRule.BACK if back else BranchingRule.FRONT
    plain = TreeOptions(rule, root_order=(0, 2, 5, 1, 4, 3))
    jobs = np.array([2, 5, 1, 3])
    state = EQUAL.extend(EQUAL.extend(EQUAL.root_state(), 0, back=True), 4, back=False)
    expected = bound_children(EQUAL, plain, state, jobs, 2, 99)
    found = bound_children(EQUAL, replace(plain, rule_version=2), state, jobs, 2, 99)
    assert found[0] == expected[0] == back
    assert found[1].tolist() == [expected[1][0], NO_CHILD, *expected[1][2:]]
