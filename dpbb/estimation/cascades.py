"""Which two-machine bounds pay in a tree: the choice behind ``bound="auto"``.

A sample of the tree of all two-machine bounds shows which pairs of machines prune. They
are ordered greedily, each next one prunes most of the children that those before it
leave, and the first few make a cascade. The trees of some cascades are then estimated,
and the time of each from what tightening a node takes on the engine. Other bounds are
left alone unless the gain is clear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dpbb.estimation.plain import sampler_of, thin
from dpbb.options import LB1
from dpbb.problem import HasBounds, bound_of, with_bound
from dpbb.tree.branching import bound_children

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dpbb.options import TreeOptions
    from dpbb.problem import Problem

NODES = 32
"""Nodes of a depth that are looked at to order pairs."""

SHARES = (0.5, 0.75, 0.9)
"""Of the children that some pair prunes, what the pairs of a cascade prune."""

FIRST_SAMPLES, SAMPLES = 8, 16
"""Samples of a stratum: of a first look at LB1's tree, and of an estimate."""

PROBES = 4

CLEAR = 0.85
"""Largest part of LB1's time that another bound may take, by the upper end of its
estimate and the lower end of LB1's, to be chosen."""


class Cost(NamedTuple):
    """What cascades cost on an engine.

    Attributes
    ----------
    start_s
        Seconds to load their kernels, as those of LB1 are loaded while a cluster
        starts; compiled they are in a first run.
    node, pair
        What tightening the children of a node takes, in nodes of LB1: whatever the
        pairs, and for each of a few pairs.
    """

    start_s: float
    node: float
    pair: float


COSTS = {"cpu": Cost(2.0, 0.6, 0.4), "gpu": Cost(5.0, 0.3, 0.2)}
"""Engines that are not in here take LB1.

Measured with ``dpbb bench cascade``, ta021 to ta027 at the optimum, VFR30_15_2 and
VFR40_15_9: nodes of cascades of 1, 3, 5 and 10 pairs at all depths took 1.5, 2.1, 2.5
and 3.2 times as long as those of LB1 on an H200; of 1 and 3 pairs 2.0 and 2.8 times on
a core with AVX-512 (processor time, ta021).
"""


@runtime_checkable
class TightensByPair(Protocol):
    """Bounds that tighten, and know the pairs of machines that they come from."""

    pairs: Sequence[tuple[int, int]]

    def by_pair(
        self,
        state: Any,  # noqa: ANN401
        jobs: NDArray[np.intp],
        children: NDArray[np.intp],
        *,
        back: bool,
    ) -> NDArray[np.int64]:
        """Bounds of some children of a node, shape (n_pairs, r)."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A bound, and why, for people."""

    bound: str
    why: str


def chosen_bound(
    problem: Problem[Any],
    tree: TreeOptions,
    ub: int | None,
    *,
    engine: str,
    nodes_per_second: float,
    seed: int = 0,
    should_stop: Callable[[], bool] = lambda: False,
    on_estimate: Callable[[float], None] = lambda _seconds: None,
) -> Choice:
    """Choose the bound of a tree.

    Parameters
    ----------
    problem, tree
        With the bound LB1.
    ub
        Nodes with LB >= ub are pruned; None: it is not known.
    engine
        Name of the engine that explores.
    nodes_per_second
        Its rate with LB1, all devices together.
    on_estimate
        Called with the least seconds that the tree of LB1 may take, once they are
        estimated, if there may be something to gain.
    """
    bounds = pair_bounds_of(problem)
    if engine not in COSTS or ub is None:
        missing = f"costs of engine {engine}" if ub is not None else "an upper bound"
        return Choice(LB1, f"{missing} are not known")
    if bounds is None:
        return Choice(LB1, "there is no pair of machines")
    cost = COSTS[engine]
    low, high = _estimated(problem, tree, ub, seed, FIRST_SAMPLES)
    if CLEAR * high < cost.start_s * nodes_per_second:
        seconds = high / nodes_per_second
        return Choice(LB1, f"its tree takes at most about {seconds:.1f} s")
    on_estimate(low / nodes_per_second)
    low, _ = _estimated(problem, tree, ub, seed)
    best, found = CLEAR, Choice(LB1, "no cascade is clearly faster by its estimate")
    for pairs in learned_pairs(problem, bounds, tree, ub, seed):
        if should_stop():
            break
        other = with_pairs(problem, pairs)
        _, high = _estimated(other, replace(tree, bound=bound_of(other)), ub, seed)
        time = high * (1 + cost.node + cost.pair * len(pairs))
        part = (time + cost.start_s * nodes_per_second) / low
        if part < best:
            best = part
            why = f"about {part:.0%} of the time of lb1 by its estimate"
            found = Choice(bound_of(other), why)
    return found


