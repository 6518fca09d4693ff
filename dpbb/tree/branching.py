"""Branching rules: which of its two child sets a decomposed node takes.

A problem that branches on one side only has one child set, and the rule of that side.
Pure functions of the two arrays of child bounds, the depth and a fixed value. No rule
may look at the live incumbent: two workers would then number the same leaves
differently, and an interval would mean two sets of permutations (law 1).
Minimum-minimum: Gmys, Mezmaz, Melab and Tuyttens, EJOR 284(3), 2020; the ties here
are dpbb's own and part of ``TREE_RULE_VERSION``.

*Equal jobs* (rule version 2). Whatever is reached by scheduling one of several equal
jobs next is reached by each of them, on either side. So after the side is chosen, from
the bounds of all children, only the first of them in root order is branched on. The
children of its copies are pruned children: closed at their depth, no matter how one
comes to them, and leaves keep their numbers. Equal jobs are neighbors in the root
order: a child is a copy if the child before it takes an equal job.
"""

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError
from dpbb.options import BranchingRule, SolveOptions, TreeOptions
from dpbb.problem import NO_CHILD, SIDES, Problem, bound_of, kinds_of, sides_of

TREE_RULE_VERSION = 2
"""The newest. Raised whenever any rule gives another tree; messages, checkpoints and
certificates hold the version of their own tree, ``TreeOptions.rule_version``."""

MANY_JOBS = 200
"""From so many jobs on, of two sides the one with the larger sum of bounds is taken by
default. There the least bounds of both sides are the parent's own for long, so minmin
chooses among equals, and many a tree does not end. Figures: docs/table.md."""


def tree_of(
    problem: Problem[Any],
    options: SolveOptions,
    ub: int | None,
    schedule: tuple[int, ...] | None = None,
) -> TreeOptions:
    """Return what the tree of a problem with these options depends on.

    Without a rule it is the first of ``rules_of``. Of problems with equal jobs it is of
    rule version 2, unless all optima are wanted, and copies come right after the first
    of them in root order.

    ``ub``: the upper bound after the start heuristics, or as given: what MinBranch
    compares with unless ``branching_ub`` is given; None when there is neither.
    ``schedule``: the best one known, which says the root order unless an option does.

    OptionError: MinBranch has no value to compare with.
    """
    branching, branching_ub = options.branching or rules_of(problem)[0], None
    if branching is BranchingRule.MINBRANCH:
        given = options.tuning.branching_ub
        branching_ub = ub if given is None else given
        if branching_ub is None:
            raise OptionError(
                "branching_ub: expected a value, as minbranch compares bounds with it "
                "and neither a heuristic nor upper_bound, cutoff or initial gives one"
            )
    root_order = options.tuning.root_order
    if root_order is None and schedule is not None:
        root_order = _inwards(problem, schedule)
    tree = TreeOptions(branching, branching_ub, bound_of(problem), root_order)
    kinds = None if options.all_optima else kinds_of(problem)
    if kinds is None:
        return tree
    order = _side_by_side(kinds, tree.root_order)
    return replace(tree, root_order=order, rule_version=2)


def _inwards(problem: Problem[Any], schedule: tuple[int, ...]) -> tuple[int, ...]:
    """Return its jobs from both ends by turns, or from the one that is branched on.

    The nodes below an upper bound are the same in any order, but better schedules are
    often like one that is known, and found sooner.
    """
    sides = [schedule[::-1] if back else schedule for back in sides_of(problem)]
    return tuple(dict.fromkeys(chain.from_iterable(zip(*sides, strict=True))))


