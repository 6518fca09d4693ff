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
        Lower bounds of the r children of either side; a rule of one side ignores
        the other's.
    depth
        Depth of the node; used by alternate.
    branching_ub
        Used by minbranch.

    Returns
    -------
    bool
        True for the back children, False for the front children.
    """
    match rule:
        case BranchingRule.FRONT:
            return False
        case BranchingRule.BACK:
            return True
        case BranchingRule.ALTERNATE:
            return depth % 2 == 1
        case BranchingRule.MAXSUM:
            preference = 0
        case BranchingRule.MINMIN:
            least = min(front.min(), back.min())
            preference = np.count_nonzero(back == least) - np.count_nonzero(
                front == least
            )
        case BranchingRule.MINBRANCH:
            if branching_ub is None:
                raise ValueError("minbranch needs a branching_ub")
            preference = np.count_nonzero(back < branching_ub) - np.count_nonzero(
                front < branching_ub
            )
    if preference:  # the side with the smaller count
        return bool(preference < 0)
    return bool(back.sum() > front.sum())
