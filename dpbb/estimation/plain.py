"""The sampler for problems that no fast engine has a model of: the protocol alone.

The same method as ``dpbb.estimation.probe`` (P. C. Chen, SIAM Journal on Computing
21(2), 1992) in Python: some thousand nodes a second instead of millions.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.registry import get_engine
from dpbb.errors import OptionError
from dpbb.estimation.probe import MOST_STRATA, MOST_WEIGHT, Found
from dpbb.estimation.roots import RootSample
from dpbb.estimation.sampling import FIRST_SAMPLES, LEAST_STRATA, BaseSampler, Sampler
from dpbb.options import TreeOptions
from dpbb.problem import Problem, Tightens, root_bound
from dpbb.tree.branching import bound_children, refusal

MOST_ROOTS = 32
"""Roots of one depth that each probe walks to; of more, it draws this many."""


@dataclass(slots=True)
class _Node:
    """A node that was kept: the weight is how many it stands for."""

    state: Any
    jobs: NDArray[np.intp]
    weight: float
    stratum: int  # the least on its path


def sampler_of(
    problem: Problem[Any], tree: TreeOptions, ub: int, roots: RootSample | None = None
) -> Sampler | PlainSampler:
    """Return the fast sampler if the CPU engine takes the problem, else this one.

    OptionError: the problem has no such tree: another bound, or a rule that does not
    fit it.
    """
    reason = refusal(problem, tree)
    if reason is not None:
        raise OptionError(reason)
    fast = get_engine("cpu").supports(problem, tree) is None
    return (Sampler if fast else PlainSampler)(problem, tree, ub, roots)


class PlainSampler(BaseSampler):
    """Probes of any problem, by its own methods; see ``BaseSampler``."""

    most_threads = 1  # Python has one, and a problem need not expect others

    def __init__(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        ub: int,
        roots: RootSample | None = None,
    ) -> None:
        self._problem, self._tree = problem, tree
        self._tightens = problem if isinstance(problem, Tightens) else None
        super().__init__(problem, ub, roots, root_bound(problem))

    def _warm_up(self, seed: int) -> None:
        """Nothing is compiled."""

    def _most_strata(self, seconds: float) -> int:
        began = time.perf_counter()
        self._bounded(self._root(), 0)
        node_s = max(time.perf_counter() - began, 1e-5)
        first = FIRST_SAMPLES * self._problem.n_jobs * node_s
        return min(MOST_STRATA, max(LEAST_STRATA, int(seconds / first)))

    def _root(self) -> _Node:
        order = self._tree.root_order
        jobs = np.arange(self._problem.n_jobs) if order is None else np.array(order)
        root = self._problem.root_state()
        return _Node(root, jobs.astype(np.intp), 1.0, self._strata.count - 1)

    def _bounded(self, node: _Node, depth: int) -> tuple[bool, NDArray[np.int64]]:
        """Return the side that a node takes, and the bounds of its children there."""
        return bound_children(
            self._problem,
            self._tightens,
            self._tree,
            node.state,
            node.jobs,
            depth,
            self._ub,
        )

    def _child(
        self, node: _Node, slot: int, weight: float, *, back: bool, bound: int
    ) -> _Node:
        state = self._problem.extend(node.state, int(node.jobs[slot]), back=back)
        stratum = min(node.stratum, (self._ub - 1 - bound) // self._strata.width)
        return _Node(state, np.delete(node.jobs, slot), weight, stratum)

    def _entries(
        self, random: np.random.Generator
    ) -> tuple[dict[int, list[_Node]], bool]:
        """Roots to start from, by depth; and whether some were drawn from many."""
        if self._roots is None:
            return {0: [self._root()]}, False
        drawn = self._roots.drawn(MOST_ROOTS, random)
        entries: dict[int, list[_Node]] = defaultdict(list)
        known: dict[tuple[int, ...], _Node | None] = {(): self._root()}
        for depth, digits, weight in zip(
            drawn.depths.tolist(), drawn.digits.tolist(), drawn.weights, strict=True
        ):
            node = self._walk(tuple(digits[:depth]), known)
            if node is not None:
                kept = _Node(node.state, node.jobs, float(weight), node.stratum)
                entries[depth].append(kept)
        return entries, bool((drawn.weights != 1).any())

    def _walk(
        self, path: tuple[int, ...], known: dict[tuple[int, ...], _Node | None]
    ) -> _Node | None:
        """Return the node of a path; None if it is pruned on the way."""
        if path not in known:
            above = self._walk(path[:-1], known)
            known[path] = None
            if above is not None:
                back, bounds = self._bounded(above, len(path) - 1)
                bound = int(bounds[path[-1]])
                if bound < self._ub:
                    known[path] = self._child(
                        above, path[-1], 1.0, back=back, bound=bound
                    )
        return known[path]

    def _probe(
        self, samples: int, seed: np.random.SeedSequence
    ) -> tuple[Found, NDArray[np.float64]]:
        random = np.random.default_rng(seed)
        entries, drawn = self._entries(random)
        sizes = np.zeros(self._strata.count)
        level: list[_Node] = []
        decomposed = leaves = 0.0
        visited = thinned = widest = 0
        n_jobs = self._problem.n_jobs
        for depth in range(n_jobs):
            level += entries.get(depth, [])
            visited, widest = visited + len(level), max(widest, len(level))
            for node in level:
                size = sizes[node.stratum] + node.weight
                sizes[node.stratum] = min(size, MOST_WEIGHT)
            total = min(sum(node.weight for node in level), MOST_WEIGHT)
            if depth == n_jobs - 1:
                leaves = total
                break
            decomposed = min(decomposed + total, MOST_WEIGHT)
            level, left_out = self._next_level(level, depth, samples, random)
            thinned += left_out
        return Found(decomposed, leaves, visited, thinned, widest, drawn), sizes

    def _next_level(
        self, level: list[_Node], depth: int, samples: int, random: np.random.Generator
    ) -> tuple[list[_Node], int]:
        """Return the children that are kept, and how many strata had more."""
        strata: dict[int, list[tuple[_Node, int, bool, int]]] = defaultdict(list)
        for node in level:
            back, bounds = self._bounded(node, depth)
            for slot in np.flatnonzero(bounds < self._ub).tolist():
                bound = int(bounds[slot])
                stratum = (self._ub - 1 - bound) // self._strata.width
                strata[stratum].append((node, slot, back, bound))
        kept, thinned = [], 0
        for stratum in sorted(strata):
            children = strata[stratum]
            weights = [node.weight for node, *_ in children]
            if len(children) > samples:
                thinned += 1
                weights = thin(weights, samples, random.random())
            for (node, slot, back, bound), weight in zip(
                children, weights, strict=True
            ):
                if weight:
                    kept.append(self._child(node, slot, weight, back=back, bound=bound))
        return kept, thinned


def thin(weights: list[float], samples: int, offset: float) -> list[float]:
    """Return new weights with the same sum, of which at most ``samples`` are not 0.

    Systematic sampling, as ``dpbb.estimation.probe.choose`` has it: every weight is on
    average what it was.

    ``offset``: a random number in [0, 1).
    """
    ends = np.minimum(np.cumsum(weights), MOST_WEIGHT)
    step = float(ends[-1]) / samples
    at = (np.arange(samples) + offset) * step
    hit = np.minimum(np.searchsorted(ends, at, side="right"), len(weights) - 1)
    hits: list[float] = (np.bincount(hit, minlength=len(weights)) * step).tolist()
    return hits
