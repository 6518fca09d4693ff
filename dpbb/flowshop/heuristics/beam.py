"""Iterative bidirectional beam search; on few machines it often proves the optimum.

Source: Libralesso, Focke, Secardin and Jost, EJOR 301(1), 2022: breadth first over
partial schedules that grow at either end, keeping at each depth the nodes with the
best guide; the width doubles from run to run. Differences: bounds use the least heads
and tails on empty sides, and a run that kept every node below the incumbent's makespan
is an exhaustive search, hence a proof.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpbb.flowshop.heuristics.beam_kernels import Candidates, Level, expand, make_nodes
from dpbb.flowshop.heuristics.neh import kernel_times, neh
from dpbb.flowshop.heuristics.search import Search, improve
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.problem import Incumbent

MAX_CANDIDATES = 2_000_000
"""Width x n_jobs never exceeds this: some 100 MB of candidates and nodes."""

CHUNK_OPERATIONS = 200_000
"""Nodes x jobs x machines that are worth a thread of their own: about 1 ms."""


class Run(NamedTuple):
    """Outcome of one run of a given width.

    Parameters
    ----------
    permutation
        The best complete schedule below the upper bound, if there is one.
    exhaustive
        No node was ever cut, so there is nothing better.
    """

    permutation: NDArray[np.int32] | None
    exhaustive: bool


def beam(search: Search, start: Incumbent | None = None) -> Incumbent:
    """Improve ``start`` (default: NEH's schedule) by wider and wider beams.

    Ends at a limit, with a proof, or when memory does not allow a wider beam. The
    incumbent is ``proved`` if a beam below its makespan was never cut.
    """
    incumbent = neh(search) if start is None else start
    width = 1
    with ThreadPoolExecutor(search.threads, "dpbb-beam") as pool:
        beams = _Beams(search, pool)
        while width * search.instance.n_jobs <= MAX_CANDIDATES:
            if incumbent.proved or search.over:
                break
            run = beams.run(width, incumbent.value)
            if run is None:
                break
            if run.permutation is not None:
                incumbent = improve(search, incumbent, run.permutation, "beam")
            if run.exhaustive:
                incumbent = replace(incumbent, proved=True)
            width *= 2
    return incumbent


def load() -> None:
    """Load or compile the kernels, so that it takes no time from a search."""
    tiny = Search(FlowShopInstance("load", np.eye(3, 2, dtype=int)), 0)
    with ThreadPoolExecutor(1) as pool:
        _Beams(tiny, pool).run(1, 100)


class _Beams:
    """Runs of different widths on one instance."""

    def __init__(self, search: Search, pool: ThreadPoolExecutor) -> None:
        problem = FlowShopProblem(search.instance)
        self.search = search
        self.pool = pool
        self.root_bound = problem.root_bound
        self.times = kernel_times(search)
        self.mirror = np.ascontiguousarray(self.times[::-1])
        self.heads = problem.least_heads.astype(np.int32)
        self.tails = problem.least_tails.astype(np.int32)
        n_machines, n_jobs = self.times.shape
        # Which guide is better on which sizes: the source's experiments, repeated.
        self.gap = n_machines <= 10 or (n_machines <= 20 and n_jobs >= 100)

    def run(self, width: int, ub: int) -> Run | None:
        """Search below ``ub`` with a beam; None when a limit was reached."""
        n_jobs = self.times.shape[1]
        level = self._root()
        choices: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        exhaustive = True
        for depth in range(1, n_jobs + 1):
            if self.search.over:
                return None
            found = self._expand(level, depth, ub)
            if not len(found.node):
                return Run(None, exhaustive)
            if len(found.node) > width:
                exhaustive = False
                best = np.argpartition(found.guide, width - 1)[:width]
                best.sort()
                found = found.take(best)
            choices.append((found.node, found.job + n_jobs * found.side))
            if depth < n_jobs:
                level = self._make(level, found)
        # The bound of a complete schedule is its makespan.
        return Run(self._permutation(choices, int(found.bound.argmin())), exhaustive)

    def _root(self) -> Level:
        level = Level.empty(1, *self.times.shape)
        level.remain[0] = self.times.sum(axis=1)
        level.bound[0] = self.root_bound
        level.free[:] = 1
        return level

    def _expand(self, level: Level, depth: int, ub: int) -> Candidates:
        """Children of all nodes below ``ub``, in the order of nodes and jobs."""
        n_machines, n_jobs = self.times.shape
        nodes = len(level.bound)
        operations = nodes * (n_jobs - depth + 1) * n_machines
        chunks = min(self.search.threads, 1 + operations // CHUNK_OPERATIONS)
        cuts = [nodes * chunk // chunks for chunk in range(chunks + 1)]

        def part(first: int, last: int) -> Candidates:
            room = (last - first) * (n_jobs - depth + 1)
            out = Candidates.empty(room)
            tables = self.times, self.mirror, self.heads, self.tails
            alpha = depth / n_jobs
            count = expand(*tables, level, first, last, ub, alpha, self.gap, out)
            return out.take(slice(count))

        if chunks == 1:
            return part(0, nodes)
        parts = list(self.pool.map(part, cuts[:-1], cuts[1:]))
        return Candidates.join(parts)

    def _make(self, level: Level, chosen: Candidates) -> Level:
        new = Level.empty(len(chosen.node), *self.times.shape)
        make_nodes(self.times, self.mirror, level, chosen, new)
        return new

    def _permutation(
        self, choices: list[tuple[NDArray[np.int32], NDArray[np.int32]]], row: int
    ) -> NDArray[np.int32]:
        """Follow the parents of the last level's node up to the root."""
        n_jobs = self.times.shape[1]
        prefix: list[int] = []
        suffix: list[int] = []
        for nodes, moves in reversed(choices):
            side, job = divmod(int(moves[row]), n_jobs)
            (suffix if side else prefix).append(job)
            row = int(nodes[row])
        return np.array(prefix[::-1] + suffix, dtype=np.int32)
