"""The two-machine lower bound LB2: Johnson's order, and the bound of the root.

For machines u < v relax all others to machines that any number of jobs pass at once:
what is left is Johnson's problem with time lags, whose optimum is

    head_u + M + tail_v,  M = max over jobs k of (sum of p_u of the jobs up to k)
                                + (time of k between u and v) + (sum of p_v from k on)

with the jobs in Johnson's order by p_u + lag and p_v + lag, which is also right for
every subset of them. Together with LB1 (the terms of one machine) this is LB2. Sources:
Lageweg, Lenstra and Rinnooy Kan, Operations Research 26(1), 1978; time lags: Mitten,
Management Science 5(3), 1959. The text of the bound is
``dpbb.flowshop.models.makespan.TwoMachines``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError, shown

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
    bound = int((begin + times.sum(axis=0) + follow).max())
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
