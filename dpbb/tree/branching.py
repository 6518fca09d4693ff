"""Branching rules: which of its two child sets a decomposed node takes.

Pure functions of the two arrays of child bounds, the depth and a fixed value. No rule
may look at the live incumbent: two workers would then number the same leaves
differently, and an interval would mean two sets of permutations (invariant I1).
Minimum-minimum: Gmys, Mezmaz, Melab and Tuyttens, EJOR 284(3), 2020; the ties here
are dpbb's own and part of ``TREE_RULE_VERSION``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpbb.options import BranchingRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

TREE_RULE_VERSION = 1
"""Raised whenever any rule gives another tree; kept in messages and checkpoints."""


def fixed_side(rule: BranchingRule, depth: int) -> bool | None:
    """Side that the rule takes without looking at bounds, None if it compares them.

    Returns
    -------
    bool or None
        True for the back children, False for the front children.
    """
    match rule:
        case BranchingRule.FRONT:
            return False
        case BranchingRule.BACK:
            return True
        case BranchingRule.ALTERNATE:
            return depth % 2 == 1
    return None


def choose_back(
    rule: BranchingRule,
    front: NDArray[np.int64],
    back: NDArray[np.int64],
    depth: int,
    branching_ub: int | None = None,
) -> bool:
    """Whether the node takes its back children.

    Parameters
    ----------
    rule
        The branching rule; minmin and minbranch fall back on the larger sum of
        bounds, and every rule falls back on the front.
    front, back : ndarray of int64, shape (r,)
        Lower bounds of the r children of either side; a rule of one side looks at
        neither.
    depth
        Depth of the node; used by alternate.
    branching_ub
        Used by minbranch.

    Returns
    -------
    bool
        True for the back children, False for the front children.
    """
    side = fixed_side(rule, depth)
    if side is not None:
        return side
    preference = 0  # maxsum has none before the sums
    if rule is BranchingRule.MINMIN:
        least = min(front.min(), back.min())
        preference = _count(back == least) - _count(front == least)
    elif rule is BranchingRule.MINBRANCH:
        if branching_ub is None:
            raise ValueError("minbranch needs a branching_ub")
        preference = _count(back < branching_ub) - _count(front < branching_ub)
    if preference:  # the side with the smaller count
        return preference < 0
    return bool(back.sum() > front.sum())


def _count(chosen: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(chosen))
