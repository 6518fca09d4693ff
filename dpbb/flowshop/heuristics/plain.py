"""Heuristics in plain NumPy, which run while Numba compiles.

Palmer's and Johnson's orders take no search: milliseconds at any size. NEH and an
iterated greedy search are made of insertions.

Insertion by Taillard's acceleration (E. Taillard, EJOR 47(1), 1990): the makespans of
all positions of one job in a sequence of length l cost O(l m) together. Both recursions
are running maxima once the sums of the times are taken off, over the positions for
heads and tails and over the machines for the inserted job, so that NumPy is called
O(m) times for a job, not O(l m) times.

All functions take what is of machines as int32, machine by job or by position; a
makespan fits because of ``dpbb.flowshop.times.MAX_TOTAL_TIME``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.bounds.lb2 import JohnsonTables, machine_pairs
from dpbb.heuristics import Search, improve
from dpbb.problem import Incumbent

Ints = NDArray[np.int32]
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


class Shop(NamedTuple):
    """Times of the jobs, and when machines are free before all, and how long after."""

    times: Ints  # (n_machines, n_jobs)
    before: Ints  # (n_machines,)
    behind: Ints  # (n_machines,)

    @classmethod
    def of(cls, search: Search) -> Shop:
        """Return the shop of a search."""
        given = search.problem.given
        times = np.ascontiguousarray(search.problem.times.T, np.int32)
        ends = (given.heads.astype(np.int32), given.tails.astype(np.int32))
        return cls(times, *ends)


def insertion(shop: Shop, sequence: Jobs, job: int) -> Insertion:
    """Insert a job everywhere."""
    head, tail = heads_and_tails(shop, sequence)
    ends = after(head, shop.times[:, job, np.newaxis])
    return Insertion((ends + tail).max(axis=0), ends, head)


def after(fronts: Ints, jobs: Ints) -> Ints:
    """Fronts after one more job each; arrays of shape (n_machines, r), r or 1.

    As ``dpbb.flowshop.makespan.append_job``, but machine by front.
    """
    sums = np.cumsum(jobs, axis=0, dtype=np.int32)
    latest: Ints = np.maximum.accumulate(fronts - (sums - jobs), axis=0)
    latest += sums
    return latest


def heads_and_tails(shop: Shop, sequence: Jobs) -> tuple[Ints, Ints]:
    """Return ends of all prefixes, times from the starts of all suffixes to the end.

    Returns
    -------
    head, tail : ndarray of int32, shape (n_machines, len(sequence) + 1)
        Column i belongs to the first i jobs, and to those from position i on.

    Notes
    -----
    ``e[k, i] = max(e[k, i - 1], e[k - 1, i]) + p[k, i]`` with the sums ``P[k, i] =
    p[k, 0] + ... + p[k, i]`` is ``e[k, i] - P[k, i] = max over j <= i of e[k - 1, j] -
    P[k, j - 1]``, and at least what is before all. The tails are the heads of the jobs
    and machines in reverse.
    """
    n_machines = len(shop.times)
    forward = shop.times[:, sequence]
    both = np.stack([forward, forward[::-1, ::-1]], axis=1)  # machine, way, position
    first = np.stack([shop.before, shop.behind[::-1]], axis=1)[:, :, np.newaxis]
    sums = np.cumsum(both, axis=2, dtype=np.int32)
    latest = np.empty_like(sums)  # e - P
    latest[0] = first[0]
    step = sums[:-1] - sums[1:] + both[1:]
    for k in range(1, n_machines):
        np.add(latest[k - 1], step[k - 1], out=latest[k])
        np.maximum.accumulate(latest[k], axis=1, out=latest[k])
        np.maximum(latest[k], first[k], out=latest[k])
    table = np.concatenate([first, latest + sums], axis=2)
    return table[:, 0], table[::-1, 1, ::-1]


REMOVED = 4
"""Jobs taken out between two local searches."""


def plain_search(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) by insertions until a limit.

    One iteration is the insertion of one job. Ties are broken at random. As in Ruiz and
    Stuetzle, EJOR 177(3), 2007, some hundred times slower than the compiled
    ``iterated_greedy``; every round starts from the best schedule.
    """
    best = neh(search) if start is None else start
    shop, n_jobs = Shop.of(search), search.problem.n_jobs
    rng = np.random.default_rng(search.seed)
    left = search.iterations
    sequence, value = best.permutation, best.value

    def inserted(rest: Jobs, job: int) -> tuple[Jobs, int]:
        makespans = insertion(shop, rest, job).makespans
        least = makespans.min()
        at = rng.choice(np.flatnonzero(makespans == least))
        return np.concatenate([rest[:at], [job], rest[at:]]), int(least)

    while n_jobs > 1 and not best.proved:
        improved = False
        for job in rng.permutation(n_jobs):
            if search.over or left == 0:
                return best
            left = None if left is None else left - 1
            tried, found = inserted(sequence[sequence != job], job)
            if found <= value:
                improved |= found < value
                sequence, value = tried, found
            if value < best.value:
                best = improve(search, best, sequence, "insertion")
        if not improved:
            sequence = best.permutation
            out = rng.choice(n_jobs, min(REMOVED, n_jobs - 1), replace=False)
            rest = sequence[~np.isin(sequence, out)]
            for job in out:
                rest, value = inserted(rest, job)
            sequence = rest
    return best


def neh(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Insert the jobs by decreasing total time, each at its best position. O(n^2 m).

    At a limit ``start`` is returned; without one the jobs that are left follow in their
    order.

    Source: Nawaz, Enscore and Ham, Omega 11(1), 1983. Of equally good positions the one
    with the least idle time is taken: Fernandez-Viagas and Framinan, Computers &
    Operations Research 45, 2014.
    """
    shop = Shop.of(search)
    work = search.problem.times.sum(axis=1)
    order = np.argsort(-work, kind="stable")
    sequence = order[:0]
    for done, job in enumerate(order):
        if search.over:
            if start is not None:
                return start
            sequence = np.concatenate([sequence, order[done:]])
            break
        tried = insertion(shop, sequence, job)
        ties = np.flatnonzero(tried.makespans == tried.makespans.min())
        best = ties[0]
        if len(ties) > 1:
            added = added_idle_time(shop.times, sequence, job, tried, ties)
            best = ties[added.argmin()]
        sequence = np.concatenate([sequence[:best], [job], sequence[best:]])
    return improve(search, start, sequence, "neh")


def added_idle_time(
    times: Ints, sequence: Jobs, job: int, tried: Insertion, positions: Jobs
) -> Ints:
    """Idle time that a job adds at each of some positions, shape (len(positions),).

    On all machines but the first, up to the job after it; the source's estimate.
    """
    own = times[:, job, np.newaxis]
    idle = tried.ends[:, positions] - tried.head[:, positions] - own  # for the last
    inner = positions < len(sequence)
    places = positions[inner]
    ends, following = tried.ends[:, places], times[:, sequence[places]]
    pushed = after(ends, following)
    idle[:, inner] = ends - tried.head[:, places + 1] + following - own
    idle[1:, inner] += np.maximum(0, pushed[:-1] - ends[1:])
    return idle[1:].sum(axis=0, dtype=np.int32)
