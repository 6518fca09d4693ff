"""Lists of open nodes for the papers' protocol: the same nodes for every arm.

A list belongs to an instance, a seed and a rule. Its upper bound is the least makespan
that is published, or a little more where the whole tree is too small then. It stays as
it is, so that the tree is the same in every order: one list of the 80 has schedules
below it (the whole tree of ta030, both sides). A search deepest first runs for a while,
as long as the seed says, and then for as many bounds as are wanted: the nodes that are
begun and ended in this time are the list; of a smaller tree it is the root. Bounds are
counted, no clock is looked at: a seed gives the same list everywhere.
"""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpbb.engines.base import Device
from dpbb.engines.driver import explore_to_end
from dpbb.engines.pool.bounding import bound_children
from dpbb.engines.pool.engine import PoolEngine
from dpbb.engines.pool.nodes import Batch
from dpbb.engines.pool.session import PoolSession
from dpbb.engines.pool.settings import PoolSettings
from dpbb.flowshop.models.pool import PoolFlowShop
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import BranchingRule, Selection, TreeOptions
from dpbb.tree.counters import Counters
from dpbb.tree.work_unit import WorkUnit

CLASSES = {"20x20": 21, "50x20": 51, "100x20": 81, "200x20": 101}
"""Number of the first of ten instances."""

WANTED = {20: 3_000_000, 50: 1_000_000, 100: 900_000, 200: 600_000}
"""Two-machine bounds of a list by jobs: a minute of a core in plain loops, and more."""

LONGER = {
    (f"ta{number:03}", rule): longer
    for rule, longer, numbers in (
        ("minmin", 1.2, (22, 27, 101)),
        ("minmin", 1.3, (23, 25, 26, 54, 58, 59, 60, 85, 89, 102, 109)),
        ("minmin", 1.4, (24, 55)),
        ("minmin", 1.5, (52, 53)),
        ("minmin", 1.6, (51,)),
        ("minmin", 1.7, (21, 30)),
        ("front", 1.2, (23,)),
        ("front", 1.3, (24, 25, 26, 30, 87, 88, 89, 106)),
        ("front", 1.5, (21,)),
        ("front", 1.6, range(51, 61)),
        ("front", 2.0, (109,)),
    )
    for number in numbers
}
"""How much longer than others lists are that a core ended in less than a minute."""

BEFORE = 0.05, 0.5
"""Of the bounds that are wanted, how many come before the list; the seed draws."""

MORE = 1.05
"""Of them, how many the search goes on for: some are below nodes that are not over."""

ENOUGH = 0.5
"""Of the bounds that are wanted: with fewer a list is made again."""

HIGHER = 4
"""So much higher is the upper bound then, if the whole tree is too small."""

NARROWER = 4
"""So many fewer children are bounded together, if too few nodes have ended."""

POOL = {20: 512, 50: 512, 100: 4096, 200: 8192}
"""Children that are bounded together while a list is made, by jobs; of small lists
fewer. A node has more children then, and few of them are bounded."""

Path = tuple[int, ...]
"""Digits of a node."""

WHOLE_TREE: tuple[Path, ...] = ((),)
"""Its root alone."""


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


def size_of(instance: str) -> str:
    """Return the class of an instance."""
    number = int(instance[2:])
    return next(s for s, first in CLASSES.items() if first <= number < first + 10)


def make_list(
    instance: str, branching: str, seed: int, wanted: int, end: float = math.inf
) -> NodeList | None:
    """Return the list of a seed; on one core. None after ``end`` (monotonic)."""
    problem = FlowShopProblem(taillard_instance(instance), "lb2")
    tree = TreeOptions(BranchingRule(branching), bound="lb2")
    known = problem.best_known
    ub = problem.trivial_ub if known is None else known.upper_bound
    share = np.random.default_rng([seed, problem.n_jobs]).uniform(*BEFORE)
    pool = POOL[problem.n_jobs]
    while True:
        search = _Search(problem, tree, ub, wanted, pool, end)
        paths = search.open_nodes(int(share * wanted))
        counters, bounded = search.explored(paths)
        if time.monotonic() > end:
            return None
        if bounded >= ENOUGH * wanted:
            return NodeList(
                *(instance, branching, seed, ub, wanted, paths),
                *(bounded, counters.decomposed, counters.leaves),
            )
        if paths == WHOLE_TREE:
            ub += HIGHER
        else:
            pool //= NARROWER


class _Search:
    """Searches below one upper bound on one core, deepest first."""

    def __init__(
        self,
        problem: FlowShopProblem,
        tree: TreeOptions,
        ub: int,
        wanted: int,
        pool: int,
        end: float,
    ) -> None:
        self._problem, self._tree, self._ub, self._end = problem, tree, ub, end
        self._wanted, self._pool = wanted, pool

    def open_nodes(self, before: int) -> tuple[Path, ...]:
        """Return what is open after some bounds, and over after the list's.

        The root if all is over then.
        """
        with closing(self._open()) as session:
            session.load(WorkUnit.whole(self._problem.n_jobs))
            self._bound(session, before)
            begun = session.remaining()
            self._bound(session, before + MORE * self._wanted)
            left = session.remaining()
        if not len(left):
            return WHOLE_TREE
        return tuple(sorted(self._over(_paths(begun), _paths(left))))

    def _over(self, begun: set[Path], left: set[Path]) -> list[Path]:
        """Return the highest nodes at and below ``begun`` that nothing is left of."""
        unfinished = {path[:length] for path in left for length in range(len(path))}
        over = list(begun - unfinished - left)
        model = PoolFlowShop(self._problem, self._tree)
        nodes, paths = Batch.root(self._problem.n_jobs), [()]
        is_begun = [() in begun]  # it, or a node above it
        while paths:
            made = bound_children(model, nodes, slice(0, nodes.size), self._ub, None)
            parents = made.parent.tolist()
            pairs = zip(parents, made.digit.tolist(), strict=True)
            children = [(*paths[parent], digit) for parent, digit in pairs]
            below = [is_begun[parent] for parent in parents]
            over += [
                child
                for child, is_below in zip(children, below, strict=True)
                if is_below and child not in unfinished and child not in left
            ]
            kept = [i for i, child in enumerate(children) if child in unfinished]
            nodes, paths = made.children.take(kept), [children[i] for i in kept]
            is_begun = [below[i] or children[i] in begun for i in kept]
        return over

    def explored(self, paths: tuple[Path, ...]) -> tuple[Counters, int]:
        """Return the counts below nodes, and the two-machine bounds."""
        with closing(self._open()) as session:
            session.load(WorkUnit.from_paths(self._problem.n_jobs, paths))
            counters = self._bound(session, math.inf)
            return counters, int(session.statistics["bounded"])

    def _bound(self, session: PoolSession, most: float) -> Counters:
        """Search until there were so many bounds, or the end."""
        return explore_to_end(
            *(session, self._ub, 0.0),
            lambda _part, _all: (
                session.statistics["bounded"] >= most or time.monotonic() > self._end
            ),
        ).counters

    def _open(self) -> PoolSession:
        settings = PoolSettings(
            pool_size=min(self._pool, 1 + self._wanted * self._pool // 512_000),
            selection=Selection.DEPTH,
            in_flight=1,
            keeps_ub=True,
        )
        core = Device("cpu", "core", threads=1)
        given = (settings, self._problem, self._tree, core)
        return PoolEngine().open_with(*given, ub=self._ub)


def _paths(unit: WorkUnit) -> set[Path]:
    return {root.path for root in unit.roots()}  # one by one they take its square
