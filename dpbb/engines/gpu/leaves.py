"""Leaves that a device reports, as permutations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.base import Candidate
from dpbb.engines.gpu.layout import NO_VALUE
from dpbb.errors import InvariantError
from dpbb.problem import objective_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.engines.gpu.layout import PageLayout
    from dpbb.engines.gpu.pool import PagePool
    from dpbb.problem import Problem


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
    directions = leaf[1 + layout.mask_words :]
    path = leaf[1 + layout.path_at - layout.mask_at :]
    digits = path.view(np.uint8 if layout.digit_bits == 8 else np.uint16)
    unscheduled = order.tolist()
    prefix: list[int] = []
    suffix: list[int] = []
    for depth in range(layout.n_jobs - 1):
        back = int(directions[depth // 32]) >> depth % 32 & 1
        (suffix if back else prefix).append(unscheduled.pop(int(digits[depth])))
    permutation = np.array(prefix + unscheduled + suffix[::-1], np.intp)
    value = int(leaf[0])
    exact = problem.evaluate(permutation)
    if exact != value:
        raise InvariantError(
            f"the device gave {value} to a permutation of {objective_of(problem)} "
            f"{exact}"
        )
    return Candidate(value, permutation)
