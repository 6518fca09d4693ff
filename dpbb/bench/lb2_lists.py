"""Lists of open nodes for the papers' protocol: the same nodes for every arm.

A list belongs to an instance, a seed and a rule. Its upper bound is the least makespan
that is published, or, where trees are too small then, the least of some above it.
Leaves do not lower it, so the tree below a list is the same in every order. Where the
tree of a node is larger than is wanted, a search deepest first ends early, and the
shallowest of the nodes that it leaves open come in its place. Nodes are counted, no
clock is looked at: a seed gives the same list everywhere.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.base import Device
from dpbb.engines.driver import explore_to_end
from dpbb.engines.pool.engine import PoolEngine
from dpbb.engines.pool.settings import PoolSettings
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import BranchingRule, Selection, TreeOptions
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from dpbb.engines.pool.session import PoolSession
    from dpbb.tree.counters import Counters

CLASSES = {"20x20": 21, "50x20": 51, "100x20": 81, "200x20": 101}
"""Number of the first of ten instances."""

WANTED = {20: 4_000_000, 50: 2_000_000, 100: 900_000, 200: 450_000}
"""Two-machine bounds of a list by jobs: a minute of a core in plain loops, and more."""

PARTS = 10
"""A node of a list has at most this part of the bounds that are wanted."""

LEAST = 100
"""It has at least this part of the most."""

INSTEAD = 40
"""Open nodes that come in the place of one whose tree is too large."""

MOST_NODES = 600
"""A list ends after so many have been looked at, however few bounds it has."""

ABOVE = (0, 4, 10, 20, 40, 80, 160)
"""Upper bounds above the one that is published."""


@dataclass(frozen=True, slots=True)
class NodeList:
    """Open nodes of one instance, and what is below them.

    Parameters
    ----------
    instance, branching, seed, ub
        What the list is a function of, with ``wanted``.
    paths
        Digits of every node.
    bounded
        Two-machine bounds in the tree below.
    decomposed, leaves
        Nodes there.
    """

    instance: str
    branching: str
    seed: int
    ub: int
    wanted: int
    paths: tuple[tuple[int, ...], ...]
    bounded: int
    decomposed: int
    leaves: int

    @property
    def problem(self) -> FlowShopProblem:
        """The shop with LB2."""
        return FlowShopProblem(taillard_instance(self.instance), "lb2")

    @property
    def tree(self) -> TreeOptions:
        """Its tree."""
        return TreeOptions(BranchingRule(self.branching), bound="lb2")

    @property
    def unit(self) -> WorkUnit:
        """The nodes as roots."""
        return WorkUnit.from_paths(self.problem.n_jobs, self.paths)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> NodeList:
        """Return what ``to_json`` gave."""
        paths = tuple(tuple(path) for path in data["paths"])
        return cls(**{**data, "paths": paths})


def make_list(
    instance: str, branching: str, seed: int, wanted: int, end: float = math.inf
) -> NodeList | None:
    """Return the list of a seed; on one core. None after ``end`` (monotonic)."""
    problem = FlowShopProblem(taillard_instance(instance), "lb2")
    tree = TreeOptions(BranchingRule(branching), bound="lb2")
    known = problem.best_known
    published = problem.trivial_ub if known is None else int(known.upper_bound)
    found = None
    for above in ABOVE:
        search = _ListSearch(problem, tree, published + above, seed, wanted, end)
        try:
            paths, counts = search.run()
        finally:
            search.close()
        if time.monotonic() > end:
            return None
        found = NodeList(
            *(instance, branching, seed, published + above, wanted, paths), *counts
        )
        if found.bounded >= wanted:
            break
    return found


class _ListSearch:
    """Looks for the nodes of a list below one upper bound."""

    def __init__(
        self,
        problem: FlowShopProblem,
        tree: TreeOptions,
        ub: int,
        seed: int,
        wanted: int,
        end: float,
    ) -> None:
        self._problem, self._tree, self._ub = problem, tree, ub
        self._wanted, self._end = wanted, end
        self._rng = np.random.default_rng([seed, problem.n_jobs])
        self._session = self._open()

    def run(self) -> tuple[tuple[tuple[int, ...], ...], tuple[int, int, int]]:
        """Return the nodes; two-machine bounds, decomposed nodes and leaves below."""
        waiting: list[tuple[int, ...]] = [()]
        paths: list[tuple[int, ...]] = []
        bounded = decomposed = leaves = 0
        for _ in range(MOST_NODES):
            if bounded >= self._wanted or not waiting or time.monotonic() > self._end:
                break
            path = waiting.pop(int(self._rng.integers(len(waiting))))
            found = self._explore(path, waiting)
            if found is None:
                continue
            counters, count = found
            if count >= self._wanted // PARTS // LEAST:
                paths.append(path)
                bounded += count
                decomposed += counters.decomposed
                leaves += counters.leaves
        return tuple(sorted(paths)), (bounded, decomposed, leaves)

    def close(self) -> None:
        """End the thread."""
        self._session.close()

    def _open(self) -> PoolSession:
        settings = PoolSettings(
            pool_size=512, selection=Selection.DEPTH, in_flight=1, keeps_ub=True
        )
        core = Device("cpu", "core", threads=1)
        given = (settings, self._problem, self._tree, core)
        return PoolEngine().open_with(*given, ub=self._ub)

    def _explore(
        self, path: tuple[int, ...], waiting: list[tuple[int, ...]]
    ) -> tuple[Counters, int] | None:
        """Return counts and two-machine bounds below a node.

        None if there are more than it may have: then some of its open nodes wait.
        """
        session, most = self._session, self._wanted // PARTS
        before = int(session.statistics["bounded"])
        session.load(WorkUnit.from_paths(self._problem.n_jobs, [path]))
        total = explore_to_end(
            session,
            self._ub,
            0.0,
            lambda _part, _all: session.statistics["bounded"] > before + most,
        )
        if total.exhausted:
            counters = total.counters
            return counters, int(session.statistics["bounded"]) - before
        open_nodes = session.remaining()
        some = np.argsort(open_nodes.depths, kind="stable")[:INSTEAD]
        waiting += [open_nodes.path(int(index)) for index in some]
        session.close()
        self._session = self._open()
        return None
