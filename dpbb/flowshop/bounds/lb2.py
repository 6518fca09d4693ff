"""The two-machine lower bound LB2 in NumPy: the oracle of every kernel's.

For machines u < v relax all others to machines that any number of jobs pass at once:
what is left is Johnson's problem with time lags, whose optimum is

    head_u + M + tail_v,  M = max over jobs k of (sum of p_u of the jobs up to k)
                                + (time of k between u and v) + (sum of p_v from k on)

with the jobs in Johnson's order by p_u + lag and p_v + lag, which is also right for
every subset of them. Together with LB1 (the terms of one machine) this is LB2. Sources:
Lageweg, Lenstra and Rinnooy Kan, Operations Research 26(1), 1978; time lags: Mitten,
Management Science 5(3), 1959.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError, shown
from dpbb.flowshop.bounds import lb1
from dpbb.flowshop.bounds.cascade import cascade_of
from dpbb.flowshop.makespan import append_job, prepend_job

if TYPE_CHECKING:
    from dpbb.flowshop.problem import FlowShopState

NOTHING = -(2**40)
"""Below every bound: a maximum over no jobs."""

MOST_STEPS = 2_000_000
"""Pairs of machines times jobs of the largest shops whose root has its LB2 computed."""


def machine_pairs(
    n_machines: int, which: Sequence[Sequence[int]] | None = None
) -> NDArray[np.intp]:
    """Return pairs of machines, shape (n_pairs, 2).

    ``which``: pairs (u, v), u < v, each once; default: all.

    OptionError: they are none.
    """
    if which is None:
        return np.array([*combinations(range(n_machines), 2)], np.intp).reshape(-1, 2)
    try:
        given = np.asarray(which)
    except ValueError:
        given = np.zeros(1)
    if not given.size:
        return np.empty((0, 2), np.intp)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise OptionError(f"pairs: expected pairs of machines, got {shown(which)}")
    for u, v in given.tolist():
        if not 0 <= u < v < n_machines:
            raise OptionError(
                f"pairs: expected u < v of machines 0 to {n_machines - 1}, got {u}, {v}"
            )
    if len(np.unique(given, axis=0)) < len(given):
        raise OptionError("pairs: expected each pair once")
    return given.astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class JohnsonTables:
    """All jobs in Johnson's order, for some pairs of machines.

    Parameters
    ----------
    pairs : ndarray of intp, shape (n_pairs, 2)
        Machines u < v.
    order : ndarray of intp, shape (n_pairs, n_jobs)
        The jobs: those with p_u <= p_v first, by p_u + lag, then the others by falling
        p_v + lag; of equal ones the lower number first.
    first, lag, second : ndarray of int64, shape (n_pairs, n_jobs)
        Their times on u, between u and v, and on v, in that order.
    """

    pairs: NDArray[np.intp]
    order: NDArray[np.intp]
    first: NDArray[np.int64]
    lag: NDArray[np.int64]
    second: NDArray[np.int64]

    @classmethod
    def of(cls, times: NDArray[np.int64], pairs: NDArray[np.intp]) -> JohnsonTables:
        """Return the tables of an instance; ``times`` as in ``FlowShopInstance``."""
        ends = np.cumsum(times, axis=1)
        u, v = pairs[:, 0], pairs[:, 1]
        first, second = times.T[u], times.T[v]
        lag = (ends.T[v] - second) - ends.T[u]
        ahead = first <= second
        key = np.where(ahead, first + lag, -(second + lag))
        order = np.lexsort((key, ~ahead), axis=1)
        rows = np.arange(len(pairs))[:, None]
        return cls(
            pairs, order, first[rows, order], lag[rows, order], second[rows, order]
        )


def spans_without(tables: JohnsonTables, jobs: NDArray[np.intp]) -> NDArray[np.int64]:
    """Longest stay M of the jobs but one, for all pairs and each that is left out.

    Parameters
    ----------
    jobs : ndarray of intp, shape (r,)
        At least two, ascending.

    Returns
    -------
    ndarray of int64, shape (n_pairs, r)

    Notes
    -----
    Left out, a job is missing on machine v in the sums that end before it, and on u in
    those that begin after it: two running maxima of the whole set give all of them.
    """
    n_pairs, n_jobs = tables.order.shape
    there = np.zeros(n_jobs, bool)
    there[jobs] = True
    rows = there[tables.order]
    shape = (n_pairs, len(jobs))
    first, lag, second, order = (
        part[rows].reshape(shape)
        for part in (tables.first, tables.lag, tables.second, tables.order)
    )
    from_here = second[:, ::-1].cumsum(axis=1)[:, ::-1]
    through = first.cumsum(axis=1) + lag + from_here
    before = np.full(shape, NOTHING)
    before[:, 1:] = np.maximum.accumulate(through, axis=1)[:, :-1]
    after = np.full(shape, NOTHING)
    after[:, :-1] = np.maximum.accumulate(through[:, ::-1], axis=1)[:, -2::-1]
    spans = np.empty(shape, np.int64)
    columns = np.searchsorted(jobs, order)
    np.put_along_axis(
        spans, columns, np.maximum(before - second, after - first), axis=1
    )
    return spans


def root_bound(
    times: NDArray[np.int64], begin: NDArray[np.int64], follow: NDArray[np.int64]
) -> int:
    """LB2 of the empty partial schedule; LB1 alone where ``MOST_STEPS`` is passed.

    On two machines it is the least makespan, that of Johnson's order.

    Parameters
    ----------
    begin, follow : ndarray of int64, shape (n_machines,)
        When the jobs can begin on each machine, and what follows them.
    """
    bound = lb1.one_machine_bound(begin, follow, times.sum(axis=0))
    n_jobs, n_machines = times.shape
    if n_jobs * n_machines * (n_machines - 1) // 2 > MOST_STEPS:
        return bound
    every = machine_pairs(n_machines)
    for u in range(n_machines - 1):  # not at once: half a gigabyte for large shops
        tables = JohnsonTables.of(times, every[every[:, 0] == u])
        from_here = tables.second[:, ::-1].cumsum(axis=1)[:, ::-1]
        spans = (tables.first.cumsum(axis=1) + tables.lag + from_here).max(axis=1)
        bound = max(bound, int((begin[u] + spans + follow[u + 1 :]).max()))
    return bound


class TwoMachineBounds:
    """Two-machine bounds that tighten LB1 in a tree; see ``dpbb.problem.Tightens``.

    Parameters
    ----------
    times : ndarray of int64, shape (n_jobs, n_machines)
        Processing times.
    """

    def __init__(self, times: NDArray[np.int64], bound: str) -> None:
        cascade = cascade_of(bound, *times.shape)
        self._depths = range(0)
        if cascade is not None:
            self._depths = range(cascade.first, cascade.last + 1)
        self.pairs = () if cascade is None else cascade.pairs
        self._times = times
        self._tables = JohnsonTables.of(
            times, machine_pairs(times.shape[1], self.pairs)
        )

    def __call__(
        self,
        state: FlowShopState,
        jobs: NDArray[np.intp],
        bounds: NDArray[np.int64],
        ub: int,
        *,
        back: bool,
    ) -> NDArray[np.int64]:
        """Bound the children whose LB1 is below ``ub``."""
        tight = bounds.copy()
        below = np.flatnonzero(bounds < ub)
        depth = len(self._times) - len(jobs) + 1
        if not below.size or depth not in self._depths:
            return tight
        found = self.by_pair(state, jobs, below, back=back)
        tight[below] = np.maximum(tight[below], found.max(axis=0))
        return tight

    def by_pair(
        self,
        state: FlowShopState,
        jobs: NDArray[np.intp],
        children: NDArray[np.intp],
        *,
        back: bool,
    ) -> NDArray[np.int64]:
        """Two-machine bounds of some children of a node, shape (n_pairs, r).

        Parameters
        ----------
        state, jobs, back
            As of ``child_bounds``.
        children : ndarray of intp, shape (r,)
            Which of ``jobs`` they take.
        """
        times = self._times[jobs[children]]
        if back:
            begin = np.broadcast_to(state.front, times.shape)
            follow = prepend_job(state.back, times)
        else:
            begin = append_job(state.front, times)
            follow = np.broadcast_to(state.back, times.shape)
        order = np.argsort(jobs)
        spans = np.empty((len(self._tables.pairs), len(jobs)), np.int64)
        spans[:, order] = spans_without(self._tables, jobs[order])
        u, v = self._tables.pairs.T
        return np.asarray(begin.T[u] + spans[:, children] + follow.T[v])
