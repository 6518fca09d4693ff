"""Leaves that a device reports, as permutations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.engines.gpu.shape import KernelShape
    from dpbb.flowshop.problem import FlowShopProblem


def candidate_of_leaf(
    leaf: NDArray[np.uint32],
    shape: KernelShape,
    problem: FlowShopProblem,
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
    directions = leaf[1 + shape.mask_words :]
    path = leaf[1 + shape.path_at - shape.mask_at :]
    digits = path.view(np.uint8 if shape.digit_bits == 8 else np.uint16)
    unscheduled = order.tolist()
    prefix: list[int] = []
    suffix: list[int] = []
    for depth in range(shape.n_jobs - 1):
        back = int(directions[depth // 32]) >> depth % 32 & 1
        (suffix if back else prefix).append(unscheduled.pop(int(digits[depth])))
    permutation = np.array(prefix + unscheduled + suffix[::-1], np.intp)
    value = int(leaf[0])
    exact = problem.evaluate(permutation)
    if exact != value:
        raise InvariantError(
            f"the device gave {value} to a permutation of makespan {exact}"
        )
    return Candidate(value, permutation)
