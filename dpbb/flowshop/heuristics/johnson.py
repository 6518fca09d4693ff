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
    all orders cost the same.
    """
    instance = search.instance
    order = list(range(instance.n_jobs))
    if instance.n_machines == MOST_MACHINES:
        tables = JohnsonTables.of(instance.times, machine_pairs(MOST_MACHINES))
        order = tables.order[0].tolist()
    return replace(improve(search, start, order, "johnson"), proved=True)
