"""Makespans, schedules, fronts, backs, heads and tails of a permutation flow shop.

The plain definitions in NumPy, used as the oracle of the engines and wherever speed
does not matter. A front says per machine when a prefix ends, a back how long a suffix
still takes from its start on that machine to the end of everything.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def append_job(front: NDArray[np.int64], job: NDArray[np.int64]) -> NDArray[np.int64]:
    """Front after one more job of times ``job``; both of shape (..., n_machines).

    Notes
    -----
    ``F'_k = max(F'_{k-1}, F_k) + p_k`` as a running maximum: with the sums
    ``P_k = p_0 + ... + p_k``, ``F'_k - P_k = max(F'_{k-1} - P_{k-1}, F_k - P_{k-1})``.
    """
    ends = np.cumsum(job, axis=-1)
    latest: NDArray[np.int64] = np.maximum.accumulate(front - (ends - job), axis=-1)
    return latest + ends


def prepend_job(back: NDArray[np.int64], job: NDArray[np.int64]) -> NDArray[np.int64]:
    """Back after one more job before the suffix: the mirror image of ``append_job``."""
    return append_job(back[..., ::-1], job[..., ::-1])[..., ::-1]


def front_of(
    times: NDArray[np.int64], sequence: Sequence[int] | NDArray[np.intp]
) -> NDArray[np.int64]:
    """Front of a prefix, some jobs in their order; shape (n_machines,)."""
    front = np.zeros(times.shape[1], dtype=np.int64)
    for job in sequence:
        front = append_job(front, times[job])
    return front


def makespan(
    times: NDArray[np.int64], sequence: Sequence[int] | NDArray[np.intp]
) -> int:
    """End of the last operation; 0 without jobs."""
    return int(front_of(times, sequence)[-1])


def makespans(
    times: NDArray[np.int64],
    permutations: NDArray[np.intp],
    front: NDArray[np.int64] | int = 0,
    back: NDArray[np.int64] | int = 0,
) -> NDArray[np.int64]:
    """Makespans of many sequences, shape (r,), of those of shape (r, length).

    Parameters
    ----------
    front, back : ndarray of int64, shape (n_machines,)
        Of what comes before and after them; 0: of nothing.
    """
    fronts = np.broadcast_to(np.int64(front), (len(permutations), times.shape[1]))
    for jobs in permutations.T:
        fronts = append_job(fronts, times[jobs])
    return (fronts + back).max(axis=1)


def schedule(
    times: NDArray[np.int64], permutation: Sequence[int] | NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Semi-active schedule of a complete permutation.

    Returns
    -------
    start, end : ndarray of int64, shape (n_jobs, n_machines)
    """
    end, front = np.empty_like(times), np.zeros(times.shape[1], dtype=np.int64)
    for job in permutation:
        end[job] = front = append_job(front, times[job])
    return end - times, end


def tails(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Time that each job needs after each machine; shape (n_jobs, n_machines)."""
    total = times.sum(axis=1, keepdims=True)
    return total - np.cumsum(times, axis=1)


def longest_makespan(times: NDArray[np.int64]) -> int:
    """Value that no permutation's makespan exceeds.

    Notes
    -----
    A makespan is the length of a path through n_jobs + n_machines - 1 operations that
    visits every job and enters every machine but the first one once: at most each
    job's longest time, and on every further machine the longest time there. No more
    than all operations together, either.
    """
    path = times.max(axis=1).sum() + times.max(axis=0)[1:].sum()
    return int(min(path, times.sum()))
