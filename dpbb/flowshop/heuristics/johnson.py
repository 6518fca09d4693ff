"""Johnson's order: the best schedule on two machines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpbb.flowshop.bounds.lb2 import JohnsonTables, machine_pairs
from dpbb.flowshop.heuristics.search import improve

if TYPE_CHECKING:
    from dpbb.flowshop.heuristics.search import Search
    from dpbb.problem import Incumbent

MOST_MACHINES = 2
"""On more it is no more than a guess."""


def johnson(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Return a best schedule of a shop of up to ``MOST_MACHINES`` machines.

    Source: Johnson, Naval Research Logistics Quarterly 1(1), 1954. On one machine
    all orders cost the same. That the first and the last jobs are kept changes nothing:
    with F and B before and after, the makespan is the larger one of two values that
    no order changes and of F_0 + max over jobs k of (sum of p_0 up to k + sum of p_1
    from k on) + B_1, which the rule minimizes.
    """
    times = search.instance.times
    order, between = search.free_places()
    if times.shape[1] == MOST_MACHINES:
        tables = JohnsonTables.of(times[between], machine_pairs(MOST_MACHINES))
        order[between] = order[between][tables.order[0]]
    return replace(improve(search, start, order, "johnson"), proved=True)
