"""Options of a solve: one frozen table behind the API, the CLI, TOML files and docs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BranchingRule(StrEnum):
    """How a decomposed node chooses between its front and its back children."""

    MINMIN = "minmin"
    MINBRANCH = "minbranch"
    MAXSUM = "maxsum"
    ALTERNATE = "alternate"
    FRONT = "front"
    BACK = "back"


class Bound(StrEnum):
    """Lower bound that prunes children."""

    LB1 = "lb1"


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """All that the tree depends on besides the problem (invariant I1).

    Parameters
    ----------
    branching
        The branching rule.
    branching_ub
        Fixed value that MinBranch compares bounds with; required by it, ignored by
        the other rules.
    bound
        The lower bound.
    root_order
        Jobs in the order in which siblings are numbered; None is 0, 1, ..., n-1.
    """

    branching: BranchingRule = BranchingRule.MINMIN
    branching_ub: int | None = None
    bound: Bound = Bound.LB1
    root_order: tuple[int, ...] | None = None
