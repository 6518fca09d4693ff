"""Longest paths between all pairs on one CPU core: plain loops, compiled."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.jobshop.longest_paths import Method
from dpbb.kernels.compiling import compiled


def closure(matrix: NDArray[np.int32], method: Method) -> NDArray[np.int32]:
    """Return the longest paths of a matrix of arcs; see ``longest_paths``."""
    result = matrix.copy()
    if method is Method.FLOYD_WARSHALL:
        _floyd_warshall(result)
        return result
    spare = np.empty_like(result)
    reach = 1  # paths of so many arcs are in
    while reach < len(result):
        if not _square(result, spare):
            break
        result, spare = spare, result
        reach *= 2
    return result


@compiled
def _floyd_warshall(paths: Any) -> None:
    """Fig. 1 of the paper, one step of k after the other, in place."""
    size = len(paths)
    for k in range(size):
        for y in range(size):
            first = paths[y, k]
            for x in range(size):
                second = paths[k, x]
                if first >= 0 and second >= 0:
                    paths[y, x] = max(paths[y, x], first + second)


@compiled
def _square(paths: Any, result: Any) -> bool:
    """Join all pairs of paths; whether anything became longer."""
    size = len(paths)
    changed = False
    for y in range(size):
        for x in range(size):
            result[y, x] = paths[y, x]
        for k in range(size):
            first = paths[y, k]
            if first >= 0:
                for x in range(size):
                    second = paths[k, x]
                    if second >= 0:
                        result[y, x] = max(result[y, x], first + second)
        for x in range(size):
            if result[y, x] != paths[y, x]:
                changed = True
    return changed
