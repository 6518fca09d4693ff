"""Bounds of any partial schedules in NumPy, by their definition.

A node is a permutation with the number of jobs that are fixed at its front and at its
back; those between are unscheduled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.bounds import JohnsonTables
from dpbb.flowshop.makespan import append_job, prepend_job


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """What bounds need to know of r partial schedules.

    Parameters
    ----------
    heads, tails : ndarray of int64, shape (r, n_machines)
        When the unscheduled jobs can begin on each machine, and what follows them.
    remain : ndarray of int64, shape (r, n_machines)
        Total time of the unscheduled jobs.
    unscheduled : ndarray of bool, shape (r, n_jobs)
    """

    heads: NDArray[np.int64]
    tails: NDArray[np.int64]
    remain: NDArray[np.int64]
    unscheduled: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        times: NDArray[np.int64],
        permutations: NDArray[np.intp],
        d1: NDArray[np.intp],
        d2: NDArray[np.intp],
        *,
        form: str = "tree",
    ) -> Nodes:
        """Return the nodes of permutations; parameters as in ``batch.lb2``.

        On an empty side heads (tails) are the least of all jobs (``"tree"``) or of the
        unscheduled ones (``"plain"``); ``"strong"``: of these on both sides.
        """
        n_jobs, n_machines = times.shape
        heads, tails, remain = (
            np.zeros((len(permutations), n_machines), np.int64) for _ in range(3)
        )
        unscheduled = np.zeros((len(permutations), n_jobs), bool)
        for i, order in enumerate(permutations):
            jobs = order[d1[i] : n_jobs - d2[i]]
            for job in order[: d1[i]]:
                heads[i] = append_job(heads[i], times[job])
            for job in order[n_jobs - d2[i] :][::-1]:
                tails[i] = prepend_job(tails[i], times[job])
            some = times if form == "tree" else times[jobs]
            if len(jobs) and (form == "strong" or d1[i] == 0):
                heads[i] = _least_begin(heads[i], some)
            if len(jobs) and (form == "strong" or d2[i] == 0):
                tails[i] = _least_begin(tails[i][::-1], some[:, ::-1])[::-1]
            remain[i] = times[jobs].sum(axis=0)
            unscheduled[i, jobs] = True
        return cls(heads, tails, remain, unscheduled)

    def lb1(self) -> NDArray[np.int64]:
        """One-machine bounds, shape (r,)."""
        bounds: NDArray[np.int64] = (self.heads + self.remain + self.tails).max(axis=1)
        return bounds

    def lb2(self, tables: JohnsonTables) -> NDArray[np.int64]:
        """Return the larger of LB1 and the two-machine bounds, shape (r,)."""
        bounds = pair_bounds(tables, self.heads, self.tails, self.unscheduled)
        found: NDArray[np.int64] = bounds.max(axis=1, initial=0)
        return np.maximum(self.lb1(), found)


def pair_bounds(
    tables: JohnsonTables,
    heads: NDArray[np.int64],
    tails: NDArray[np.int64],
    unscheduled: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Two-machine bounds of nodes, by the definition.

    Parameters
    ----------
    heads, tails : ndarray of int64, shape (r, n_machines)
        When the unscheduled jobs can begin on each machine, and what follows them.
    unscheduled : ndarray of bool, shape (r, n_jobs)

    Returns
    -------
    ndarray of int64, shape (r, n_pairs)
        Of a node without unscheduled jobs 0.
    """
    bounds = np.zeros((len(heads), len(tables.pairs)), np.int64)
    for index, (u, v) in enumerate(tables.pairs):
        on_first, on_second = heads[:, u].copy(), heads[:, v].copy()
        for place, job in enumerate(tables.order[index]):
            here = unscheduled[:, job]
            on_first[here] += tables.first[index, place]
            ready = on_first[here] + tables.lag[index, place]
            on_second[here] = np.maximum(on_second[here], ready)
            on_second[here] += tables.second[index, place]
        some = unscheduled.any(axis=1)
        bounds[some, index] = on_second[some] + tails[some, v]
    return bounds


def _least_begin(
    front: NDArray[np.int64], jobs: NDArray[np.int64]
) -> NDArray[np.int64]:
    """When one of some jobs can begin on each machine, at the earliest."""
    begin = np.empty_like(jobs)
    begin[:, 0] = front[0]
    for k in range(1, jobs.shape[1]):
        begin[:, k] = np.maximum(begin[:, k - 1] + jobs[:, k - 1], front[k])
    least: NDArray[np.int64] = begin.min(axis=0)
    return least
