"""Critical machines: those along which alone LB1 cuts most of what it cuts.

LB1 of the child that takes job j is the greatest ``x_i + p_j,i + ... + p_j,k-1 + y_k``
of the machines i <= k, with x what the job's side has, and y what follows: the
remaining work and the other side. Over some machines alone that is a lower bound of
LB1, for as much less work as there are fewer. Which ones matter depends on the
instance: they are learned from children of nodes of its tree. No choice changes what is
explored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpbb.options import BranchingRule
from dpbb.tree.branching import choose_back

if TYPE_CHECKING:
    from dpbb.flowshop.problem import FlowShopProblem, FlowShopState

CUTS = 512
"""Children of each side that are learned from, if ``NODES`` have as many."""
NODES = 400
"""After so many nodes no further path is begun."""
CHILDREN = 8
"""Cut children that are learned from, of a node."""


def critical_machines(
    problem: FlowShopProblem, ub: int, count: int
) -> NDArray[np.intp]:
    """Choose machines for each side: 0.03 to 0.2 s up to 20 machines, 0.6 s with 60.

    Parameters
    ----------
    problem, ub
        The tree: nodes with lower bounds below ``ub``.
    count
        How many machines; all where there are not more.

    Returns
    -------
    ndarray of intp, shape (2, count)
        For the front, ascending; for the back, whose machines are counted from the last
        one.
    """
    n_machines = problem.n_machines
    if count >= n_machines:
        return np.tile(np.arange(n_machines), (2, 1))
    rng = np.random.default_rng(0)
    found: tuple[list[NDArray[np.bool_]], ...] = ([], [])
    n_nodes = 0
    while n_nodes < NODES and min(map(len, found)) < CUTS:
        for back, cut in _dive(problem, ub, rng):
            found[back].extend(cut)
            n_nodes += 1
        n_nodes += 1
    return np.stack([_most_useful(cuts, n_machines, count) for cuts in found])


def _dive(
    problem: FlowShopProblem, ub: int, rng: np.random.Generator
) -> list[tuple[bool, NDArray[np.bool_]]]:
    """Follow a random path to a node without children, or with half of the jobs.

    Near the leaves there are few children to cut.

    Returns
    -------
    list of tuple
        Of each node but the root the side of its last job, and what cuts some of its
        children there: of each the machines i and k whose term does.
    """
    state, jobs, back = problem.root_state(), np.arange(problem.n_jobs), False
    cuts = []
    for depth in range(problem.n_jobs // 2):
        front = problem.child_bounds(state, jobs, back=False)
        sides = front, problem.child_bounds(state, jobs, back=True)
        if depth:
            limit = _limit(sides[back], ub)
            cut = rng.permutation(jobs[sides[back] >= limit])[:CHILDREN]
            cuts.append((back, _terms(problem, state, cut, back) >= limit))
        back = choose_back(BranchingRule.MINMIN, *sides, depth)
        is_open = np.flatnonzero(sides[back] < _limit(sides[back], ub))
        if not len(is_open):
            break
        place = int(rng.choice(is_open))
        state = problem.extend(state, int(jobs[place]), back=back)
        jobs = np.delete(jobs, place)
    return cuts


def _limit(bounds: NDArray[np.int64], ub: int) -> int:
    """Return the upper bound; where it cuts less than half, what cuts that half."""
    return min(ub, int(np.median(bounds)) + 1)


def _terms(
    problem: FlowShopProblem, state: FlowShopState, jobs: NDArray[np.intp], back: bool
) -> NDArray[np.int64]:
    """Terms of LB1 of the children with these jobs, by machine i and k."""
    ahead, after, remain = state.front, state.back, state.remain
    times = problem.times[jobs]
    if back:
        ahead, after, remain = after[::-1], ahead[::-1], remain[::-1]
        times = times[:, ::-1]
    begins = np.cumsum(times, axis=1) - times
    terms = (ahead - begins)[:, :, None] + (begins + remain + after)[:, None, :]
    return np.where(np.tri(len(ahead), dtype=np.bool_).T, terms, -1)


def _most_useful(
    cuts: list[NDArray[np.bool_]], n_machines: int, count: int
) -> NDArray[np.intp]:
    """Take out one machine after the other, always that without which most stay cut."""
    kept = np.arange(n_machines)
    if not cuts:
        return kept[np.linspace(0, n_machines - 1, count).round().astype(np.intp)]
    pairs = np.stack(cuts).astype(np.int32)
    n_pairs = int(pairs.sum())
    while len(kept) > count:
        # pairs of machines that still cut each child when one machine is gone
        own = pairs.diagonal(axis1=1, axis2=2)
        left = pairs.sum((1, 2))[:, None] - pairs.sum(1) - pairs.sum(2) + own
        worst = int(((left > 0).sum(0) + left.sum(0) / (1 + n_pairs)).argmax())
        kept = np.delete(kept, worst)
        pairs = np.delete(np.delete(pairs, worst, axis=1), worst, axis=2)
    return kept
