"""What explorers have in hand, completed to permutations: starts for heuristics.

A node is completed by its unscheduled jobs in root order, which is how its first
leaf on one side alone would have them. Source: Gmys, INFORMS J. Comput. 34(5), 2022.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.base import Beginning
from dpbb.problem import Problem, costs_of


def best_completions(
    problem: Problem[Any],
    order: NDArray[np.intp],
    nodes: Iterable[tuple[Sequence[int], Sequence[int]]],
    most: int,
) -> list[Beginning]:
    """Complete nodes, and return the best of the permutations, the best first.

    Parameters
    ----------
    order : ndarray of intp, shape (n_jobs,)
        Root order.
    nodes
        Prefix and suffix of each, as jobs in the order of the permutation.
    most
        So many at most; those that have no cost are none, and each is there once.
    """
    found: dict[tuple[int, ...], tuple[int, int]] = {}
    for front, back in nodes:
        taken = {*front, *back}
        middle = [job for job in order.tolist() if job not in taken]
        found.setdefault((*front, *middle, *back), (len(front), len(back)))
    if not found:
        return []
    rows = np.array(list(found), np.intp)
    sides = list(found.values())
    beginnings = [
        Beginning(value, rows[index], sides[index])
        for index, value in _costs(problem, rows)
    ]
    return sorted(beginnings, key=lambda beginning: beginning.value)[:most]


def _costs(problem: Problem[Any], rows: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Index and cost of every row that has one."""
    try:
        return list(enumerate(costs_of(problem, rows).tolist()))
    except ValueError:  # some have none: which?
        found = []
        for index, row in enumerate(rows):
            try:
                found.append((index, problem.evaluate(row)))
            except ValueError:
                continue
        return found
