"""Which two-machine bounds pay in a tree: the choice behind ``bound="auto"``.

A sample of the tree of all two-machine bounds shows which pairs of machines prune. They
are ordered greedily, each next one prunes most of the children that those before it
leave, and the first few make a cascade. The trees of some cascades are then estimated,
and the time of each from what tightening a node takes on the engine. All this is done
in a process of its own, of low priority, while a cluster starts and the tree of LB1 is
explored (``dpbb.estimation.prospect``).
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.registry import get_engine
from dpbb.estimation.background import main, tree_from_json
from dpbb.estimation.plain import sampler_of, thin
from dpbb.estimation.prospect import CLEAR, COSTS, Prospect
from dpbb.estimation.result import MOST_NODES
from dpbb.options import LB1, TreeOptions
from dpbb.problem import HasBounds, Problem, bound_of, with_bound
from dpbb.tree.branching import bound_children

NODES = 32
"""Nodes of a depth that are looked at to order pairs."""

SHARES = (0.5, 0.75, 0.9)
"""Of the children that some pair prunes, what the pairs of a cascade prune."""

SAMPLES = 32
"""Samples of a stratum of an estimate."""

PROBES = 4


@runtime_checkable
class TightensByPair(Protocol):
    """Bounds that tighten, and know the pairs of machines that they come from."""

    pairs: Sequence[tuple[int, int]]

    def by_pair(
        self,
        state: Any,
        jobs: NDArray[np.intp],
        children: NDArray[np.intp],
        *,
        back: bool,
    ) -> NDArray[np.int64]:
        """Bounds of some children of a node, shape (n_pairs, r)."""


def prospect_of(
    problem: Problem[Any], tree: TreeOptions, ub: int, *, engine: str, seed: int = 0
) -> Prospect:
    """Estimate what a tree takes with LB1 and with cascades.

    Of the probes the least one counts for LB1, and the greatest for a cascade: where a
    tree's nodes are below few of its own, probes differ by more than what is to be won.

    Parameters
    ----------
    problem, tree
        With the bound LB1.
    ub
        Nodes with LB >= ub are pruned.
    engine
        Name of the engine that explores, one of ``COSTS``.
    """
    cost = COSTS[engine]
    nodes = min(_estimated(problem, tree, ub, seed))
    found = Prospect(LB1, nodes, nodes, cost.start_s)
    bounds = pair_bounds_of(problem)
    sets = [] if bounds is None else learned_pairs(problem, bounds, tree, ub, seed)
    best = math.inf
    for pairs in sets:
        other = with_pairs(problem, pairs)
        below = max(_estimated(other, replace(tree, bound=bound_of(other)), ub, seed))
        others = below * (1 + cost.node + cost.pair * len(pairs))
        if others < best:
            best = others
            found = Prospect(bound_of(other), nodes, others, cost.start_s)
    return found


def answer(request: bytes) -> Prospect:
    """Answer what ``prospect_apart`` asks, in this process.

    On a first use the CPU engine's kernels for a cascade that may be taken are compiled
    here: the tree of LB1 goes on meanwhile.
    """
    values = json.loads(request)
    problem, tree, ub = tree_from_json(values)
    found = prospect_of(problem, tree, ub, engine=values["engine"], seed=values["seed"])
    if values["engine"] == "cpu" and found.others < CLEAR * found.nodes:
        engine = get_engine("cpu")
        tree = replace(tree, bound=found.bound)
        problem = with_bound(problem, found.bound)
        engine.warm_up(problem, tree, engine.devices(1)[0])
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
    problem: Problem[Any], tree: TreeOptions, ub: int, seed: int
) -> list[float]:
    """Return the number of nodes of a tree by each probe."""
    rounds = sampler_of(problem, tree, ub).rounds(
        seconds=math.inf, samples=SAMPLES, probes=PROBES, threads=PROBES, seed=seed
    )
    return [min(nodes, MOST_NODES) for nodes in rounds[-1].nodes.tolist()]


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


if __name__ == "__main__":
    main(answer)
