"""Samples of roots stand for all of them."""

from __future__ import annotations

import numpy as np
import pytest

from dpbb.estimation.roots import RootSample, thin
from dpbb.estimation.sampling import Sampler
from dpbb.flowshop import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions
from dpbb.tree.work_unit import WorkUnit

PATHS = [(a, b) for a in range(20) for b in range(19)]


def test_thinned_weights_are_on_average_what_they_were():
    weights = np.array([1.0, 2.0, 0.5, 4.0, 2.5, 1e30, 3e30, 7.0])
    groups = np.array([2, 2, 2, 2, 2, 0, 0, 1])
    mean = np.zeros(8)
    for seed in range(2000):
        rows, carried, thinned = thin(weights, groups, 3, np.random.default_rng(seed))
        assert thinned == 1
        assert rows[:3].tolist() == [5, 6, 7]
        assert len(rows) <= 6
        assert carried[3:].sum() == pytest.approx(10)
        mean[rows] += carried / 2000
    assert mean == pytest.approx(weights, rel=0.1)


def test_of_many_roots_some_are_drawn_without_bias():
    everything = RootSample.of(WorkUnit.from_paths(20, PATHS))
    hits = dict.fromkeys(PATHS, 0.0)
    for seed in range(300):
        drawn = everything.drawn(50, np.random.default_rng(seed))
        assert len(drawn.depths) == 50
        assert drawn.weights.sum() == pytest.approx(len(PATHS))
        for row, weight in zip(drawn.digits, drawn.weights, strict=True):
            hits[tuple(row)] += weight / 300
    assert 0.3 < min(hits.values()) <= max(hits.values()) < 2.2


def test_drawn_roots_are_no_exact_count(monkeypatch):
    """ta005 at 1235: what its children at depth 2 hold, from some of them."""
    monkeypatch.setattr("dpbb.estimation.levels.CompiledNodes.most_roots", 40)
    problem = FlowShopProblem(taillard_instance("ta005"))
    roots = RootSample.of(WorkUnit.from_paths(20, PATHS))
    sampler = Sampler(problem, TreeOptions(), 1235, roots)
    (*_, last) = sampler.rounds(seconds=1, samples=10**6, probes=40, threads=2, seed=0)
    assert not last.exact
    error = last.nodes.std(ddof=1) / np.sqrt(len(last.nodes))
    below = 11_949 + 256 - 1  # the tree's root; its children are counted next
    children = {path[:1] for path in PATHS}
    assert abs(last.mean - below) < 4 * error + len(children)


def test_the_order_of_walks_changes_nothing():
    """Walks share what their paths have in common, also where one of them is pruned."""
    problem = FlowShopProblem(taillard_instance("ta005"))
    paths = [(a, b, c) for a in (4, 5, 7) for b in (2, 3, 6) for c in range(18)]
    unit = WorkUnit.from_paths(20, paths)

    def count(unit):
        sampler = Sampler(problem, TreeOptions(), 1235, RootSample.of(unit))
        last = sampler.rounds(seconds=1, samples=10**6, probes=2, threads=1, seed=0)[-1]
        assert last.exact
        return last.mean

    alone = [count(WorkUnit.from_paths(20, [path])) for path in paths]
    assert 0 < sum(1 for size in alone if size) < len(paths)
    assert count(unit) == sum(alone)