def pair_bounds_of(problem: Problem[Any]) -> TightensByPair | None:
    """Return the two-machine bounds of all pairs, None if a problem has none."""
    if not isinstance(problem, HasBounds):
        return None
    bounds = getattr(problem.with_bound("lb2"), "tighten", None)
    known = isinstance(bounds, TightensByPair) and len(bounds.pairs) > 0
    return bounds if known else None


def with_pairs(problem: Problem[Any], pairs: Sequence[tuple[int, int]]) -> Problem[Any]:
    """Return a problem that some pairs tighten at all depths."""
    text = ",".join(f"{u}-{v}" for u, v in pairs)
    return with_bound(problem, f"cascade:1-{problem.n_jobs - 1}:{text}")


def _estimated(
    problem: Problem[Any],
    tree: TreeOptions,
    ub: int,
    seed: int,
    samples: int = SAMPLES,
) -> tuple[float, float]:
    """Return the least and the largest number of nodes that a tree may have."""
    rounds = sampler_of(problem, tree, ub).rounds(
        seconds=math.inf,
        samples=samples,
        probes=PROBES,
        threads=PROBES,
        seed=seed,
    )
    return rounds[-1].interval()


def learned_pairs(
    problem: Problem[Any],
    bounds: TightensByPair,
    tree: TreeOptions,
    ub: int,
    seed: int = 0,
) -> list[tuple[tuple[int, int], ...]]:
    """Return sets of pairs that prune much, each the beginning of the next.

    Parameters
    ----------
    problem, tree
        With the bound LB1.
    bounds
        Of all pairs.
    """
    rows, weights = _pruned(problem, bounds, tree, ub, np.random.default_rng(seed))
    some = rows.any(axis=0)
    rows, weights = rows[:, some], weights[some]
    total, order = float(weights.sum()), list[tuple[int, int]]()
    found: list[tuple[tuple[int, int], ...]] = []
    shares = list(SHARES)
    while weights.size:
        best = int((rows @ weights).argmax())
        order.append(bounds.pairs[best])
        left = ~rows[best]
        rows, weights = rows[:, left], weights[left]
        while shares and 1 - float(weights.sum()) / total >= shares[0]:
            shares.pop(0)
            if not found or found[-1] != tuple(order):
                found.append(tuple(order))
    return found


def _pruned(
    problem: Problem[Any],
    bounds: TightensByPair,
    tree: TreeOptions,
    ub: int,
    random: np.random.Generator,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Sample the tree of all pairs: which pairs prune which children that LB1 leaves.

    Returns
    -------
    rows : ndarray of bool, shape (n_pairs, r)
    weights : ndarray of float64, shape (r,)
        How many children of the tree each one stands for.
    """
    order = tree.root_order or range(problem.n_jobs)
    level = [(problem.root_state(), np.array(order, np.intp), 1.0)]
    rows = [np.zeros((len(bounds.pairs), 0), bool)]
    weights = [np.zeros(0)]
    for depth in range(problem.n_jobs - 2):
        below: list[tuple[int, Any, NDArray[np.intp], bool, int, float]] = []
        for state, jobs, weight in level:
            back, loose = bound_children(problem, None, tree, state, jobs, depth, ub)
            children = np.flatnonzero(loose < ub)
            if not children.size:
                continue
            pruned = bounds.by_pair(state, jobs, children, back=back) >= ub
            rows.append(pruned)
            weights.append(np.full(len(children), weight))
            below += [
                (int(loose[child]), state, jobs, back, child, weight)
                for child in children[~pruned.any(axis=0)].tolist()
            ]
        below.sort(key=lambda one: one[0])
        kept = [one[-1] for one in below]
        if len(below) > NODES:
            kept = thin(kept, NODES, random.random())
        level = [
            (problem.extend(state, int(jobs[i]), back=back), np.delete(jobs, i), weight)
            for (_, state, jobs, back, i, _), weight in zip(below, kept, strict=True)
            if weight
        ]
    return np.concatenate(rows, axis=1), np.concatenate(weights)
