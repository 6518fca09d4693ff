"""Estimates of problems that only the reference engine takes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

import dpbb
from dpbb.engines.base import explore_to_end
from dpbb.engines.registry import get_engine
from dpbb.errors import OptionError
from dpbb.estimation import background
from dpbb.estimation.roots import RootSample
from dpbb.estimation.sampling import Sampler
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import BranchingRule, TreeOptions
from dpbb.problems import FAMILIES, Family
from dpbb.tree.work_unit import WorkUnit
from tests.oracle import TinyFlowShop, best_orders


@dataclass(frozen=True)
class Own(TinyFlowShop):
    name: str = field(default="own", init=False)
    objective: str = field(default="length", init=False)

    def encode(self):
        return {"rows": self.times}


ROWS = np.random.default_rng(3).integers(1, 40, (7, 3))
OWN = Own(tuple(map(tuple, ROWS.tolist())))
BEST = best_orders(OWN.times)[0]


def counted(problem, tree, ub):
    engine = get_engine("reference")
    session = engine.open(problem, tree, engine.devices()[0], ub=ub)
    session.load(WorkUnit.whole(problem.n_jobs))
    counts = explore_to_end(session, ub).counters
    return counts.decomposed, counts.leaves


@pytest.mark.parametrize("rule", list(BranchingRule))
def test_a_small_tree_is_counted(rule):
    ub = BEST
    found = dpbb.estimate(
        OWN, upper_bound=ub, branching=rule, tuning={"branching_ub": ub}, measure=False
    )
    tree = TreeOptions(rule, ub)
    assert found.exact
    assert (found.decomposed, found.leaves) == counted(OWN, tree, ub)
    assert found.elsewhere == ()
    assert found.instance == "own"


def test_below_some_roots_it_is_counted():
    tree, ub = TreeOptions(root_order=(6, 5, 4, 3, 2, 1, 0)), OWN.trivial_ub
    unit = WorkUnit.from_paths(7, [(1,), (2, 3), (2, 4, 0)])
    sampler = Sampler(OWN, tree, ub, RootSample.of(unit))
    *_, last = sampler.rounds(seconds=9, samples=5000, probes=2, threads=1, seed=0)
    below = [7 - depth for depth in unit.depths.tolist()]  # nothing is pruned
    assert last.exact
    assert last.found[0].leaves == sum(map(math.factorial, below))
    assert last.found[0].decomposed == sum(
        math.perm(left, taken) for left in below for taken in range(left - 1)
    )


def test_few_samples_estimate_what_the_fast_sampler_does():
    """The fast one has enough samples to count the tree."""
    times = np.random.default_rng(1).integers(1, 100, (9, 5))
    own = Own(tuple(map(tuple, times.tolist())))
    shop = FlowShopProblem(FlowShopInstance("shop", times))
    how = {"seconds": 1, "probes": 12, "threads": 1, "seed": 5}
    ub = shop.root_bound + 60
    plain = Sampler(own, TreeOptions(), ub).rounds(samples=4, **how)[-1]
    fast = Sampler(shop, TreeOptions(), ub).rounds(samples=9**5, **how)[-1]
    truth = fast.mean
    assert fast.exact
    assert not plain.exact
    assert plain.mean == pytest.approx(truth, rel=0.2)
    assert plain.by_ub[0] == pytest.approx(plain.mean)
    assert plain.by_ub[30] < plain.by_ub[0]
    low, high = plain.interval()
    assert low <= truth <= high


@pytest.mark.parametrize("problem", [OWN, FlowShopProblem(FlowShopInstance("s", ROWS))])
def test_what_a_problem_does_not_know_is_refused_by_name(problem):
    with pytest.raises(OptionError, match="got 'lb9'"):
        Sampler(problem, TreeOptions(bound="lb9"), 99)
    with pytest.raises(OptionError, match="got 'sideways'"):
        Sampler(problem, TreeOptions("sideways"), 99)


def test_a_process_of_its_own_takes_a_kind_that_it_knows(monkeypatch):
    roots = RootSample.of(WorkUnit.from_paths(7, [(v,) for v in range(7)]))
    request = background.encode(OWN, TreeOptions(), BEST + 5, roots, 1e-6, 0)
    with pytest.raises(dpbb.DpbbError, match="known here, got 'own'"):
        background.answer(request)
    with pytest.raises(dpbb.DpbbError, match=r"ended with 1: .*known here, got 'own'"):
        background.estimate_apart(request, lambda: True)
    family = Family(lambda data: Own(tuple(map(tuple, data["rows"]))))
    monkeypatch.setitem(FAMILIES, "own", family)
    found = background.answer(request)
    assert found.nodes > 0
