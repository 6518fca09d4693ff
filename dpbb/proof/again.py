"""Parts of a claim's tree, explored again by an engine, here or elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from random import Random
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.base import Device
from dpbb.engines.registry import get_engine
from dpbb.estimation.roots import RootSample
from dpbb.estimation.sampling import Sampler
from dpbb.options import TreeOptions
from dpbb.problem import Problem, bound_of, objective_of
from dpbb.problems import name_of_bound
from dpbb.proof import checker
from dpbb.proof.pieces import Explorer, Found, Task, side_by_side
from dpbb.tree.branching import bound_children
from dpbb.tree.work_unit import WorkUnit

Path: TypeAlias = "tuple[int, ...]"

Counts: TypeAlias = "tuple[int, int, Counter[int]]"
"""Decomposed nodes, leaves, and closed subtrees by depth."""

Pieces: TypeAlias = "Sequence[tuple[Sequence[Path], set[Path]]]"
"""Roots, and those below them that were given away."""

Elsewhere: TypeAlias = (
    "Callable[[Problem[Any], TreeOptions, bool, Sequence[Task]],"
    " Iterator[tuple[int, Found]]]"
)
"""Explores tasks of a tree, for all optima or not, in another place.

Yields the number of each and what was found, in any order.
"""

SAMPLES = 4
"""Nodes of a stratum that an estimate keeps, where nothing of a problem is compiled."""


class Missed(checker.Failed):
    """A schedule was found that is better than what is claimed."""


class Node:
    """A node, as ``checker.Tree`` has them: its path and the jobs that are left."""

    def __init__(self, path: Path, jobs: NDArray[np.intp], state: Any) -> None:
        self.path, self.jobs, self.state = path, jobs, state
        self.known: tuple[int, bool, list[int]] | None = None  # at a UB: side, bounds


class Nodes:
    """Nodes of any problem's tree, by its own methods, as ``checker.Tree`` has them."""

    def __init__(self, problem: Problem[Any], tree: TreeOptions) -> None:
        self._problem, self._tree, self.n_jobs = problem, tree, problem.n_jobs
        order = np.array(tree.root_order or range(self.n_jobs), np.intp)
        self.root = Node((), order, problem.root_state())

    def bounds(self, node: Node, ub: int) -> list[int]:
        """Bounds of a node's children; of a leaf none."""
        if len(node.jobs) == 1:
            return []
        if node.known is None or node.known[0] != ub:
            about = self._problem, self._tree, node.state, node.jobs
            back, bounds = bound_children(*about, len(node.path), ub)
            node.known = ub, back, [int(bound) for bound in bounds]
        return node.known[2]

    def child(self, node: Node, digit: int) -> Node:
        """Return a child of a node whose bounds are known; leaves have no state."""
        state, jobs = node.state, node.jobs
        if node.known is not None and len(jobs) > 2:
            state = self._problem.extend(state, int(jobs[digit]), back=node.known[1])
        return Node((*node.path, digit), np.delete(jobs, digit), state)

    def weigh(self, pieces: Pieces, ub: int, rng: Random) -> float:
        """Estimate the number of nodes of a part, as ``checker.Tree.weigh`` does."""
        counts, nodes = checker.parted_all(self, pieces, ub)
        if not nodes:
            return float(counts[0])
        unit = WorkUnit.from_paths(self.n_jobs, sorted(node.path for node in nodes))
        sampler = Sampler(self._problem, self._tree, ub, RootSample.of(unit))
        (*_, last) = sampler.rounds(
            seconds=0.0, samples=SAMPLES, probes=1, threads=1, seed=rng.getrandbits(32)
        )
        return counts[0] + last.mean


def nodes_of(
    problem: Problem[Any], tree: TreeOptions, content: dict[str, Any]
) -> Nodes | checker.Tree:
    """Return nodes of a certificate's tree: the checker's if it knows the problem."""
    instance = {"kind": checker.KIND, **content["instance"]}
    own = instance["kind"] != checker.KIND
    if own or name_of_bound(bound_of(problem)) not in checker.BOUNDS:
        return Nodes(problem, tree)
    shop, options = checker.Shop(instance), content["tree"]
    size = len(shop.times) * len(shop.times[0]) * content["totals"]["decomposed"]
    fast = size > checker.FAST and checker.numba_here() is not None
    return checker.Tree(shop, options, fast=fast)


class Again:
    """Explores parts of the claim's tree, for ``checker.Audit``.

    Nodes are those of ``checker.Tree`` where that knows the problem: it draws, and
    walks to what is left of a unit. The engine explores.
    """

    def __init__(
        self,
        problem: Problem[Any],
        content: dict[str, Any],
        engine: str,
        elsewhere: Elsewhere | None,
    ) -> None:
        self._problem, self._tree = problem, TreeOptions.from_json(content["tree"])
        self._all_optima = bool(content["result"]["all_optima"])
        self._elsewhere = elsewhere
        self.name = engine if elsewhere is None else "a cluster"
        self._here: list[Explorer] = []
        self._nodes = nodes_of(problem, self._tree, content)
        self.weigh = self._nodes.weigh
        if elsewhere is None:
            chosen = get_engine(engine)
            devices = chosen.devices() or [Device("cpu", "verify")]
            self._here = [
                Explorer(problem, self._tree, self._all_optima, chosen, device)
                for device in devices
            ]

    def explore_all(
        self, jobs: Sequence[tuple[Pieces, int, int]]
    ) -> Generator[tuple[int, Counts | None]]:
        """Explore parts, as ``checker.Tree.explore_all`` does, in any order."""
        above, tasks = [], []
        for pieces, ub, most in jobs:
            sums, roots = (0, 0, Counter[int]()), [*pieces[0][0]]
            if len(pieces) > 1 or pieces[0][1]:
                sums, nodes = checker.parted_all(self._nodes, pieces, ub)
                roots = [node.path for node in nodes]
            above.append(sums)
            tasks.append((sorted(roots), ub, most))
        for index, found in self.explore_roots(tasks):
            yield index, found and checker.plus(above[index], found)

    def explore_roots(
        self, jobs: Sequence[tuple[Sequence[Path], int, int]]
    ) -> Generator[tuple[int, Counts | None]]:
        """Explore lists of roots; yields the number of each, and its counts.

        None instead of these if there are more than so many nodes.
        """
        tasks = [Task(*job) for job in jobs]
        for index, found in self._found(tasks):
            ub = tasks[index].ub
            if found.best is not None and found.best < ub - self._all_optima:
                raise Missed(
                    f"a schedule of {objective_of(self._problem)} {found.best} below "
                    f"{ub} was missed"
                )
            whole = found.whole and found.nodes <= tasks[index].most
            counts = found.decomposed, found.leaves, found.closed
            yield index, counts if whole else None

    def _found(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Found]]:
        # an engine takes no empty list: nothing is left of such a part
        yield from ((at, Found()) for at, task in enumerate(tasks) if not task.roots)
        some = [at for at, task in enumerate(tasks) if task.roots]
        wanted = [tasks[at] for at in some]
        found: Iterator[tuple[int, Found]]
        if self._elsewhere is None:
            found = side_by_side(self._here, wanted)
        else:
            about = self._problem, self._tree, self._all_optima
            found = self._elsewhere(*about, wanted)
        yield from ((some[at], one) for at, one in found)

    def close(self) -> None:
        """Free the session."""
        for explorer in self._here:
            explorer.close()
