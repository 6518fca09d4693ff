"""Cutting a tree where estimates say that subtrees are small enough."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import CancelledError
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from dpbb.estimation.roots import RootSample
from dpbb.estimation.sampling import Sampler
from dpbb.kernels.cores import in_parts, usable_cores
from dpbb.proof.walking import Growing, Node, trailing_zeros
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpbb.options import TreeOptions
    from dpbb.problem import Problem

Root: TypeAlias = "tuple[int, ...]"

SMALL = 0.5
"""What is estimated at more than this of the nodes that a part may have is cut, and
neighbors are explored as one part up to so many."""

LEAST_SAMPLES, MOST_SAMPLES, NODES_A_SAMPLE = 32, 512, 2**19
"""Nodes of a stratum that an estimate keeps: one for every so many that a part may
have, so that estimating takes little beside exploring."""

FEW_LARGE = 1 / 50
"""Once more than this of all parts turn out to be too large, estimates keep twice as
many nodes."""

COARSE = 256
"""The tree is cut into so many parts first. While some are explored, others are cut."""

FEW_ROOTS = 64
"""A part has no more roots."""

BATCH = 32
"""Roots that a core estimates at a time."""


@dataclass(slots=True, eq=False)
class Part:
    """Roots of a part that is not done, and about how many nodes it has, at least.

    One that is small is explored as it is: by its estimate, or as it cannot be cut.
    """

    nodes: int
    roots: list[Root]
    is_small: bool = False


class Cut(NamedTuple):
    """Parts that were cut, the new ones, and what was found above these.

    ``closed``: pruned subtrees by depth; ``above``: nodes.
    """

    parts: list[Part]
    new: list[Part]
    closed: Counter[int]
    above: int


class _Family(NamedTuple):
    """Siblings, or roots, of a part, which have so many nodes together, at least."""

    part: int
    siblings: list[Node]
    known: float


class Cutter:
    """Cuts what is too large where estimates say that it is small enough.

    Attributes
    ----------
    over
        Once it is set, cutting ends with a ``CancelledError``.

    Parameters
    ----------
    problem, tree, ub
        Of the tree.
    most
        Nodes that a part may have.

    Notes
    -----
    In narrow trees most estimates with few samples are far too low, and some far too
    high. Of 300 parts of VFR50_15_1 with up to 2 * 10^9 nodes (by a script) the truth
    was 0.26 to 18 times the estimate with 8 samples, and 0.64 to 1.5 times that with
    512 (2 and 98 % points), which takes some 40 times as long: 20 to 30 ms for a root.
    """

    def __init__(
        self, problem: Problem[Any], tree: TreeOptions, ub: int, most: int
    ) -> None:
        self._problem, self._tree, self._ub = problem, tree, ub
        self._small, self.over = SMALL * most, Event()
        sampler = Sampler(problem, tree, ub)
        self._sampler = sampler if sampler.compiled else None
        samples = max(LEAST_SAMPLES, most // NODES_A_SAMPLE)
        self._samples = min(samples, MOST_SAMPLES)
        self._tried = self._large = 0

    def note(self, tried: int, large: int) -> None:
        """Take note of how many parts were explored, and found to be too large."""
        self._tried, self._large = self._tried + tried, self._large + large
        if self._large > 2 + FEW_LARGE * self._tried:
            self._samples = min(2 * self._samples, MOST_SAMPLES)
            self._tried = self._large = 0

    def cut(self, parts: list[Part]) -> Cut:
        """Make several of each part that is too large; the others are small.

        Those that are still too large can be cut again.
        """
        growing = Growing(self._problem, self._tree, self._ub)
        gone, new = [], []
        for part, found in zip(parts, self._cut(growing, parts), strict=True):
            part.is_small = [one.roots for one in found] == [part.roots]
            if not part.is_small:
                gone.append(part)
                new += found
        # with its first leaf
        above = sum(map(trailing_zeros, growing.pruned))
        return Cut(gone, new, Counter(map(len, growing.pruned)), above)

    def _cut(self, growing: Growing, parts: list[Part]) -> Iterator[list[Part]]:
        """Yield what becomes of each part; all are estimated together, on all cores."""
        limits, families = [], []
        for at, part in enumerate(parts):
            coarse = 0.0 if part.roots[0] else part.nodes / COARSE
            limits.append(max(self._small, coarse))
            families.append(_Family(at, growing.walked(part.roots), float(part.nodes)))
        kept: list[list[tuple[Root, float]]] = [[] for _ in parts]
        while families:
            estimated, families = self._estimated(families), []
            for at, node, size in estimated:
                if not node.can_be_cut:
                    kept[at].append((node.path, min(size, self._small)))
                elif size <= limits[at]:
                    kept[at].append((node.path, size))
                elif self.over.is_set():
                    raise CancelledError  # also where nothing is estimated
                else:
                    families.append(_Family(at, growing.children(node), size))
        return ([*self._grouped(found)] for found in kept)

    def _grouped(self, found: list[tuple[Root, float]]) -> Iterator[Part]:
        """Yield parts of neighbors that are small together, if each of them is."""
        roots: list[Root] = []
        nodes = 0.0
        for path, size in [*sorted(found), ((), np.inf)]:
            if roots and (nodes + size > self._small or len(roots) == FEW_ROOTS):
                yield Part(int(nodes), roots, int(nodes) <= self._small)
                roots, nodes = [], 0.0
            roots.append(path)
            nodes += size

    def _estimated(self, families: list[_Family]) -> Iterator[tuple[int, Node, float]]:
        """Yield the part and the estimated nodes of each node.

        Where there is no sampler, all siblings have the same.
        """
        nodes = [node for family in families for node in family.siblings]
        sizes = np.ones(len(nodes))
        if self._sampler is not None and nodes:
            each, n_jobs = self._sampler.each, self._problem.n_jobs
            seeds = np.random.SeedSequence(len(nodes)).spawn(-(-len(nodes) // BATCH))

            def estimate(begin: int, end: int) -> None:
                if self.over.is_set():
                    raise CancelledError
                # in any order, where a unit of work has its own
                order = sorted(range(begin, end), key=lambda at: nodes[at].path)
                paths = [nodes[at].path for at in order]
                roots = RootSample.of(WorkUnit.from_paths(n_jobs, paths))
                sizes[order] = each(roots, self._samples, seeds[begin // BATCH])

            # those that explore meanwhile want cores, too
            threads = usable_cores() - usable_cores() // 4
            in_parts(estimate, len(nodes), BATCH, threads)
        sizes = np.maximum(sizes, 1.0)
        begin = 0
        for at, siblings, known in families:
            part = sizes[begin : begin + len(siblings)]
            # an estimate that is far too high would cut its children to pieces
            least = known if self._sampler is None else min(known, 4 * self._small)
            part *= max(1.0, least / max(1.0, part.sum()))
            begin += len(siblings)
            for node, size in zip(siblings, part.tolist(), strict=True):
                yield at, node, size
