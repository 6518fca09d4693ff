"""A bound is a row: what it tightens with, and a model for each engine that has one.

A cascade is one text: the same tree for whoever reads it. LB2 is exact for a pair.
"""

from __future__ import annotations

import csv
import json
import math
import random
import re
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbb
from dpbb.coordination.format import from_bytes, to_bytes
from dpbb.engines import get_engine
from dpbb.engines.base import Device, explore_to_end
from dpbb.errors import CheckpointError, EngineUnavailable, OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.bounds import (
    BOUNDS,
    Cascade,
    JohnsonTables,
    cascade_of,
    machine_pairs,
)
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import OPTIONS, TreeOptions
from dpbb.problem import bound_of, with_bound
from dpbb.problems import decoded, encoded
from dpbb.proof import checker
from dpbb.proof.verify import verify
from dpbb.solving.plan import Plan
from dpbb.solving.results import certified, result_of
from dpbb.testing import check_model
from dpbb.tree.work_unit import WorkUnit
from tests import oracle
from tests.conftest import GOLDEN
from tests.node_bounds import Nodes, pair_bounds
from tests.oracle import best_orders, makespan, naive_tree
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
    result = result_of(plan, outcome, 0.0, engine="reference")
    certificate = certified(spec, outcome, result).certificate
    found = verify(certificate)
    assert found.ok, found.summary()
    assert "by reference" in found.checks[-1].found
    with pytest.raises(checker.Failed, match="got 'least'"):
        checker.check_instance(certificate.content)
    certificate.content["tree"]["bound"] = "lb1"
    assert "expected bound 'least', got 'lb1'" in verify(certificate).summary()


# -- cascades -------------------------------------------------------------------------

FOUR = FlowShopInstance("shop", [[3, 9, 2], [8, 1, 5], [4, 4, 6], [2, 7, 7]])


def test_it_is_read_as_it_is_written():
    text = "cascade:2-13:18-19,0-7"
    cascade = cascade_of(text, 14, 20)
    assert cascade == Cascade(2, 13, ((18, 19), (0, 7)))
    assert str(cascade) == text


@pytest.mark.parametrize(
    "text",
    [
        "cascade:", "cascade:1-2:", "cascade:1-2:0-1,", "cascade:1-2:0-1\n",
        "cascade:1-2:0-\u0661", "cascade:1-12345678901:0-1",
    ],
)  # fmt: skip
def test_another_text_is_refused(text):
    with pytest.raises(OptionError, match="expected cascade:FIRST-LAST:u-v"):
        cascade_of(text, 14, 20)
    with pytest.raises(OptionError):
        FlowShopProblem(FOUR, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cascade:0-2:0-1", "1 <= FIRST <= LAST, at most 3 of 4 jobs, got 0-2"),
        ("cascade:1-4:0-1", "at most 3 of 4 jobs, got 1-4"),
        ("cascade:1-2:1-1", "expected u < v of machines 0 to 2, got 1, 1"),
        ("cascade:1-2:0-3", "expected u < v of machines 0 to 2, got 0, 3"),
        ("cascade:1-2:0-1,0-1", "^bound: expected each pair once"),
        ("cascades:1-2:0-1", "expected one of lb1, lb2, .*, got 'cascades:1"),
    ],
)
def test_numbers_that_are_none_of_the_shop_are_refused(text, words):
    with pytest.raises(OptionError, match=words):
        FlowShopProblem(FOUR, text)


def test_alone_it_becomes_a_text_with_all_numbers():
    problem = with_bound(FlowShopProblem(FOUR), "cascade")
    assert bound_of(problem) == "cascade:1-3:0-1,0-2,1-2"
    assert decoded(encoded(problem)) == problem
    one = FlowShopProblem(FlowShopInstance("one", [[3], [4]]), "cascade")
    assert one == FlowShopProblem(one.instance)


def test_lb2_is_everywhere_and_has_all_pairs():
    assert cascade_of("lb2", 4, 3) == Cascade(1, 3, ((0, 1), (0, 2), (1, 2)))
    for n_jobs, n_machines in ((1, 3), (4, 1)):
        assert cascade_of("lb2", n_jobs, n_machines) == Cascade()


@given(oracle.cascades(), st.data())
def test_the_tree_is_the_one_of_the_definition(shop, data):
    """The solver's reference and the checker of one file explore it, too."""
    tree = data.draw(oracle.trees(shop))
    ub = data.draw(st.integers(1, shop.trivial_ub))
    expected = naive_tree(shop, tree, ub, live=True)
    instance = FlowShopInstance("shop", np.array(shop.times))
    problem = FlowShopProblem(instance, tree.bound)
    session = get_engine("reference").open(problem, tree, Device("cpu", "a"), ub=ub)
    session.load(WorkUnit.whole(problem.n_jobs))
    counters = explore_to_end(session, ub).counters
    assert counters.decomposed == len(expected.decomposed)
    assert counters.leaves == len(expected.leaves)


@given(oracle.cascades(), st.data())
def test_the_checker_of_one_file_explores_the_same_tree(shop, data):
    tree = data.draw(oracle.trees(shop))
    best, _ = oracle.best_orders(shop.times)
    expected = naive_tree(shop, tree, best, live=True)
    own = checker.Shop({"times": [list(row) for row in shop.times]})
    whole = checker.Part(1)
    whole.roots, whole.open = [()], math.factorial(len(shop.times))
    explored = checker.Tree(own, tree.to_json()).explore_all([(whole, best, 10**6)])
    ((_, found),) = explored
    decomposed, leaves, closed = found
    assert (decomposed, leaves) == (len(expected.decomposed), len(expected.leaves))
    by_depth = enumerate(expected.closed())
    assert closed == {depth: count for depth, count in by_depth if count}


