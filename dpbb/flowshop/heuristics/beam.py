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
from dpbb.flowshop.heuristics.neh import neh
from dpbb.flowshop.heuristics.search import Search, improve
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.models.lb1_cpu import Lb1
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.pairs import Room
from dpbb.kernels.pointers import addresses

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
        beams = _Beams(search, pool, incumbent.value)
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
        _Beams(tiny, pool, 100).run(1, 100)


class _Beams:
    """Runs of different widths on one instance, below an upper bound."""

    def __init__(self, search: Search, pool: ThreadPoolExecutor, ub: int) -> None:
        problem = FlowShopProblem(search.instance)
        self.search = search
        self.pool = pool
        dtype = Lb1.narrowest_dtype(problem, ub)
        self.lane = dtype(0)
        self.model = Lb1.of(problem, None, dtype)
        self.model_at = addresses(self.model)
        n_machines, n_jobs = search.instance.n_machines, search.instance.n_jobs
        # Which guide is better on which sizes: the source's experiments, repeated.
        self.gap = n_machines <= 10 or (n_machines <= 20 and n_jobs >= 100)

    def run(self, width: int, ub: int) -> Run | None:
        """Search below ``ub`` with a beam; None when a limit was reached."""
        n_jobs = self.model.n_jobs
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
        level = Level.empty(self.model, 1, self.model.n_jobs)
        level.nodes[0] = self.model.root
        level.jobs[0] = np.arange(self.model.n_jobs)
        return level

    def _room(self) -> Room:
        return Room.of(self.model, self.model.n_jobs, self.lane.dtype)

    def _expand(self, level: Level, depth: int, ub: int) -> Candidates:
        """Children of all nodes below ``ub``, in the order of nodes and jobs."""
        n_machines, n_jobs = self.model.height, self.model.n_jobs
        nodes = len(level.nodes)
        operations = nodes * (n_jobs - depth + 1) * n_machines
        chunks = min(self.search.threads, 1 + operations // CHUNK_OPERATIONS)
        cuts = [nodes * chunk // chunks for chunk in range(chunks + 1)]

        def part(first: int, last: int) -> Candidates:
            room = self._room()
            spare = np.empty_like(self.model.root)
            out = Candidates.empty((last - first) * (n_jobs - depth + 1))
            count = expand(
                self.model_at,
                addresses(room),
                self.lane,
                level,
                first,
                last,
                ub,
                depth / n_jobs,
                self.gap,
                spare,
                out,
            )
            return out.take(slice(count))

        if chunks == 1:
            return part(0, nodes)
        parts = list(self.pool.map(part, cuts[:-1], cuts[1:]))
        return Candidates.join(parts)

    def _make(self, level: Level, chosen: Candidates) -> Level:
        r = level.jobs.shape[1] - 1
        below = Level.empty(self.model, len(chosen.node), r)
        room = self._room()
        make_nodes(self.model_at, addresses(room), self.lane, level, chosen, below)
        return below

    def _permutation(
        self, choices: list[tuple[NDArray[np.int32], NDArray[np.int32]]], row: int
    ) -> NDArray[np.int32]:
        """Follow the parents of the last level's node up to the root."""
        n_jobs = self.model.n_jobs
        prefix: list[int] = []
        suffix: list[int] = []
        for nodes, moves in reversed(choices):
            side, job = divmod(int(moves[row]), n_jobs)
            (suffix if side else prefix).append(job)
            row = int(nodes[row])
        return np.array(prefix[::-1] + suffix, dtype=np.int32)
