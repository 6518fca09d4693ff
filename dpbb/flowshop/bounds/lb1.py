"""The one-machine lower bound LB1 in NumPy: the oracle of every engine's kernel.

Source: Lageweg, Lenstra and Rinnooy Kan, Operations Research 26(1), 1978. Difference:
on an empty side the minimum head (tail) is taken over *all* jobs of the instance, not
over the unscheduled ones, so that it is a constant of the instance.
"""

import numpy as np
from numpy.typing import NDArray


def one_machine_bound(
    front: NDArray[np.int64], back: NDArray[np.int64], remain: NDArray[np.int64]
) -> int:
    """Lower bound on the makespan of every completion of a partial schedule.

    Parameters
    ----------
    front, back, remain : ndarray of int64, shape (n_machines,)
        Per machine: end of the prefix, tail of the suffix, total time of the
        unscheduled jobs. On an empty side the least head (tail) of all jobs.

    Notes
    -----
    Machine *k* is busy for ``remain[k]`` between its front and its back. O(m).
    """
    return int((front + remain + back).max())


def child_bounds(
    front: NDArray[np.int64],
    back: NDArray[np.int64],
    remain: NDArray[np.int64],
    jobs: NDArray[np.int64],
) -> NDArray[np.int64]:
    """LB1 of the children that append each job to the prefix.

    Parameters
    ----------
    front, back, remain : ndarray of int64, shape (n_machines,)
        As for ``one_machine_bound``, of the node that is decomposed; ``remain``
        includes the job that is appended.
    jobs : ndarray of int64, shape (r, n_machines)
        Times of the jobs.

    Returns
    -------
    ndarray of int64, shape (r,)

    Notes
    -----
    Appended job *j* starts on machine k at ``e_k = max(e_{k-1} + p_{j,k-1}, F_k)``,
    and from then on machine k has to do all of ``R_k`` before ``B_k`` can follow:
    O(m) per child, without making its front. For children before the suffix call it
    with front and back exchanged and all machines reversed (``[::-1]``).
    """
    start = np.full(len(jobs), front[0], dtype=np.int64)
    bounds: NDArray[np.int64] = start + (remain[0] + back[0])
    for machine in range(1, len(front)):
        start = np.maximum(start + jobs[:, machine - 1], front[machine])
        np.maximum(bounds, start + (remain[machine] + back[machine]), out=bounds)
    return bounds
