"""Samples of trees: exact without thinning, unbiased with it, doubted when in doubt."""

from __future__ import annotations

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.errors import OptionError
from dpbb.estimation.confidence import doubts
from dpbb.estimation.result import MOST_NODES
from dpbb.estimation.roots import RootSample
from dpbb.estimation.sampling import Sampler
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import BranchingRule, TreeOptions
from dpbb.proof.walking import Growing
from dpbb.tree.work_unit import WorkUnit
from tests import oracle
from tests.conftest import GOLDEN
from tests.intervals import unit_between

ALL = 10**9


def sample(problem, tree, ub, unit=None, *, samples=ALL, probes=2, seed=0):
    roots = None if unit is None else RootSample.of(unit)
    sampler = Sampler(problem, tree, ub, roots)
    return sampler.rounds(
        seconds=1, samples=samples, probes=probes, threads=2, seed=seed
    )


def shop(times, bound="lb1"):
    return FlowShopProblem(FlowShopInstance("shop", np.array(times)), bound)


def problems(**size):
    """Small shops, half of them with a cascade of bounds."""
    shops = oracle.problems(**size)
    return shops | shops.flatmap(oracle.with_cascade)


@pytest.mark.parametrize("rule", ["minmin", "minbranch"])
def test_golden_trees_are_counted_exactly_when_nothing_is_thinned(rule):
    with (GOLDEN / "tree_sizes.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["rule"] == rule]
    small = [row for row in rows if int(row["decomposed"]) < 40_000]
    assert len(small) > 20
    for row in small:
        ub = int(row["ub"])
        tree = TreeOptions(
            BranchingRule(rule), ub if rule == "minbranch" else None, root_order=None
        )
        problem = FlowShopProblem(taillard_instance(row["instance"]))
        last = sample(problem, tree, ub)[-1]
        assert last.exact
        for one in last.found:
            counted = (one.decomposed, one.leaves)
            assert counted == (int(row["decomposed"]), int(row["leaves"])), row


@settings(max_examples=60)
@given(st.data())
def test_every_rule_is_the_tree_by_its_definition(data):
    """And one sample holds the trees of all smaller upper bounds."""
    tiny = data.draw(problems(max_jobs=6))
    tree = data.draw(oracle.trees(tiny))
    ub = data.draw(st.integers(1, tiny.trivial_ub))
    unit = data.draw(st.sampled_from([None, WorkUnit.whole(tiny.n_jobs)]))
    found = sample(shop(tiny.times, tree.bound), tree, ub, unit)[-1]
    naive, one, by_ub = oracle.naive_tree(tiny, tree, ub), found.found[0], found.by_ub
    assert (one.decomposed, one.leaves) == (len(naive.decomposed), len(naive.leaves))
    fall = data.draw(st.integers(0, min(len(by_ub), ub) - 1))
    naive = oracle.naive_tree(tiny, tree, ub - fall)
    assert by_ub[fall] == len(naive.decomposed) + len(naive.leaves)


@pytest.fixture(scope="module")
def tree_of_11570():
    """ta005 at 1235: 11,949 decomposed nodes and 256 leaves with MinMin."""
    return FlowShopProblem(taillard_instance("ta005")), TreeOptions(), 1235


def test_the_estimate_is_unbiased(tree_of_11570):
    """Whatever is left out, the mean over many probes is the truth."""
    last = sample(*tree_of_11570, samples=5, probes=500, seed=1)[-1]
    error = last.nodes.std(ddof=1) / np.sqrt(len(last.nodes))
    assert last.spread > 0.05  # it does leave out
    assert not last.exact
    assert abs(last.mean - 12_205) < 4 * error
    leaves = np.array([one.leaves for one in last.found])
    assert abs(leaves.mean() - 256) < 4 * leaves.std(ddof=1) / np.sqrt(len(leaves))


def test_each_root_is_estimated_by_itself(tree_of_11570):
    """Exact where all is looked at, unbiased where not, 0 where a root is pruned."""
    problem, tree, ub = tree_of_11570
    growing = Growing(problem, tree, ub)
    nodes = [*growing.children(growing.walked([()])[0])]
    paths = sorted([node.path for node in nodes] + growing.pruned)
    roots = RootSample.of(WorkUnit.from_paths(problem.n_jobs, paths))
    sampler = Sampler(problem, tree, ub)

    def each(samples, seed):
        return sampler.each(roots, samples, np.random.SeedSequence(seed))

    exact = each(ALL, 1)
    assert exact.sum() == 12_205 - 1
    assert [paths[at] for at in np.flatnonzero(exact)] == [node.path for node in nodes]
    found = np.array([each(5, seed).sum() for seed in range(300)])
    assert found.std() > 0.01 * found.mean()  # it does leave out
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - exact.sum()) < 4 * error


def test_the_seed_alone_decides(tree_of_11570):
    one, again, other = (
        sample(*tree_of_11570, samples=5, probes=4, seed=seed) for seed in (7, 7, 8)
    )
    assert [part.found for part in one] == [part.found for part in again]
    assert one[-1].found != other[-1].found


def test_samples_that_do_not_fit_are_refused(tree_of_11570, monkeypatch):
    memory = SimpleNamespace(available=2**20)
    monkeypatch.setattr("psutil.virtual_memory", lambda: memory)
    with pytest.raises(OptionError, match="samples: expected fewer than 1,000,000"):
        sample(*tree_of_11570, samples=1_000_000)
    rounds = Sampler(*tree_of_11570).rounds(
        seconds=20, samples=None, probes=4, threads=1, seed=0
    )
    assert rounds[-1].samples < 1000


@given(st.data())
@settings(max_examples=30)
def test_what_is_below_roots_is_counted(data):
    """Nodes below roots alone: their ancestors belong to who explored them."""
    tiny = data.draw(problems(shape=(6, 3)))
    tree = data.draw(oracle.trees(tiny))
    ub = data.draw(st.integers(1, tiny.trivial_ub))
    begin, end = data.draw(st.sampled_from([(0, 720), (7, 555), (100, 101), (9, 9)]))
    unit = unit_between(6, begin, end)
    paths = [unit.path(index) for index in range(len(unit))]
    one = sample(shop(tiny.times, tree.bound), tree, ub, unit)[-1].found[0]
    naive = oracle.naive_tree(tiny, tree, ub)

    def below(nodes):
        return sum(any(node[: len(p)] == p for p in paths) for node in nodes)

    assert one.decomposed == below(naive.decomposed)
    assert one.leaves == below(naive.leaves)


def test_a_heavy_tail_is_detected():
    """ta101 at 11152 (10,221,772 nodes): few samples miss what most nodes are in."""
    problem = FlowShopProblem(taillard_instance("ta101"))
    rounds = sample(problem, TreeOptions(), 11152, samples=64, probes=8)
    assert doubts(rounds)


def test_a_tree_beyond_all_floats_has_an_estimate_that_says_so():
    """Of 200 x 10 with a loose UB the weights pass 1e308."""
    problem = FlowShopProblem(taillard_instance("ta091"))
    rounds = sample(problem, TreeOptions(), 10_900, samples=4)
    last = rounds[-1]
    assert last.mean <= MOST_NODES
    assert np.isfinite([last.mean, last.spread, *last.interval(), *last.by_ub]).all()
    low, high = last.interval()
    assert 1 <= last.seen <= low <= last.mean <= high <= MOST_NODES
    assert any("10^300" in doubt for doubt in doubts(rounds))
