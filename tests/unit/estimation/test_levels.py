"""Estimates of problems that only the reference engine takes."""

from __future__ import annotations

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
from dpbb.options import TreeOptions
from dpbb.problems import DECODERS
from dpbb.tree.work_unit import WorkUnit
from tests.oracle import RULES, TinyFlowShop, best_orders


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


@pytest.mark.parametrize("rule", RULES)
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

    def decode(data):
        return Own(tuple(map(tuple, data["rows"])))

    monkeypatch.setitem(DECODERS, "own", decode)
    found = background.answer(request)
    assert found.nodes > 0
