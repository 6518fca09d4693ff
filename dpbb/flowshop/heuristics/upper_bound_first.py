"""Truncated best-upper-bound-first branch and bound.

Source: one of the heuristic threads of Gmys, INFORMS Journal on Computing 34(5), 2022.
A node's *upper bound* is the makespan of its completion by the unscheduled jobs in the
order of the start. Depth first, the child of the least upper bound first, LB1 prunes;
the stack and the nodes that are expanded are limited. At every ``WINDOW``-th depth only
so many nodes of the least upper bounds are gone on from: one in the first round, twice
as many in each one after it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpbb.flowshop.heuristics.beam_kernels import root_node
from dpbb.flowshop.heuristics.beam_levels import Root
from dpbb.flowshop.heuristics.loading import tiny_searches
from dpbb.flowshop.heuristics.neh import neh
from dpbb.flowshop.heuristics.search import Search, improve
from dpbb.flowshop.heuristics.upper_bound_kernels import (
    CUT,
    KEPT,
    LEFT,
    VALUE,
    Pool,
    descend,
)
from dpbb.flowshop.models.lb1_cpu import Lb1
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.pairs import Room
from dpbb.kernels.pointers import addresses
from dpbb.problem import Incumbent

WINDOW = 8
"""Depths between those at which the best nodes are chosen."""

STACK = 256
"""Nodes of a stack."""

MOST_KEPT = 1 << 12
"""Nodes that are gone on from, at most."""

NODES = 100
"""Nodes that are expanded below one node, within a window."""

CALL_OPERATIONS = 10_000_000
"""Nodes x jobs^2 x machines that are expanded without a look at the limits: 5 ms."""


def upper_bound_first(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule), round after round, in one thread.

    Ends at a limit (``search.iterations``: rounds) or when a round dropped nothing; the
    incumbent is ``proved`` then, unless jobs are kept at the ends of ``start``.
    """
    incumbent = neh(search) if start is None else start
    n_jobs, n_machines = search.instance.n_jobs, search.instance.n_machines
    problem = FlowShopProblem(search.instance)
    first, last = search.kept
    order = np.asarray(incumbent.permutation, np.intp)
    root = Root.of(problem, order[:first], order[n_jobs - last :])
    dtype = Lb1.narrowest_dtype(problem, incumbent.value)
    model, lane = Lb1.of(problem, None, dtype), dtype(0)
    room = Room.of(model, n_jobs, dtype)
    tables = addresses(model), addresses(room), lane
    stack = Pool.empty(model, STACK + 1)
    best = np.zeros(n_jobs, np.int32)
    counts = np.zeros(4, np.int64)
    once = max(1, min(NODES, CALL_OPERATIONS // (n_jobs * n_jobs * n_machines)))
    width, rounds = 1, 0
    while rounds != search.iterations and not incumbent.proved:
        below, nodes = (Pool.empty(model, width) for _ in range(2))
        nodes.nodes[0] = root_node(model, root)
        nodes.orders[0] = order
        nodes.ends[0] = first, last
        nodes.bounds[0] = 0
        nodes.values[0] = incumbent.value
        counts[CUT], count = 0, 1
        for depth in range(first + last + WINDOW, n_jobs + WINDOW, WINDOW):
            counts[KEPT] = 0
            for row in range(count):
                incumbent = search.latest(incumbent)
                if search.over or incumbent.proved:
                    return incumbent
                counts[VALUE], counts[LEFT] = incumbent.value, once
                descend(*tables, nodes, row, depth, stack, below, width, best, counts)
                if counts[VALUE] < incumbent.value:
                    incumbent = improve(search, incumbent, best, "bub")
            nodes, below, count = below, nodes, int(counts[KEPT])
        rounds += 1
        if not counts[CUT]:
            whole = not first and not last
            return replace(incumbent, proved=True) if whole else incumbent
        width = min(2 * width, MOST_KEPT)
    return incumbent


def load(search: Search, start: Incumbent) -> None:
    """Load or compile the kernels, so that it takes no time from a search."""
    lane = Lb1.narrowest_dtype(FlowShopProblem(search.instance), start.value)
    for tiny in tiny_searches((lane,)):
        upper_bound_first(*tiny)
