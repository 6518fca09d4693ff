"""Heuristics in plain NumPy, which run while Numba compiles.

Palmer's and Johnson's orders take no search: milliseconds at any size. NEH and the
search of ``dpbb.heuristics.Descent`` are made of insertions.

Insertion by Taillard's acceleration (E. Taillard, EJOR 47(1), 1990): the makespans of
all positions of one job in a sequence of length l cost O(l m) together. Both recursions
are running maxima once the sums of the times are taken off, over the positions for
heads and tails and over the machines for the inserted job, so that NumPy is called
O(m) times for a job, not O(l m) times.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.bounds import JohnsonTables, machine_pairs
from dpbb.flowshop.makespan import append_job
from dpbb.heuristics import Descent, Search, improve
from dpbb.problem import Incumbent

if TYPE_CHECKING:
    from dpbb.flowshop.problem import FlowShopProblem

Ints = NDArray[np.int64]
Jobs = NDArray[np.intp]


def palmer(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Try the jobs in their own order, and by falling slope: growing times come first.

    Notes
    -----
    Slope index of Palmer, Oper. Res. Q. 16(1), 1965.
    """
    times = search.problem.times
    n_jobs, n_machines = times.shape
    best = improve(search, start, np.arange(n_jobs), "own order")
    if search.over:
        return best
    slopes = times @ (2 * np.arange(n_machines) - (n_machines - 1))
    return improve(search, best, np.argsort(-slopes, kind="stable"), "palmer")


JOHNSON_MACHINES = 2
"""On more it is no more than a guess."""


def johnson(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Return a best schedule of a shop of up to ``JOHNSON_MACHINES`` machines.

    Source: Johnson, Naval Research Logistics Quarterly 1(1), 1954. On one machine
    all orders cost the same. Given ends change nothing: with F and B before and after,
    the makespan is the larger one of two values that no order changes and of F_0 + max
    over jobs k of (sum of p_0 up to k + sum of p_1 from k on) + B_1, which the rule
    minimizes.
    """
    times = search.problem.times
    order = np.arange(len(times))
    if times.shape[1] == JOHNSON_MACHINES:
        order = JohnsonTables.of(times, machine_pairs(JOHNSON_MACHINES)).order[0]
    return replace(improve(search, start, order, "johnson"), proved=True)


class Insertion(NamedTuple):
    """What comes of inserting a job at each position of a sequence of l jobs.

    Parameters
    ----------
    makespans : ndarray of int64, shape (l + 1,)
        By position of the job.
    ends : ndarray of int64, shape (n_machines, l + 1)
        When the job ends on each machine.
    head : ndarray of int64, shape (n_machines, l + 1)
        Column i: when the first i jobs end, without the inserted one.
    """

    makespans: Ints
    ends: Ints
    head: Ints


def insertion(problem: FlowShopProblem, sequence: Jobs, job: int) -> Insertion:
    """Insert a job everywhere."""
    head, tail = heads_and_tails(problem, sequence)
    ends = append_job(head.T, problem.times[job]).T
    return Insertion((ends + tail).max(axis=0), ends, head)


def heads_and_tails(problem: FlowShopProblem, sequence: Jobs) -> tuple[Ints, Ints]:
    """Return ends of all prefixes, times from the starts of all suffixes to the end.

    Returns
    -------
    head, tail : ndarray of int64, shape (n_machines, len(sequence) + 1)
        Column i belongs to the first i jobs, and to those from position i on.

    Notes
    -----
    ``e[k, i] = max(e[k, i - 1], e[k - 1, i]) + p[k, i]`` with the sums ``P[k, i] =
    p[k, 0] + ... + p[k, i]`` is ``e[k, i] - P[k, i] = max over j <= i of e[k - 1, j] -
    P[k, j - 1]``, and at least what is before all. The tails are the heads of the jobs
    and machines in reverse.
    """
    given, forward = problem.given, problem.times[sequence].T
    both = np.stack([forward, forward[::-1, ::-1]], axis=1)  # machine, way, position
    first = np.stack([given.heads, given.tails[::-1]], axis=1)[:, :, np.newaxis]
    sums = np.cumsum(both, axis=2)
    latest = np.empty_like(sums)  # e - P
    latest[0] = first[0]
    step = sums[:-1] - sums[1:] + both[1:]
    for k in range(1, problem.n_machines):
        np.add(latest[k - 1], step[k - 1], out=latest[k])
        np.maximum.accumulate(latest[k], axis=1, out=latest[k])
        np.maximum(latest[k], first[k], out=latest[k])
    table = np.concatenate([first, latest + sums], axis=2)
    return table[:, 0], table[::-1, 1, ::-1]


def plain_search(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) by insertions until a limit.

    Some hundred times slower than the compiled ``iterated_greedy``.
    """
    best = neh(search) if start is None else start
    return Descent(search, best, all_exist=True).iterate() or best


def neh(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Insert the jobs by decreasing total time, each at its best position. O(n^2 m).

    At a limit ``start`` is returned; without one the jobs that are left follow in their
    order.

    Source: Nawaz, Enscore and Ham, Omega 11(1), 1983. Of equally good positions the one
    with the least idle time is taken: Fernandez-Viagas and Framinan, Computers &
    Operations Research 45, 2014.
    """
    times = search.problem.times
    order = np.argsort(-times.sum(axis=1), kind="stable")
    sequence = order[:0]
    for done, job in enumerate(order):
        if search.over:
            if start is not None:
                return start
            sequence = np.concatenate([sequence, order[done:]])
            break
        tried = insertion(search.problem, sequence, job)
        ties = np.flatnonzero(tried.makespans == tried.makespans.min())
        best = ties[0]
        if len(ties) > 1:
            added = added_idle_time(times, sequence, job, tried, ties)
            best = ties[added.argmin()]
        sequence = np.concatenate([sequence[:best], [job], sequence[best:]])
    return improve(search, start, sequence, "neh")


def added_idle_time(
    times: NDArray[np.int64],
    sequence: Jobs,
    job: int,
    tried: Insertion,
    positions: Jobs,
) -> Ints:
    """Idle time that a job adds at each of some positions, shape (len(positions),).

    On all machines but the first, up to the job after it; the source's estimate.
    """
    own = times[job, :, np.newaxis]
    idle = tried.ends[:, positions] - tried.head[:, positions] - own  # for the last
    inner = positions < len(sequence)
    places = positions[inner]
    ends, following = tried.ends[:, places], times[sequence[places]].T
    pushed = append_job(ends.T, following.T).T
    idle[:, inner] = ends - tried.head[:, places + 1] + following - own
    idle[1:, inner] += np.maximum(0, pushed[:-1] - ends[1:])
    return idle[1:].sum(axis=0)
