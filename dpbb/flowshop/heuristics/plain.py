"""Insertion in plain NumPy: nothing to compile, and nothing of Numba imported.

Insertion by Taillard's acceleration (E. Taillard, EJOR 47(1), 1990): the makespans of
all positions of one job in a sequence of length l cost O(l m) together. Both recursions
are running maxima once the sums of the times are taken off, over the positions for
heads and tails and over the machines for the inserted job, so that NumPy is called
O(m) times for a job, not O(l m) times.

All functions take the processing times as int32 of shape (n_machines, n_jobs); a
makespan fits because of ``dpbb.flowshop.times.MAX_TOTAL_TIME``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]
    Jobs = NDArray[np.intp]


class Insertion(NamedTuple):
    """What comes of inserting a job at each position of a sequence of l jobs.

    Parameters
    ----------
    makespans : ndarray of int32, shape (l + 1,)
        By position of the job.
    ends : ndarray of int32, shape (n_machines, l + 1)
        When the job ends on each machine.
    head : ndarray of int32, shape (n_machines, l + 1)
        Column i: when the first i jobs end, without the inserted one.
    """

    makespans: Ints
    ends: Ints
    head: Ints


def insertion(times: Ints, sequence: Jobs, job: int) -> Insertion:
    """Insert a job everywhere."""
    head, tail = heads_and_tails(times, sequence)
    ends = after(head, times[:, job, np.newaxis])
    return Insertion((ends + tail).max(axis=0), ends, head)


def after(fronts: Ints, jobs: Ints) -> Ints:
    """Fronts after one more job each; arrays of shape (n_machines, r), r or 1.

    As ``dpbb.flowshop.makespan.append_job``, but machine by front.
    """
    sums = np.cumsum(jobs, axis=0, dtype=np.int32)
    latest: Ints = np.maximum.accumulate(fronts - (sums - jobs), axis=0)
    latest += sums
    return latest


def heads_and_tails(times: Ints, sequence: Jobs) -> tuple[Ints, Ints]:
    """Return ends of all prefixes, times from the starts of all suffixes to the end.

    Returns
    -------
    head, tail : ndarray of int32, shape (n_machines, len(sequence) + 1)
        Column i belongs to the first i jobs, and to those from position i on.

    Notes
    -----
    ``e[k, i] = max(e[k, i - 1], e[k - 1, i]) + p[k, i]`` with the sums ``P[k, i] =
    p[k, 0] + ... + p[k, i]`` is ``e[k, i] - P[k, i] = max over j <= i of e[k - 1, j] -
    P[k, j - 1]``. The tails are the heads of the jobs and machines in reverse.
    """
    n_machines = len(times)
    forward = times[:, sequence]
    both = np.stack([forward, forward[::-1, ::-1]], axis=1)  # machine, way, position
    sums = np.cumsum(both, axis=2, dtype=np.int32)
    latest = np.zeros_like(sums)  # e - P
    step = sums[:-1] - sums[1:] + both[1:]
    for k in range(1, n_machines):
        np.add(latest[k - 1], step[k - 1], out=latest[k])
        np.maximum.accumulate(latest[k], axis=1, out=latest[k])
    table = np.zeros((n_machines, 2, len(sequence) + 1), np.int32)
    np.add(latest, sums, out=table[:, :, 1:])
    return table[:, 0], table[::-1, 1, ::-1]
