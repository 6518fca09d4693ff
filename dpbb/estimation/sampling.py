"""Estimates of trees: Chen's heterogeneous sampling, in rounds of independent probes.

A probe walks down all levels of the tree. Nodes of one depth whose bounds are equally
far below the UB have subtrees of about one size: where such a stratum has more than K
nodes, K of them are kept and carry the weight of all. Whatever is kept, every node's
expected weight is 1, so the sum of weights is an unbiased estimate of the number of
nodes.

Source: P. C. Chen, "Heuristic sampling: a method for predicting the performance of
tree searching programs", SIAM Journal on Computing 21(2), 1992. Differences: K
representatives, not one; drawn systematically, with one random number a stratum, in
the order of their parents; levels are finished one after the other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import psutil
from numpy.typing import NDArray

from dpbb.engines.registry import get_engine
from dpbb.errors import OptionError
from dpbb.estimation.confidence import Found, Round
from dpbb.estimation.levels import CompiledNodes, Nodes, PlainNodes
from dpbb.estimation.result import MOST_NODES, count
from dpbb.estimation.roots import MOST_WEIGHT, RootSample, thin
from dpbb.kernels.cores import physical_cores
from dpbb.options import BranchingRule, SolveOptions, TreeOptions
from dpbb.problem import Problem, root_bound
from dpbb.problems import model_of
from dpbb.tree.branching import refusal, settled_rule, tree_of
from dpbb.tree.work_unit import WorkUnit

LEAST_STRATA, MOST_STRATA = 8, 4096
"""Strata of one depth; where UB - LB has more values, neighbors share one."""

FIRST_SAMPLES = 4
"""Samples of the first round."""

GROWTH = 4
"""How many times the samples of a round the next one has."""

PRECISE = 0.02
"""Relative standard error at which no further round is worth its time."""

MOST_CHILDREN = 1 << 21
"""Of a level of ``Sampler.each``, about: some 200 MB."""

MOST_UBS = 256
"""Upper bounds that a round gives estimates for."""


@dataclass(frozen=True, slots=True)
class Strata:
    """Nodes of one depth, told apart by UB - LB.

    Parameters
    ----------
    width
        How many values of UB - LB make a stratum.
    above
        How far the UB that was asked for is above the trivial one.
    """

    width: int
    count: int
    above: int

    @classmethod
    def of(cls, span: int, above: int, most: int = MOST_STRATA) -> Strata:
        """Return at most so many strata of ``span`` values."""
        width = -(-span // most)
        return cls(width, -(-span // width), above)

    def by_ub(self, sizes: NDArray[np.float64]) -> tuple[float, ...]:
        """Return how many nodes have room for an UB that is smaller by 0, 1, ..."""
        at_least = sizes[::-1].cumsum()[::-1].clip(max=MOST_NODES)
        same = np.full(min(self.above, MOST_UBS), at_least[0])
        strata = np.arange(min(self.count * self.width, MOST_UBS)) // self.width
        return tuple(np.concatenate([same, at_least[strata]])[:MOST_UBS].tolist())


class Weighed(NamedTuple):
    """Nodes of a level, and what they stand for.

    Attributes
    ----------
    nodes
        As ``Nodes`` has them.
    weights : ndarray of float64, shape (size,)
        How many nodes of the tree each one stands for.
    strata : ndarray of int64, shape (size,)
        The least stratum on the way from the root: with an UB that is smaller by more
        the node is not visited.
    roots : ndarray of int64, shape (size,)
        The root that each one is below.
    """

    nodes: Any
    weights: NDArray[np.float64]
    strata: NDArray[np.int64]
    roots: NDArray[np.int64]


class Sampler:
    """Estimates the number of nodes of a tree, or below some of its roots.

    Parameters
    ----------
    ub
        Nodes with LB >= ub are pruned.
    roots
        What to estimate; None: the whole tree.

    Attributes
    ----------
    compiled
        Whether nodes are those of a compiled model: millions a second, on any number of
        threads. Of other problems they are some thousand a second, on one thread.

    Raises
    ------
    OptionError
        The problem has no such tree: another bound, or a rule that does not fit it.
    """

    def __init__(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        ub: int,
        roots: RootSample | None = None,
    ) -> None:
        reason = refusal(problem, tree)
        if reason is not None:
            raise OptionError(reason)
        self._n_jobs = problem.n_jobs
        self._given = roots or RootSample.of(WorkUnit.whole(problem.n_jobs))
        self._ub = min(ub, problem.trivial_ub)
        model = model_of(problem, "cpu", tree.bound)
        self.compiled = get_engine("cpu").supports(problem, tree) is None
        self._nodes: Nodes = (
            CompiledNodes(model, problem, tree, self._ub)
            if self.compiled
            else PlainNodes(problem, tree, self._ub)
        )
        self._span = max(1, self._ub - self._nodes.root_bound)
        self._above = max(0, ub - problem.trivial_ub)
        self._strata = Strata.of(self._span, self._above)

    def rounds(
        self,
        *,
        seconds: float,
        samples: int | None,
        probes: int,
        threads: int,
        seed: int,
        should_stop: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> list[Round]:
        """Run rounds until the time is up or the estimate is precise.

        Parameters
        ----------
        seconds
            Time for all rounds; the first one is run whatever it takes.
        samples
            Of the last round, which is then run whatever the time, after rounds with
            fewer; the result depends on nothing but the seed. None: as many as there
            is time for.
        clock
            What ``seconds`` are counted with.

        Raises
        ------
        OptionError
            There is not enough memory for so many samples.
        """
        threads = threads if self.compiled else 1
        if self.compiled:
            self._probe(1, np.random.SeedSequence(seed))  # compiles
        if samples is None:
            # a first probe ends in its part of the time
            visited_s = self._n_jobs * FIRST_SAMPLES * self._nodes.node_seconds()
            most = seconds * min(threads, probes) / probes / GROWTH / visited_s
            most = int(max(LEAST_STRATA, min(MOST_STRATA, most)))
            self._strata = Strata.of(self._span, self._above, most)
        end = clock() + seconds
        done: list[Round] = []
        seeds = np.random.SeedSequence(seed)
        steps = [FIRST_SAMPLES] if samples is None else steps_to(samples)
        with ThreadPoolExecutor(threads) as pool:
            while steps:
                count, started = steps.pop(0), clock()
                made = pool.map(partial(self._probe, count), seeds.spawn(probes))
                found, sizes = zip(*made, strict=True)
                by_ub = self._strata.by_ub(np.mean(sizes, axis=0))
                last = Round(count, found, clock() - started, by_ub)
                done.append(last)
                if last.exact or should_stop():
                    break
                most_growth = self._most_growth(threads, last)
                if samples is None:
                    steps = _next(last, end - clock(), most_growth)
                elif steps and steps[0] > most_growth * count:
                    raise OptionError(
                        f"samples: expected fewer than {samples:,}, as {steps[0]:,} of "
                        "each stratum do not fit into a quarter of the free memory"
                    )
        return done

    def each(
        self, roots: RootSample, samples: int, seed: np.random.SeedSequence
    ) -> NDArray[np.float64]:
        """Estimate the nodes below each root by one probe; from any thread.

        Where the tree is wide it keeps fewer than ``samples``.

        Returns
        -------
        ndarray of float64, shape (r,)
            0 where the path of the root is pruned.
        """
        random = np.random.default_rng(seed)
        count = len(roots.depths)
        numbered = np.arange(count)
        entries = self._walked(roots, numbered)
        below, *_ = self._descend(entries, samples, random, count, MOST_CHILDREN)
        return below.sum(axis=0)

    def _probe(
        self, samples: int, seed: np.random.SeedSequence
    ) -> tuple[Found, NDArray[np.float64]]:
        """Make one probe; with it come the nodes of every stratum, (strata.count,)."""
        random = np.random.default_rng(seed)
        some = self._given.drawn(self._nodes.most_roots, random)
        drawn = bool((some.weights != 1).any())
        entries = self._walked(some, np.zeros(len(some.depths), np.int64))
        below, sizes, visited, thinned, widest = self._descend(
            entries, samples, random, 1
        )
        decomposed, leaves = below[:, 0].tolist()
        return Found(decomposed, leaves, visited, thinned, widest, drawn), sizes

    def _descend(
        self,
        entries: dict[int, Weighed],
        samples: int,
        random: np.random.Generator,
        n_roots: int,
        most_children: float = math.inf,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], int, int, int]:
        """Walk down from some roots, which are given by depth.

        Where nodes would have more children, fewer are kept, of wider strata at last.

        Returns
        -------
        below : ndarray of float64, shape (2, n_roots)
            Decomposed nodes and leaves below each root, at most ``MOST_WEIGHT``.
        sizes : ndarray of float64, shape (strata.count,)
            All nodes by ``Weighed.strata``.
        visited, thinned, widest
            As in ``Found``.
        """
        below = np.zeros((2, n_roots))
        strata, sizes = self._strata, np.zeros(self._strata.count)
        visited = thinned = widest = 0
        level: Weighed | None = None
        for depth in range(self._n_jobs):
            level = self._joined(level, entries.get(depth))
            if level is None or not len(level.weights):
                level = None
                continue
            visited += len(level.weights)
            _add(sizes, level.strata, level.weights)
            is_leaf = depth == self._n_jobs - 1
            _add(below[int(is_leaf)], level.roots, level.weights)
            if is_leaf:
                break
            children = self._nodes.children(level.nodes, depth)
            found = self._strata_of(children.bounds)
            roots = level.roots[children.parents]
            groups = roots * strata.count + found
            if n_roots * strata.count <= 2**16:
                groups = groups.astype(np.uint16)  # sorted in linear time
            before = level.weights[children.parents]
            kept, weights, left_out = thin(before, groups, samples, random)
            most = most_children / (self._n_jobs - depth)
            while len(kept) > most:
                samples, groups = max(1, samples // 2), groups >> (samples == 1)
                kept, weights, left_out = thin(before, groups, samples, random)
            thinned += left_out
            widest = max(widest, len(level.weights), len(found))
            above = level.strata[children.parents]
            level = Weighed(
                self._nodes.below(level.nodes, children.take(kept)),
                weights,
                np.minimum(above, found)[kept],
                roots[kept],
            )
        return below, sizes, visited, thinned, widest

    def _strata_of(self, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        found = (self._ub - 1 - bounds) // self._strata.width
        return np.minimum(found, self._strata.count - 1)

    def _joined(self, level: Weighed | None, other: Weighed | None) -> Weighed | None:
        if level is None or other is None:
            return level or other
        return Weighed(
            self._nodes.join(level.nodes, other.nodes),
            np.concatenate([level.weights, other.weights]),
            np.concatenate([level.strata, other.strata]),
            np.concatenate([level.roots, other.roots]),
        )

    def _walked(
        self, roots: RootSample, numbers: NDArray[np.int64]
    ) -> dict[int, Weighed]:
        """Walk to roots; return those that are not pruned, by depth.

        ``numbers``: what stands for each in ``Weighed.roots``.
        """
        entries: dict[int, Weighed] = {}
        level, strata = self._nodes.root(), np.full(1, self._strata.count - 1)
        rows = np.arange(len(roots.depths))  # roots that are not reached yet,
        at = np.zeros(len(rows), np.intp)  # and the nodes of the level that are above
        for depth in range(self._n_jobs):
            here = roots.depths[rows] == depth
            if here.any():
                entries[depth] = Weighed(
                    self._nodes.take(level, at[here]),
                    roots.weights[rows[here]],
                    strata[at[here]],
                    numbers[rows[here]],
                )
            rows, at = rows[~here], at[~here]
            if not len(rows):
                break
            parents, at = np.unique(at, return_inverse=True)
            level, strata = self._nodes.take(level, parents), strata[parents]
            children = self._nodes.children(level, depth)
            known = children.parents * self._n_jobs + children.slots  # ascending
            wanted = at * self._n_jobs + roots.digits[rows, depth]
            alive = np.isin(wanted, known)
            rows, wanted = rows[alive], wanted[alive]
            steps, at = np.unique(wanted, return_inverse=True)
            children = children.take(np.searchsorted(known, steps))
            level = self._nodes.below(level, children)
            found = self._strata_of(children.bounds)
            strata = np.minimum(strata[children.parents], found)
        return entries

    def _most_growth(self, threads: int, last: Round) -> float:
        """How many times the samples of a round fit into a quarter of the memory."""
        widest = max(1, *(one.widest for one in last.found))
        # two levels, and the columns of the children between them
        used = threads * widest * (2 * self._nodes.node_bytes + 200)
        return float(psutil.virtual_memory().available / 4 / used)


def _add(
    sums: NDArray[np.float64], places: NDArray[np.int64], weights: NDArray[np.float64]
) -> None:
    """Add weights at their places; sums end at ``MOST_WEIGHT``."""
    with np.errstate(over="ignore"):
        sums += np.bincount(places, weights, len(sums))
    np.minimum(sums, MOST_WEIGHT, out=sums)


def _next(last: Round, seconds_left: float, most: float) -> list[int]:
    """Return the samples of the next round, if there is to be one."""
    if last.spread < PRECISE * math.sqrt(len(last.found)) and last.samples > 64:
        return []
    growth = min(GROWTH, 0.8 * seconds_left / max(last.seconds, 1e-4), most)
    return [int(last.samples * growth)] if growth >= 1.5 else []


def steps_to(samples: int) -> list[int]:
    """Return the samples of all rounds on the way to a given number."""
    steps = [samples]
    while steps[0] > FIRST_SAMPLES or len(steps) < 2:
        steps.insert(0, max(1, steps[0] // GROWTH))
    return steps


# -- the branching rule of a tree of many jobs, by estimates of two --------------------

SAMPLES, PROBES = 32, 8
"""Nodes kept of a stratum, and independent probes: the seed alone decides."""

MOST_SPAN = 128
"""From the root's bound to the upper bound; of more either estimate takes too long."""

