"""Local search and iterated greedy in plain NumPy: what runs while Numba compiles.

As in Ruiz and Stuetzle, EJOR 177(3), 2007, some hundred times slower than the compiled
``iterated_greedy``; every round starts from the best schedule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpbb.flowshop.heuristics.neh import neh
from dpbb.flowshop.heuristics.plain import insertion
from dpbb.flowshop.heuristics.search import improve, machine_times

if TYPE_CHECKING:
    from dpbb.flowshop.heuristics.plain import Jobs
    from dpbb.flowshop.heuristics.search import Search
    from dpbb.problem import Incumbent

REMOVED = 4
"""Jobs taken out between two local searches."""


def plain_search(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) by insertions until a limit.

    One iteration is the insertion of one job. Ties are broken at random.
    """
    best = neh(search) if start is None else start
    times = machine_times(search)
    rng = np.random.default_rng(search.seed)
    first, last = search.kept
    jobs = np.sort(best.permutation[search.free_places()[1]])
    n_jobs = len(jobs)
    left = search.iterations
    sequence, value = best.permutation, best.value

    def inserted(rest: Jobs, job: int) -> tuple[Jobs, int]:
        makespans = insertion(times, rest, job).makespans
        makespans = makespans[first : len(rest) - last + 1]
        least = makespans.min()
        at = first + rng.choice(np.flatnonzero(makespans == least))
        return np.concatenate([rest[:at], [job], rest[at:]]), int(least)

    while n_jobs > 1 and not best.proved:
        improved = False
        for job in jobs[rng.permutation(n_jobs)]:
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
            out = rng.choice(jobs, min(REMOVED, n_jobs - 1), replace=False)
            rest = sequence[~np.isin(sequence, out)]
            for job in out:
                rest, value = inserted(rest, job)
            sequence = rest
    return best