def _side_by_side(
    kinds: NDArray[np.intp], order: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    """Return a root order with each job's copies after it; itself if it is so."""
    jobs = range(len(kinds)) if order is None else order
    kind_of, first = kinds.tolist(), dict[int, int]()
    for place, job in enumerate(jobs):
        first.setdefault(kind_of[job], place)
    found = tuple(sorted(jobs, key=lambda job: first[kind_of[job]]))
    return order if found == tuple(jobs) else found


def refusal(problem: Problem[Any], tree: TreeOptions) -> str | None:
    """Return why a problem cannot have such a tree, None if it can.

    Whoever explores, estimates or checks a tree asks this first: a rule or bound that
    is not known would be taken for another one.
    """
    rules = rules_of(problem)
    if not any(tree.branching is rule for rule in rules):  # nor a plain text
        return (
            f"branching: expected {' or '.join(rules)} for {problem.name}, got "
            f"{str(tree.branching)!r}"
        )
    if tree.bound != bound_of(problem):
        return (
            f"bound: expected {bound_of(problem)}, the bound of {problem.name}, got "
            f"{str(tree.bound)!r}"
        )
    if tree.branching is BranchingRule.MINBRANCH and tree.branching_ub is None:
        return "minbranch needs a branching_ub"
    order = tree.root_order
    if order is not None and sorted(order) != list(range(problem.n_jobs)):
        return f"root_order must be a permutation of 0 to {problem.n_jobs - 1}"
    if tree.rule_version not in range(1, TREE_RULE_VERSION + 1):
        return (
            f"rule_version: expected 1 to {TREE_RULE_VERSION}, got {tree.rule_version}"
        )
    kinds = kinds_of(problem) if tree.skips_copies else None
    if tree.skips_copies and kinds is None:
        return f"rule_version: expected 1 for a {problem.name} without equal jobs"
    if kinds is not None and _side_by_side(kinds, order) != order:
        return "root_order: expected equal jobs side by side"
    return None


def order_of(tree: TreeOptions, n_jobs: int) -> NDArray[np.intp]:
    """Root order of a tree, shape (n_jobs,)."""
    if tree.root_order is None:
        return np.arange(n_jobs)
    return np.array(tree.root_order, np.intp)


def rules_of(problem: Problem[Any]) -> tuple[BranchingRule, ...]:
    """Return the rules that fit the sides that a problem branches on.

    The first is taken where none is given: its own, or the larger sum from
    ``MANY_JOBS`` on.
    """
    sides = sides_of(problem)
    if len(sides) == len(SIDES):
        has_own = getattr(problem, "choose_back", None) is not None
        first = BranchingRule.MAXSUM if problem.n_jobs >= MANY_JOBS else None
        first = BranchingRule.OWN if has_own else first
        rules = (rule for rule in BranchingRule if has_own or rule != BranchingRule.OWN)
        return tuple(sorted(rules, key=lambda rule: rule is not first))
    return tuple(BranchingRule.BACK if back else BranchingRule.FRONT for back in sides)


def settled_rule(
    problem: Problem[Any], given: BranchingRule | None
) -> BranchingRule | None:
    """Return the rule given, or the first; None: of many jobs estimates choose."""
    rule = given or rules_of(problem)[0]
    return None if given is None and rule is BranchingRule.MAXSUM else rule


def fixed_side(rule: BranchingRule, depth: int) -> bool | None:
    """Side that the rule takes without looking at bounds, None if it compares them.

    Returns True for the back children, False for the front children.
    """
    match rule:
        case BranchingRule.FRONT:
            return False
        case BranchingRule.BACK:
            return True
        case BranchingRule.ALTERNATE:
            return depth % 2 == 1
    return None


def bound_children(
    problem: Problem[Any],
    tree: TreeOptions,
    state: Any,  # the problem's own
    jobs: NDArray[np.intp],
    depth: int,
    ub: int,
) -> tuple[bool, NDArray[np.int64]]:
    """Bound both child sets, or the only one that the rule looks at; choose one.

    A bound that tightens has no say in which: how tight it is depends on the ub. Nor
    have copies of equal jobs less to say than the first of them.

    Parameters
    ----------
    state, jobs, ub
        As of ``Tightens.tighten``.

    Returns
    -------
    back : bool
        Whether the node takes its back children.
    bounds : ndarray of int64, shape (r,)
        Lower bounds of the children on that side; ``NO_CHILD`` for copies.
    """
    back = fixed_side(tree.branching, depth)
    if back is None:
        ahead = problem.child_bounds(state, jobs, back=False)
        behind = problem.child_bounds(state, jobs, back=True)
        if tree.branching is BranchingRule.OWN:  # of which none is to be changed
            own: Any = problem
            back = bool(own.choose_back(state, ahead.copy(), behind.copy()))
        else:
            back = choose_back(tree.branching, ahead, behind, depth, tree.branching_ub)
        bounds = behind if back else ahead
    else:
        bounds = problem.child_bounds(state, jobs, back=back)
    if tree.skips_copies:
        kinds = np.asarray(problem.job_kinds)[jobs]  # type: ignore[attr-defined]
        is_copy = np.append(False, kinds[1:] == kinds[:-1])
        bounds = np.where(is_copy, NO_CHILD, bounds)
    tighten = getattr(problem, "tighten", None)
    if tighten is not None:
        bounds = np.maximum(bounds, tighten(state, jobs, bounds, ub, back=back))
    return back, bounds


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
        bounds, and every rule falls back on the front. Children that do not exist
        (``NO_CHILD``) are in no sum, and above every bound.
    front, back : ndarray of int64, shape (r,)
        Lower bounds of the r children of either side; a rule of one side looks at
        neither.
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
    return _sum(back) > _sum(front)


def _sum(bounds: NDArray[np.int64]) -> int:
    return int(bounds[bounds != NO_CHILD].sum())


def _count(chosen: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(chosen))
