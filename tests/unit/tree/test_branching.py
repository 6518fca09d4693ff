import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbb.options import BranchingRule
from dpbb.problem import NO_CHILD
from dpbb.tree.branching import choose_back, fixed_side
from tests.oracle import RULES, takes_back

MINMIN, MINBRANCH = BranchingRule.MINMIN, BranchingRule.MINBRANCH
MAXSUM = BranchingRule.MAXSUM


@pytest.mark.parametrize(
    ("rule", "front", "back", "branching_ub", "expected"),
    [
        (MINMIN, [5, 9, 9], [5, 5, 9], None, False),  # 5 occurs once in the front set
        (MINMIN, [5, 5, 9], [5, 9, 9], None, True),
        (MINMIN, [6, 6, 6], [5, 9, 9], None, False),  # 5 does not occur there at all
        (MINMIN, [5, 6], [5, 7], None, True),  # tie: the larger sum
        (MINMIN, [5, 6], [6, 5], None, False),  # tie of ties: front
        (MINBRANCH, [5, 6, 9], [5, 9, 9], 9, True),  # fewer below 9
        (MINBRANCH, [5, 9, 9], [5, 6, 9], 9, False),
        (MINBRANCH, [5, 9, 9], [5, 9, 10], 9, True),
        (MINBRANCH, [5, 9, 9], [9, 5, 9], 9, False),
        (MAXSUM, [5, 6], [5, 7], None, True),
        (MAXSUM, [5, 6], [4, 7], None, False),
        (MAXSUM, [5, 6], [NO_CHILD, 7], None, False),  # in no sum
        (MINMIN, [5, NO_CHILD], [5, 7], None, True),
        (MINMIN, [5, 6], [NO_CHILD] * 2, None, True),  # there is nothing in this node
    ],
)
def test_choose_back(rule, front, back, branching_ub, expected):
    arrays = np.array(front), np.array(back)
    assert choose_back(rule, *arrays, 0, branching_ub) is expected


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


def test_minbranch_without_its_value_is_refused():
    with pytest.raises(ValueError, match="needs a branching_ub"):
        choose_back(MINBRANCH, np.array([1]), np.array([1]), 0)


BOUND = st.integers(0, 4) | st.just(NO_CHILD)
BOUNDS = st.lists(st.tuples(BOUND, BOUND), min_size=2, max_size=8)


@given(st.sampled_from(RULES), BOUNDS, st.integers(0, 3), st.integers(0, 5))
def test_choose_back_is_the_rule_as_worded(rule, pairs, depth, branching_ub):
    front, back = (list(side) for side in zip(*pairs, strict=True))
    got = choose_back(rule, np.array(front), np.array(back), depth, branching_ub)
    assert got == takes_back(rule, front, back, depth, branching_ub)
