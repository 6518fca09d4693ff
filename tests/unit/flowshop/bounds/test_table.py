"""A bound is a row: what it tightens with, and a model for each engine that has one."""

from __future__ import annotations

import math
import random
import re

import numpy as np
import pytest

import dpbb
from dpbb.coordination.format import from_bytes, to_bytes
from dpbb.engines import get_engine
from dpbb.engines.base import Device, explore_to_end
from dpbb.errors import CheckpointError, EngineUnavailable, OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.bounds.table import BOUNDS
from dpbb.options import OPTIONS, TreeOptions
from dpbb.problem import bound_of
from dpbb.proof import checker
from dpbb.proof.verify import verify
from dpbb.solving.plan import Plan
from dpbb.solving.results import certified, result_of
from dpbb.testing import check_model
from dpbb.tree.work_unit import WorkUnit
from tests.oracle import best_orders
from tests.unit.coordination.world import World, spec_of

TIMES = np.random.default_rng(32).integers(1, 30, (7, 4))
SHOP = FlowShopProblem(FlowShopInstance("shop", TIMES))
ROWS = tuple(BOUNDS)
BEST = int(best_orders(TIMES)[0])
TREE = TreeOptions(bound="least")
SEATS = ("a", "b", "c3")


def by_another_name(problem):
    return FlowShopProblem(problem.instance, "lb2").tighten


@pytest.fixture
def tight(monkeypatch):
    """Return the shop with a bound that nobody but this test knows."""
    monkeypatch.setitem(BOUNDS, "least", {"tighten": f"{__name__}:by_another_name"})
    return FlowShopProblem(SHOP.instance, "least")


def counted(problem, tree):
    session = get_engine("reference").open(problem, tree, Device("cpu", "a"), ub=BEST)
    session.load(WorkUnit.whole(problem.n_jobs))
    return explore_to_end(session, BEST).counters


def interrupted(spec):
    """Run in parts on several seats; the checkpoint holds the problem."""
    rng = random.Random(3)
    world = World(spec, SEATS)
    for _ in range(200):
        for _ in range(9):
            if world.coordinator.finished:
                return world.coordinator.outcome()
            world.round(rng.randint(1, 5))
        world.coordinator.request_save(world.now)
        world.round()
        world.round()
        saved = from_bytes(to_bytes(world.coordinator.checkpoint(world.now)))
        assert bound_of(saved.spec.problem) == "least"
        world = World(spec, SEATS, now=7.0, saved=saved)
    raise AssertionError("not over")


@pytest.mark.parametrize("name", ROWS)
def test_every_row_keeps_the_laws_and_the_help_has_it(name):
    check_model(FlowShopProblem(SHOP.instance, name), nodes=50)
    assert re.search(rf"\b{name}\b", OPTIONS["bound"].help)


@pytest.mark.parametrize("call", [dpbb.solve, dpbb.submit, dpbb.estimate])
def test_a_name_without_a_row_is_refused_before_anything_starts(call):
    known = ", ".join(ROWS)
    with pytest.raises(OptionError, match=f"^bound: expected one of {known}, got 'no'"):
        call(SHOP, bound="no")


def test_a_checkpoint_with_a_bound_without_a_row_is_refused(tight, monkeypatch):
    world = World(spec_of(tight, TREE), ("a",))
    world.round()
    saved = to_bytes(world.coordinator.checkpoint(world.now))
    monkeypatch.delitem(BOUNDS, "least")
    refused = f"expected one of {', '.join(ROWS)}, got 'least'"
    for given_problem in (None, SHOP):
        with pytest.raises(CheckpointError, match=refused):
            from_bytes(saved, "file", given_problem)


def test_engines_without_a_model_refuse_it_by_name(tight):
    for name in ("cpu", "gpu"):
        reason = get_engine(name).supports(tight, TREE)
        assert reason.startswith(f"engine {name} has no model")
        assert "the bound least" in reason
    with pytest.raises(EngineUnavailable, match="the bound least"):
        get_engine("cpu").open(tight, TREE, Device("cpu", "a"), ub=BEST)


def test_the_tree_is_smaller_and_the_same_in_parts(tight):
    whole = counted(tight, TREE)
    assert whole.decomposed < counted(SHOP, TreeOptions()).decomposed
    assert whole.closed_leaves == math.factorial(7)
    outcome = interrupted(spec_of(tight, TREE, upper_bound=BEST))
    assert outcome.exhausted
    assert outcome.counters == whole


def test_its_certificate_holds_and_the_checker_of_one_file_refuses_it(tight):
    spec = spec_of(tight, TREE, upper_bound=BEST, certificate=True)
    outcome = interrupted(spec)
    plan = Plan(tight, "shop", dpbb.SolveOptions(cutoff=BEST), 0.0, 0)
    result = result_of(plan, outcome, opened=0.0, engine="reference")
    certificate = certified(spec, outcome, result).certificate
    found = verify(certificate)
    assert found.ok, found.summary()
    assert "by reference" in found.checks[-1].found
    with pytest.raises(checker.Failed, match="got 'least'"):
        checker.check_instance(certificate.content)
    certificate.content["tree"]["bound"] = "lb1"
    assert "expected bound 'least', got 'lb1'" in verify(certificate).summary()