# -- LB2 ------------------------------------------------------------------------------


def shop_of(tiny):
    return FlowShopInstance("shop", np.array(tiny.times))


def root_bound(times):
    return FlowShopProblem(FlowShopInstance("shop", times)).least_cost


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("some", "expected pairs of machines, got 'some'"),
        ([(0, 1), (2,)], "expected pairs of machines"),
        ([(1, 1)], "expected u < v of machines 0 to 3, got 1, 1"),
        ([(0, 4)], "expected u < v of machines 0 to 3, got 0, 4"),
        ([(0, 1), (0, 1)], "each pair once"),
    ],
)
def test_what_is_no_pair_is_refused(which, words):
    with pytest.raises(OptionError, match=f"^pairs: .*{words}"):
        machine_pairs(4, which)


@given(oracle.problems(max_jobs=6), st.data())
def test_johnsons_order_is_the_best_for_every_subset(tiny, data):
    """With time lags, and whatever the machines are ready at."""
    times = np.array(tiny.times)
    n_jobs, n_machines = times.shape
    jobs = sorted(data.draw(st.sets(st.integers(0, n_jobs - 1), min_size=1)))
    tables = JohnsonTables.of(times, machine_pairs(n_machines))
    free = np.zeros((1, n_jobs), bool)
    free[0, jobs] = True
    nothing = np.zeros((1, n_machines), np.int64)
    (found,) = pair_bounds(tables, nothing, nothing, free)
    best = [
        min(
            oracle.longest_stay(tiny.times, u, v, order) for order in permutations(jobs)
        )
        for u, v in machine_pairs(n_machines)
    ]
    assert found.tolist() == best


@given(oracle.problems(), st.integers(0, 400))
def test_what_is_below_the_ub_does_not_depend_on_it(tiny, ub):
    problem = FlowShopProblem(shop_of(tiny), "lb2")
    if problem.n_jobs < 2:
        return
    root, jobs = problem.root_state(), np.arange(problem.n_jobs)
    for back in (False, True):
        loose = problem.child_bounds(root, jobs, back=back)
        everything = problem.tighten(root, jobs, loose, 10**6, back=back)
        some = problem.tighten(root, jobs, loose, ub, back=back)
        assert ((some < ub) == (everything < ub)).all()
        assert (some[some < ub] == everything[some < ub]).all()


@given(oracle.problems())
def test_the_root_bound_is_that_of_the_empty_schedule(tiny):
    times = np.array(tiny.times)
    order = np.arange(len(times))[None]
    nothing = np.zeros(1, np.intp)
    tables = JohnsonTables.of(times, machine_pairs(times.shape[1]))
    expected = Nodes.of(times, order, nothing, nothing).lb2(tables)
    assert root_bound(times) == expected


@pytest.mark.data
def test_root_bounds_equal_the_published_ones(shared):
    with (shared / "data/pfsp_bounds.csv").open() as file:
        rows = [*csv.DictReader(file, delimiter=";")]
    rows = [row for row in rows if row["name"].startswith("ta")]
    assert len(rows) == 120
    for row in rows:
        problem = FlowShopProblem(taillard_instance(row["name"]))
        assert problem.root_bound == int(row["lb1_root"]), row["name"]
        assert problem.least_cost == int(row["lb2_root"]), row["name"]


def one_node(times, order, d1, d2, *, form):
    return Nodes.of(times, np.array([order]), np.array([d1]), np.array([d2]), form=form)


@given(oracle.problems(max_jobs=6), st.data())
def test_lb2_lies_between_lb1_and_the_best_completion(tiny, data):
    """With zeros, equal times, one and two machines."""
    times = np.array(tiny.times)
    n_jobs, n_machines = times.shape
    order = data.draw(st.permutations(range(n_jobs)))
    d1 = data.draw(st.integers(0, n_jobs))
    d2 = data.draw(st.integers(0, n_jobs - d1))
    end = n_jobs - d2
    best = min(
        makespan(times, (*order[:d1], *middle, *order[end:]))
        for middle in permutations(order[d1:end])
    )
    loose = one_node(times, order, d1, d2, form="tree")
    tight = one_node(times, order, d1, d2, form="strong")
    assert (loose.heads <= tight.heads).all()
    assert (loose.tails <= tight.tails).all()
    for nodes in (loose, tight):
        every = JohnsonTables.of(times, machine_pairs(n_machines))
        strongest = nodes.lb2(every)
        assert nodes.lb1() <= strongest <= best
        if d1 + d2 == n_jobs:
            assert nodes.lb1() == best
        if n_machines == 2 and d1 == d2 == 0:
            assert strongest == best


def test_bounds_equal_the_golden_ones():
    """Golden values take minima over the unscheduled jobs on an empty side."""
    golden = json.loads((GOLDEN / "bounds_tabu_jobshop.json").read_text())
    assert len(golden["lb"]) == 48
    for node in golden["lb"]:
        times = taillard_instance(node["inst"]).times
        tables = JohnsonTables.of(times, machine_pairs(times.shape[1]))
        for form in ("plain", "strong"):
            place = node["prmu"], node["d1"], node["d2"]
            found = one_node(times, *place, form=form)
            assert found.lb1() == node[f"lb1_{form}"]
            assert found.lb2(tables) == node[f"lb2_{form}"]
