"""Iterative bidirectional beam search; on few machines it often proves the optimum.

Source: Libralesso, Focke, Secardin and Jost, EJOR 301(1), 2022: breadth first over
partial schedules that grow at either end, keeping at each depth the nodes with the
best guide; the width doubles from run to run. Differences: bounds use the least heads
and tails on empty sides; a run that kept every node below the incumbent's makespan
is an exhaustive search, hence a proof; and the best nodes of a run, complete or not,
are completed and searched locally by insertion.

The levels are ``beam_cpu`` and ``beam_gpu``, which keep the same nodes.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpbb.flowshop.heuristics.beam_cpu import CpuLevels
from dpbb.flowshop.heuristics.beam_levels import Guide, Levels, Root
from dpbb.flowshop.heuristics.beam_polish import MOST_POLISHED, POLISHED_SHARE, Polish
from dpbb.flowshop.heuristics.neh import neh
from dpbb.flowshop.heuristics.search import Search, improve
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpbb.problem import Incumbent


def beam(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) by wider and wider beams.

    Ends at a limit (``search.iterations``: runs), with a proof, or when memory does not
    allow a wider beam. The incumbent is ``proved`` if a beam below its makespan was
    never cut. With ``search.kept`` jobs kept at the ends of ``start``, the beams begin
    with these, and prove nothing.
    """
    incumbent = neh(search) if start is None else start
    with ThreadPoolExecutor(search.threads, "dpbb-beam") as pool:

        def levels(problem: FlowShopProblem, root: Root) -> CpuLevels:
            ub, threads = incumbent.value, search.threads
            return CpuLevels(problem, root, ub, pool if threads > 1 else None, threads)

        return widen(search, incumbent, levels)


def load() -> None:
    """Load or compile the kernels, so that it takes no time from a search."""
    rng = np.random.default_rng(0)
    times = rng.integers(1, 9, (5, 3))
    search = Search(FlowShopInstance("load", times), 0, iterations=2)
    beam(search, improve(search, None, range(5), "load"))


def guides(n_machines: int, n_jobs: int) -> tuple[Guide, ...]:
    """Return which guides are used by turns on instances of a size.

    Which is better where: the source's experiments, repeated.
    """
    if n_machines <= 10 or (n_machines <= 20 and n_jobs > 100):
        return (Guide.GAP,)
    if n_machines <= 20 and n_jobs == 100:
        return Guide.WALPHA, Guide.GAP
    return (Guide.WALPHA,)


def widen(
    search: Search,
    incumbent: Incumbent,
    levels_of: Callable[[FlowShopProblem, Root], Levels],
) -> Incumbent:
    """Improve an incumbent by beams of doubled width, whatever their device.

    Parameters
    ----------
    levels_of
        Makes the levels.
    """
    problem = FlowShopProblem(search.instance)
    first, last = search.kept
    order = np.asarray(incumbent.permutation, np.intp)
    prefix, suffix = order[:first], order[len(order) - last :]
    root = Root.of(problem, prefix, suffix)
    if incumbent.proved or not len(root.jobs):
        return incumbent
    levels = levels_of(problem, root)
    polish = Polish(search, incumbent)
    choices = guides(search.instance.n_machines, search.instance.n_jobs)
    runs, width = 0, 1
    while width <= levels.widest:
        for guide in choices:
            incumbent = search.latest(incumbent)
            if incumbent.proved or search.over or runs == search.iterations:
                return incumbent
            rows = min(MOST_POLISHED, 1 + width // POLISHED_SHARE)
            run = levels.run(width, incumbent.value, guide, rows, lambda: search.over)
            if run is None:
                return incumbent
            runs += 1
            for found in polish(run.moves, alone=run.uncut):
                incumbent = improve(search, incumbent, found, "beam")
            if run.uncut:
                whole = not first and not last
                return replace(incumbent, proved=True) if whole else incumbent
        width *= 2
    return incumbent
