"""NEH: the classical constructive heuristic, in plain NumPy.

Source: Nawaz, Enscore and Ham, Omega 11(1), 1983, with the acceleration of Taillard,
EJOR 47(1), 1990. Of equally good positions the one with the least idle time is taken:
Fernandez-Viagas and Framinan, Computers & Operations Research 45, 2014.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpbb.flowshop.heuristics.plain import after, insertion
from dpbb.flowshop.heuristics.search import improve, machine_times

if TYPE_CHECKING:
    from dpbb.flowshop.heuristics.plain import Insertion, Ints, Jobs
    from dpbb.flowshop.heuristics.search import Search
    from dpbb.problem import Incumbent


def neh(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Insert the jobs by decreasing total time, each at its best position. O(n^2 m).

    At a limit ``start`` is returned; without one the jobs that are left follow in their
    order. The jobs that are kept are those of ``start``, else the first and the last
    ones.
    """
    times = machine_times(search)
    work = search.instance.times.sum(axis=1)
    whole, between = search.free_places(start)
    jobs = np.sort(whole[between])
    order = jobs[np.argsort(-work[jobs], kind="stable")]
    first, last = search.kept
    sequence = np.concatenate([whole[:first], whole[len(whole) - last :]])
    for done, job in enumerate(order):
        if search.over:
            if start is not None:
                return start
            end = len(sequence) - last
            sequence = np.concatenate([sequence[:end], order[done:], sequence[end:]])
            break
        tried = insertion(times, sequence, job)
        makespans = tried.makespans[first : len(sequence) - last + 1]
        ties = first + np.flatnonzero(makespans == makespans.min())
        best = ties[0]
        if len(ties) > 1:
            best = ties[added_idle_time(times, sequence, job, tried, ties).argmin()]
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
