"""A seat's session on a replayed tree: the engine of the simulation.

Gives what ``dpbb.engines.base.Session`` gives, slices excepted: work is done in one go
up to a moment. The counts are those of the nodes that the simulation takes apart: a
subtree worked off in one go counts as closed at its root, so that every report passes
the checks of the ledger.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from tests.worlds.scale.tree import Node, ReplayedTree

GRAIN = 5e-3
"""Subtrees of less than this share of a second's work are not taken apart."""


class SeatSession:
    """Open roots of one seat, and the counts of what it closed.

    Parameters
    ----------
    tree
        The tree.
    speed
        Nodes a second of the seat.
    """

    def __init__(self, tree: ReplayedTree, speed: float) -> None:
        self._tree = tree
        self._grain = speed * GRAIN
        self._roots: dict[tuple[int, ...], Node] = {}
        self._least: list[tuple[float, int, Node]] = []  # heap, by size
        self._most: list[tuple[float, int, Node]] = []  # heap, by -size
        self._ties = count()
        self._credit = 0.0
        self.size = 0.0  # what is open, less what was done of it
        self.start()

    def start(self) -> None:
        """Begin a lease: nothing counted yet."""
        self.closed = np.zeros(self._tree.n_jobs + 1, np.int64)
        self.decomposed = 0

    def __len__(self) -> int:
        return len(self._roots)

    def load(self, unit: WorkUnit) -> None:
        """Add roots."""
        self.decomposed += unit.owned_ancestors
        for index in range(len(unit)):
            self._add(self._tree.take(unit.path(index)))
        self._refill()
        self._resize()

    def work(self, nodes: float) -> None:
        """Work off so many nodes; which ones is found when somebody looks."""
        self._credit += nodes
        self.size -= nodes

    def settle(self) -> None:
        """Close what was worked off, the smallest subtrees first."""
        while self._roots:
            node = self._pop(self._least)
            if node.size <= self._credit:
                self._credit -= node.size
                self.closed[len(node.path)] += 1
            elif node.size <= self._grain or not self._split(node):
                self._add(node)
                break
        if not self._roots:
            self._credit = 0.0
        self._resize()
        self._refill()

    def finish(self) -> None:
        """Work off all that is open."""
        self._credit = 0.0
        for path in self._roots:
            self.closed[len(path)] += 1
        self._forget_all()

    def donate(self, max_roots: int) -> WorkUnit:
        """Give every second root, the shallowest first (as the engines do)."""
        self.settle()
        kept, given = self._unit().donate(max_roots)
        if not len(kept):
            return WorkUnit.empty(self._tree.n_jobs)
        for index in range(len(given)):
            self._tree.export(self._roots.pop(given.path(index)))
        self._resize()
        return given

    def remaining(self, *, export: bool = True) -> WorkUnit:
        """All open roots; with ``export`` they leave the seat."""
        self.settle()
        if export:
            for node in self._roots.values():
                self._tree.export(node)
        return self._unit()

    # -- inside -----------------------------------------------------------------

    def _unit(self) -> WorkUnit:
        # disjoint paths: as tuples they sort in leaf order
        paths = sorted(self._roots)
        if not paths:
            return WorkUnit.empty(self._tree.n_jobs)
        depths = np.array([len(path) for path in paths], np.uint16)
        digits = np.zeros((len(paths), max(1, int(depths.max()))), np.uint16)
        for row, path in enumerate(paths):
            digits[row, : len(path)] = path
        return WorkUnit.from_table(self._tree.n_jobs, depths, digits)[0]

    def _add(self, node: Node) -> None:
        self._roots[node.path] = node
        tie = next(self._ties)
        heapq.heappush(self._least, (node.size, tie, node))
        heapq.heappush(self._most, (-node.size, tie, node))

    def _pop(self, heap: list[tuple[float, int, Node]]) -> Node:
        """Take the first open root out of one of the heaps."""
        while True:
            node = heapq.heappop(heap)[2]
            if self._roots.get(node.path) is node:
                del self._roots[node.path]
                return node

    def _split(self, node: Node) -> bool:
        """Decompose a root that was taken out; False if it cannot be."""
        children = self._tree.children(node)
        if not children:
            return False
        depth = len(node.path)
        self.decomposed += 1
        self.closed[depth + 1] += self._tree.n_jobs - depth - len(children)
        for child in children:
            self._add(child)
        return True

    def _refill(self) -> None:
        """Take the largest roots apart until there are enough, as explorers do."""
        while 0 < len(self._roots) < self._tree.open_roots:
            node = self._pop(self._most)
            if node.size <= self._grain or not self._split(node):
                self._add(node)
                break

    def _resize(self) -> None:
        self.size = sum(node.size for node in self._roots.values()) - self._credit
        if len(self._least) > 8 * (len(self._roots) + 8):
            nodes = list(self._roots.values())
            self._forget_all()
            for node in nodes:
                self._add(node)
            self.size = sum(node.size for node in nodes) - self._credit

    def _forget_all(self) -> None:
        self._roots, self._least, self._most = {}, [], []
        self.size = 0.0
