"""NEH: the classical constructive heuristic.

Source: Nawaz, Enscore and Ham, Omega 11(1), 1983, with the acceleration of Taillard,
EJOR 47(1), 1990. Ties between positions are broken at random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpbb.flowshop.heuristics.insertion import best_insertion, insert, jit, workspace
from dpbb.flowshop.heuristics.search import improve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.flowshop.heuristics.insertion import Ints, Random
    from dpbb.flowshop.heuristics.search import Search
    from dpbb.problem import Incumbent


def neh(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Insert the jobs by decreasing total time, each at its best position. O(n^2 m)."""
    order = np.argsort(-search.instance.times.sum(axis=1), kind="stable")
    sequence = order.astype(np.int32)
    build(kernel_times(search), random_state(search.seed, 0), sequence)
    return improve(search, start, sequence, "neh")


@jit
def build(times: Ints, rng: Random, sequence: Ints) -> None:
    """Rearrange a sequence: insert its jobs one by one, each at its best position."""
    scratch = workspace(times.shape[0], times.shape[1])
    for length in range(len(sequence)):
        job = sequence[length]
        position = best_insertion(times, sequence, length, job, rng, scratch)[1]
        insert(sequence, length, position, job)


def kernel_times(search: Search) -> NDArray[np.int32]:
    """Return the times as the kernels want them: int32, (n_machines, n_jobs)."""
    return np.ascontiguousarray(search.instance.times.T, dtype=np.int32)


def random_state(seed: int, stream: int) -> NDArray[np.uint64]:
    """Return the state of one pseudo-random stream, shape (1,), never zero."""
    state = np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)
    return state | np.uint64(1)
