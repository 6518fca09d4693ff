"""Orders that take no search, Palmer's and Johnson's: milliseconds at any size."""

from dataclasses import replace

import numpy as np

from dpbb.flowshop.bounds.lb2 import JohnsonTables, machine_pairs
from dpbb.flowshop.heuristics.search import Search, improve
from dpbb.problem import Incumbent


def palmer(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Try the jobs in their own order, and by falling slope: growing times come first.

    The jobs that are kept are those of ``start``, else the first and the last ones.

    Notes
    -----
    Slope index of Palmer, Oper. Res. Q. 16(1), 1965.
    """
    n_machines = search.instance.n_machines
    order, between = search.free_places(start)
    jobs = np.sort(order[between])
    order[between] = jobs
    best = improve(search, start, order, "own order")
    if search.over:
        return best
    slopes = search.instance.times @ (2 * np.arange(n_machines) - (n_machines - 1))
    order[between] = jobs[np.argsort(-slopes[jobs], kind="stable")]
    return improve(search, best, order, "palmer")


JOHNSON_MACHINES = 2
"""On more it is no more than a guess."""


def johnson(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Return a best schedule of a shop of up to ``JOHNSON_MACHINES`` machines.

    Source: Johnson, Naval Research Logistics Quarterly 1(1), 1954. On one machine
    all orders cost the same. That the first and the last jobs are kept changes nothing:
    with F and B before and after, the makespan is the larger one of two values that
    no order changes and of F_0 + max over jobs k of (sum of p_0 up to k + sum of p_1
    from k on) + B_1, which the rule minimizes.
    """
    times = search.instance.times
    order, between = search.free_places()
    if times.shape[1] == JOHNSON_MACHINES:
        tables = JohnsonTables.of(times[between], machine_pairs(JOHNSON_MACHINES))
        order[between] = order[between][tables.order[0]]
    return replace(improve(search, start, order, "johnson"), proved=True)