CLEARLY_FEWER = 10
"""So many times as large the default's tree has to be. From 200 jobs on either may be
a million times as large, and estimates are rough. Figures: docs/table.md."""


def chosen_rule(
    problem: Problem[Any],
    options: SolveOptions,
    ub: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[BranchingRule, str]:
    """Return the rule of a tree with LB < ub, and why, for people.

    It is the one that is given or the problem's first. Where that is ``maxsum``, it is
    ``minmin`` if that tree is estimated to be far smaller.
    """
    settled = settled_rule(problem, options.branching)
    if settled is not None:
        return settled, ""
    first, other = BranchingRule.MAXSUM, BranchingRule.MINMIN
    if ub - root_bound(problem) > MOST_SPAN:
        return first, ""
    nodes = []
    for rule in (other, first):
        tree = tree_of(problem, options.replace(branching=rule), ub)
        try:
            rounds = Sampler(problem, tree, ub).rounds(
                seconds=0.0,  # as many samples as are asked for, whatever they take
                samples=SAMPLES,
                probes=PROBES,
                threads=options.threads or physical_cores(),
                seed=options.seed,
                should_stop=should_stop,
            )
        except OptionError:  # they do not fit into memory
            return first, ""
        nodes.append(fmean(found.decomposed for found in rounds[-1].found))
    if nodes[0] * CLEARLY_FEWER > nodes[1]:
        return first, ""
    few, many = map(count, nodes)
    return other, f"{other}: about {few} nodes below {ub}, {many} by {first}"
