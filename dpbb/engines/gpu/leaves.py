"""Leaves that a device reports, as permutations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.base import Candidate
from dpbb.engines.gpu.layout import NO_VALUE, PageLayout
from dpbb.errors import InvariantError
from dpbb.problem import Problem, objective_of

if TYPE_CHECKING:
    from dpbb.engines.gpu.pool import PagePool


def leaves_found(
    pool: PagePool, problem: Problem[Any], order: NDArray[np.intp], *, all_optima: bool
) -> list[Candidate]:
    """Leaves below the upper bound that the last launch has found.

    The best one alone, or with ``all_optima`` all that may be optimal.
    """
    control, layout = pool.control, pool.layout
    found = int(control["best"] != NO_VALUE)
    count = control["n_optima"] if all_optima else found
    if not count:
        return []
    words = pool.memory.leaves[: count * layout.leaf_words].get()
    leaves = words.reshape(count, layout.leaf_words)
    if all_optima:
        leaves = leaves[leaves[:, 0] < control["ub"]]
    return [candidate_of_leaf(leaf, layout, problem, order) for leaf in leaves]


def candidate_of_leaf(
    leaf: NDArray[np.uint32],
    layout: PageLayout,
    problem: Problem[Any],
    order: NDArray[np.intp],
) -> Candidate:
    """Rebuild the permutation from digits and directions, and check its cost.

    Parameters
    ----------
    leaf : ndarray of uint32, shape (leaf_words,)
        Value, unscheduled jobs, directions, path, as in ``pages.cuh``.
    order : ndarray of intp, shape (n_jobs,)
        Root order.

    Raises
    ------
    InvariantError
        The device gave another value than ``problem.evaluate``.
    """
    prefix, middle, suffix = _sides(leaf, layout, order, layout.n_jobs - 1)
    permutation = np.array(prefix + middle + suffix, np.intp)
    value = int(leaf[0])
    exact = problem.evaluate(permutation)
    if exact != value:
        raise InvariantError(
            f"the device gave {value} to a permutation of {objective_of(problem)} "
            f"{exact}"
        )
    return Candidate(value, permutation)


def nodes_promoted(
    rows: NDArray[np.uint32], layout: PageLayout, order: NDArray[np.intp], most: int
) -> list[tuple[list[int], list[int]]]:
    """Prefix and suffix of the best of the nodes in hand that a device has completed.

    Parameters
    ----------
    rows : ndarray of uint32, shape (n_warps, leaf_words)
        As leaves are reported; a value of ``NO_VALUE`` is none.
    order : ndarray of intp, shape (n_jobs,)
        Root order.
    most
        So many at most.
    """
    rows = rows[rows[:, 0] != NO_VALUE]
    best = rows[np.argsort(rows[:, 0], kind="stable")[:most]]
    nodes = []
    for row in best:
        left = int(np.bitwise_count(row[1 : 1 + layout.mask_words]).sum())
        prefix, _, suffix = _sides(row, layout, order, layout.n_jobs - left)
        nodes.append((prefix, suffix))
    return nodes


def _sides(
    leaf: NDArray[np.uint32], layout: PageLayout, order: NDArray[np.intp], depth: int
) -> tuple[list[int], list[int], list[int]]:
    """Prefix, unscheduled jobs in root order and suffix of a node of this depth."""
    directions = leaf[1 + layout.mask_words :]
    path = leaf[1 + layout.path_at - layout.mask_at :]
    digits = path.view(np.uint8 if layout.digit_bits == 8 else np.uint16)
    unscheduled = order.tolist()
    prefix: list[int] = []
    suffix: list[int] = []
    for level in range(depth):
        back = int(directions[level // 32]) >> level % 32 & 1
        (suffix if back else prefix).append(unscheduled.pop(int(digits[level])))
    return prefix, unscheduled, suffix[::-1]
