"""The flow shop's bounds, a row for each, and what tightens LB1: two-machine bounds.

Sides are always chosen by LB1. Another bound tightens it where it prunes: its row says
by what in Python, for the reference engine and ``verify``, and which engines have a
model of it. Whoever is asked for a bound without a row, or an engine for one without a
model, refuses it by its name. Rows name classes by their paths, which load what
compiles them, or functions that return a problem's.

For machines u < v relax all others to machines that any number of jobs pass at once:
what is left is Johnson's problem with time lags, whose optimum is

    head_u + M + tail_v,  M = max over jobs k of (sum of p_u of the jobs up to k)
                                + (time of k between u and v) + (sum of p_v from k on)

with the jobs in Johnson's order by p_u + lag and p_v + lag, which is also right for
every subset of them. Together with LB1 (the terms of one machine) this is LB2. Sources:
Lageweg, Lenstra and Rinnooy Kan, Operations Research 26(1), 1978; time lags: Mitten,
Management Science 5(3), 1959. The text of the bound is
``dpbb.flowshop.models.makespan.TwoMachines``.

A cascade has some pairs of machines at some depths: ``cascade:FIRST-LAST:u-v,u-v,...``
tightens children at depths FIRST to LAST by these pairs, in this order. The tree
depends on the depths and on the set of pairs; their order only decides how soon a child
is pruned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError, shown
from dpbb.options import LB1
from dpbb.problems import name_of_bound

TWO_MACHINES = {
    "tighten": "dpbb.flowshop.models.makespan:TwoMachines",
    "cpu": "dpbb.flowshop.models.cascade_cpu:Cascade",
    "cuda": "dpbb.flowshop.models.lb1_cuda:Lb1",
}
"""LB2, and a cascade of parts of it."""

BOUNDS = {
    LB1: {
        "cpu": "dpbb.modeling.cpu:model_of",
        "cuda": "dpbb.flowshop.models.lb1_cuda:Lb1",
    },
    "lb2": TWO_MACHINES,
    "cascade": TWO_MACHINES,
}
"""The bounds by name: what a text has before its first colon, if there is one."""

FORM = "cascade:FIRST-LAST:u-v,u-v,... (depths; pairs of machines u < v)"

_NUMBER = r"(?:0|[1-9][0-9]{0,8})"
_TEXT = re.compile(
    rf"cascade:({_NUMBER})-({_NUMBER}):({_NUMBER}-{_NUMBER}(?:,{_NUMBER}-{_NUMBER})*)"
)

MOST_STEPS = 2_000_000
"""Pairs of machines times jobs of the largest shops whose root has its LB2 computed."""


def row_of(bound: str) -> Mapping[str, str]:
    """Return the row of a bound; OptionError if there is none."""
    row = BOUNDS.get(name_of_bound(bound))
    if row is None:
        raise OptionError(
            f"bound: expected one of {', '.join(BOUNDS)}, got {shown(bound)}"
        )
    return row


class Cascade(NamedTuple):
    """Where two-machine bounds tighten LB1, and which; by default nowhere.

    Parameters
    ----------
    first, last
        Least and greatest depth of the children that are tightened. A node's depth is
        the number of its scheduled jobs.
    pairs
        Machines (u, v), u < v, numbered from 0; each once.
    """

    first: int = 1
    last: int = 0
    pairs: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        pairs = ",".join(f"{u}-{v}" for u, v in self.pairs)
        return f"cascade:{self.first}-{self.last}:{pairs}"


def cascade_of(bound: str, n_jobs: int, n_machines: int) -> Cascade:
    """Return what tightens LB1 in a bound of an instance of this size.

    ``bound``: ``"lb2"`` (all pairs at all depths), ``"cascade"`` (what suits many
    shops: of these the pairs with the first or the last machine) or the text of a
    cascade; of others nothing does.

    OptionError: a cascade that is none, or does not fit the instance.
    """
    if bound in ("lb2", "cascade"):
        every = combinations(range(n_machines), 2)
        ends = ((u, v) for u, v in every if u == 0 or v == n_machines - 1)
        pairs = (*(every if bound == "lb2" else ends),)
        return Cascade(1, n_jobs - 1, pairs) if pairs and n_jobs > 1 else Cascade()
    if name_of_bound(bound) != "cascade":
        return Cascade()
    match = _TEXT.fullmatch(bound)
    if match is None:
        raise OptionError(f"bound: expected {FORM}, got {shown(bound)}")
    first, last = int(match[1]), int(match[2])
    if not 1 <= first <= last < n_jobs:
        raise OptionError(
            "bound: expected depths of a cascade 1 <= FIRST <= LAST, at most "
            f"{n_jobs - 1} of {n_jobs} jobs, got {first}-{last}"
        )
    texts = (pair.split("-") for pair in match[3].split(","))
    given = [(int(u), int(v)) for u, v in texts]
    machine_pairs(n_machines, given, "bound")
    return Cascade(first, last, tuple(given))


def resolved(bound: str, n_jobs: int, n_machines: int) -> str:
    """Return the name that a bound has in a tree of an instance of this size.

    ``"cascade"`` alone becomes a text with all numbers, or LB1 where it has no pair.

    OptionError: there is no such bound, or a cascade does not fit the instance.
    """
    row_of(bound)
    cascade = cascade_of(bound, n_jobs, n_machines)
    if bound == "cascade":
        return str(cascade) if cascade.pairs else LB1
    return bound


def machine_pairs(
    n_machines: int, which: Sequence[Sequence[int]] | None = None, what: str = "pairs"
) -> NDArray[np.intp]:
    """Return pairs of machines, shape (n_pairs, 2).

    Parameters
    ----------
    which
        Pairs (u, v), u < v, each once; default: all.
    what
        What they are called where they were given.

    Raises
    ------
    OptionError
        They are none.
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
        raise OptionError(f"{what}: expected pairs of machines, got {shown(which)}")
    for u, v in given.tolist():
        if not 0 <= u < v < n_machines:
            raise OptionError(
                f"{what}: expected u < v of machines 0 to {n_machines - 1}, got "
                f"{u}, {v}"
            )
    if len(np.unique(given, axis=0)) < len(given):
        raise OptionError(f"{what}: expected each pair once")
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
