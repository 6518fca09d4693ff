"""Parts of a claim's tree, explored again by an engine, here or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from random import Random
from typing import Any, TypeAlias

import numpy as np

from dpbb.engines.base import Device
from dpbb.engines.registry import get_engine
from dpbb.estimation.plain import sampler_of
from dpbb.estimation.roots import RootSample
from dpbb.estimation.sampling import FIRST_SAMPLES, Sampler
from dpbb.options import TreeOptions
from dpbb.problem import Problem, Tightens, objective_of
from dpbb.proof import checker
from dpbb.proof.pieces import Explorer, Found, Task, side_by_side
from dpbb.tree.branching import bound_children
from dpbb.tree.work_unit import WorkUnit

Counts: TypeAlias = "tuple[int, int, dict[int, int]]"
"""Decomposed nodes, leaves, and closed subtrees by depth."""

SAMPLES = 64
"""Nodes of a stratum that an estimate of a large unit keeps."""

Elsewhere: TypeAlias = (
    "Callable[[Problem[Any], TreeOptions, bool, Sequence[Task]],"
    " Iterator[tuple[int, Found]]]"
)
"""Explores tasks of a tree, for all optima or not, in another place.

Yields the number of each and what was found, in any order.
"""


class Missed(checker.Failed):
    """A schedule was found that is better than what is claimed."""


class Again:
    """Explores parts of the claim's tree, for ``checker.Audit``."""

    def __init__(
        self,
        problem: Problem[Any],
        content: dict[str, Any],
        engine: str,
        elsewhere: Elsewhere | None,
    ) -> None:
        self._problem, self._tree = problem, TreeOptions.from_json(content["tree"])
        self._all_optima = bool(content["result"]["all_optima"])
        self._tightens = problem if isinstance(problem, Tightens) else None
        self._elsewhere = elsewhere
        self.name = engine if elsewhere is None else "a cluster"
        self._here: list[Explorer] = []
        if elsewhere is None:
            chosen = get_engine(engine)
            devices = chosen.devices() or [Device("cpu", "verify")]
            self._here = [
                Explorer(problem, self._tree, self._all_optima, chosen, device)
                for device in devices
            ]

    def explore(self, roots: list[list[int]], ub: int, most: int) -> Counts | None:
        """Explore roots; returns decomposed, leaves, closed by depth.

        None if there are more than ``most`` nodes, as the checker's own has it.
        """
        ((_, found),) = self.explore_all([(roots, ub, most)])
        return found

    def explore_all(
        self, jobs: Sequence[tuple[list[list[int]], int, int]]
    ) -> Generator[tuple[int, Counts | None]]:
        """Explore several; yields the number of each, and what ``explore`` returns."""
        for index, found in self._found(jobs):
            _, ub, most = jobs[index]
            if found.best is not None and found.best < ub - self._all_optima:
                raise Missed(
                    f"a schedule of {objective_of(self._problem)} {found.best} below "
                    f"{ub} was missed"
                )
            whole = found.whole and found.nodes <= most
            counts = found.decomposed, found.leaves, dict(found.closed)
            yield index, counts if whole else None

    def reach_all(
        self, jobs: Sequence[tuple[list[list[int]], int, int]]
    ) -> Iterator[tuple[int, bool | None]]:
        """Whether there are so many nodes; None where a better schedule hides it."""
        for index, found in self._found([(*job[:2], job[2] - 1) for job in jobs]):
            enough = found.nodes >= jobs[index][2]
            yield index, enough or (False if found.best is None else None)

    def estimate_all(
        self, jobs: Sequence[tuple[list[list[int]], int, Random, int]]
    ) -> Iterator[tuple[int, float]]:
        """As ``explore_all``, with what ``estimate`` returns."""
        return ((index, self.estimate(*job)) for index, job in enumerate(jobs))

    def _found(
        self, jobs: Sequence[tuple[list[list[int]], int, int]]
    ) -> Iterator[tuple[int, Found]]:
        tasks = [Task(*job) for job in jobs]
        if self._elsewhere is not None:
            yield from self._elsewhere(
                self._problem, self._tree, self._all_optima, tasks
            )
        else:
            yield from side_by_side(self._here, tasks)

    def close(self) -> None:
        """Free the session."""
        for explorer in self._here:
            explorer.close()

    def descend(
        self, rng: Random, ub: int, start: Sequence[int] = ()
    ) -> tuple[list[int], list[int]]:
        """Walk down a root, then at random, as ``checker.Tree.descend`` does."""
        problem, tree = self._problem, self._tree
        order = tree.root_order or range(problem.n_jobs)
        jobs, state = np.array(order, np.intp), problem.root_state()
        path: list[int] = []
        widths: list[int] = []
        while len(jobs) > 1:
            back, bounds = bound_children(
                *(problem, self._tightens, tree, state, jobs, len(path), ub)
            )
            digits = np.flatnonzero(bounds < ub)
            if len(path) < len(start):
                digits = digits[digits == start[len(path)]]
            if not len(digits):
                break
            widths.append(len(digits))
            path.append(int(rng.choice(digits)))
            if len(jobs) > 2:
                state = problem.extend(state, int(jobs[path[-1]]), back=back)
            jobs = np.delete(jobs, path[-1])
        return path, checker.sizes_of(widths)

    def estimate(
        self, roots: list[list[int]], ub: int, rng: Random, _nodes: int
    ) -> float:
        """Estimate the nodes below roots, without bias, by the sampler of estimates."""
        unit = WorkUnit.from_paths(self._problem.n_jobs, sorted(roots))
        sampler = sampler_of(self._problem, self._tree, ub, RootSample.of(unit))
        samples = SAMPLES if isinstance(sampler, Sampler) else FIRST_SAMPLES
        rounds = sampler.rounds(
            seconds=0.0, samples=samples, probes=1, threads=1, seed=rng.getrandbits(32)
        )
        return rounds[-1].mean
