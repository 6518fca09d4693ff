"""Iterative bidirectional beam search with targets.

Source: Libralesso, Focke, Secardin and Jost, EJOR 301(1), 2022: breadth first over
partial schedules that grow at either end, keeping at each depth the nodes with the
best guide; the width doubles from run to run. Differences:

- Bounds use the least heads and tails on empty sides.
- *Targets.* The source prunes at the incumbent's makespan. Here most beams prune at a
  target below it: that takes most of what the guide would keep in vain, and lets the
  fewer children decide on which side nodes grow. What reaches the end is that much
  better, or nothing does, soon, and the next target is nearer to the incumbent.
- A run that kept every node below its target has left nothing out: no later target is
  below it, and beams end when they have looked at all below the incumbent.
- The best nodes of a run, complete or not, are completed and searched locally by
  insertion.

The levels are ``beam_cpu`` and ``beam_gpu``, which keep the same nodes.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import InvariantError
from dpbb.flowshop.heuristics.beam_cpu import CpuLevels
from dpbb.flowshop.heuristics.beam_levels import Guide, Levels, moves_of
from dpbb.flowshop.heuristics.beam_polish import (
    MOST_POLISHED,
    POLISHED_OUT,
    POLISHED_SHARE,
    Polish,
)
from dpbb.flowshop.heuristics.insertion_lanes import narrowest
from dpbb.flowshop.heuristics.plain import neh
from dpbb.flowshop.heuristics.search import (
    Search,
    improve,
    machine_times,
    tiny_searches,
)
from dpbb.flowshop.makespan import makespan
from dpbb.flowshop.models.lb1_cpu import Lb1
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.problem import Incumbent

logger = logging.getLogger(__name__)

GAP_MACHINES = 20
"""Up to so many machines beams by gap, which need no target, may do better."""


def beam(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) by wider and wider beams.

    Ends at a limit (``search.iterations``: runs), with a proof, or when memory does not
    allow a wider beam. The incumbent is ``proved`` if a beam below its makespan was
    never cut. With ``search.kept`` jobs kept at the ends of ``start``, the beams begin
    with these, and prove nothing.
    """
    incumbent = neh(search) if start is None else start
    with ThreadPoolExecutor(search.threads, "dpbb-beam") as pool:

        def levels(problem: FlowShopProblem, kept: NDArray[np.uint16]) -> CpuLevels:
            ub, threads = incumbent.value, search.threads
            return CpuLevels(problem, kept, ub, pool if threads > 1 else None, threads)

        return widen(search, incumbent, levels)


def load(search: Search, start: Incumbent) -> None:
    """Load or compile the kernels, so that it takes no time from a search."""
    levels = Lb1.narrowest_dtype(FlowShopProblem(search.instance), start.value)
    polish, _ = narrowest(machine_times(search), start.value, POLISHED_OUT)
    for tiny in tiny_searches((levels, polish)):
        beam(*tiny)


def widen(
    search: Search,
    incumbent: Incumbent,
    levels_of: Callable[[FlowShopProblem, NDArray[np.uint16]], Levels],
) -> Incumbent:
    """Improve an incumbent by beams of doubled width, whatever their device."""
    problem = FlowShopProblem(search.instance)
    first, last = search.kept
    order = np.asarray(incumbent.permutation, np.intp)
    kept = moves_of(order[:first], order[len(order) - last :])
    if incumbent.proved or len(kept) == len(order):
        return incumbent
    runs = _Runs(search, incumbent, levels_of(problem, kept))
    width = min(runs.levels.narrowest, runs.levels.widest)
    while width <= runs.levels.widest and not runs.over:
        if search.instance.n_machines <= GAP_MACHINES:
            runs.run(width, runs.incumbent.value, Guide.GAP)
        depth = runs.depth
        while not runs.over:
            target = max(runs.incumbent.value - depth, runs.lower_bound + 1)
            if runs.run(width, target, Guide.WALPHA):
                depth *= 2
            elif target >= runs.incumbent.value:
                break
            else:
                depth //= 4
        width *= 2
    if first or last or runs.lower_bound < runs.incumbent.value:
        return runs.incumbent
    return replace(runs.incumbent, proved=True)


class _Runs:
    """Beams one after the other, and what they have shown.

    Attributes
    ----------
    incumbent
        The best schedule of these beams. What is found elsewhere does not count: from a
        better one on, targets are so near that beams find less (measured at 100x20 and
        200x20).
    lower_bound
        No schedule that begins and ends as the root does is below.
    """

    def __init__(self, search: Search, incumbent: Incumbent, levels: Levels) -> None:
        self._search = search
        self._polish = Polish(search, incumbent)
        self._ended = False
        self._count = 0
        self.levels = levels
        self.incumbent = incumbent
        self.lower_bound = search.lower_bound

    @property
    def over(self) -> bool:
        """Whether nothing is left to do, or a limit is reached."""
        return (
            self._ended
            or self._search.over
            or self._count == self._search.iterations
            or self.incumbent.value <= self.lower_bound
        )

    @property
    def depth(self) -> int:
        """How far below the incumbent the first target of a width is."""
        value = self.incumbent.value
        return min((value - self.lower_bound) // 4, value // 100)

    def run(self, width: int, target: int, guide: Guide) -> bool:
        """Run a beam that prunes at a target; return whether a schedule got better."""
        if self.over:
            return False
        rows = min(MOST_POLISHED, 1 + width // POLISHED_SHARE)
        run = self.levels.run(width, target, guide, rows, lambda: self._search.over)
        if run is None:
            self._ended = True
            return False
        self._count += 1
        before = self.incumbent.value
        found = self._polish(run.moves, alone=run.uncut)
        if run.value is not None:
            value = makespan(self._search.instance.times, found[0])
            if value != run.value:
                raise InvariantError(
                    f"beam: the bound of a complete schedule is {run.value}, its "
                    f"makespan {value}"
                )
        for one in found:
            self.incumbent = improve(self._search, self.incumbent, one, "beam")
        if run.uncut:
            self.lower_bound = target if run.value is None else run.value
            if self.incumbent.value < self.lower_bound and not any(self._search.kept):
                raise InvariantError(
                    f"beam: no schedule is below {self.lower_bound}, but there is one "
                    f"of {self.incumbent.value}"
                )
        logger.debug(
            "beam of %d, %s below %d: %d nodes, depth %d, uncut %d, incumbent %d",
            *(width, guide.name, target, run.nodes, run.moves.shape[1], run.uncut),
            self.incumbent.value,
        )
        return self.incumbent.value < before
