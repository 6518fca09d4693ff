"""What the parity tests do not see: bounds that tighten, the order of the search."""

import numpy as np
import pytest

from dpbb.engines import explore_to_end, get_engine
from dpbb.engines.base import Device
from dpbb.engines.pool import session as pool_session
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import BranchingRule, Selection, SolveOptions, TreeOptions, Tuning
from dpbb.tree import WorkUnit
from dpbb.tree.branching import tree_of

BOUNDS = ("lb2", "cascade:2-6:0-3,1-2", "cascade:1-3:0-1")


def shop(seed, bound="lb1", n_jobs=8, n_machines=4):
    times = np.random.default_rng(seed).integers(1, 60, (n_jobs, n_machines))
    return FlowShopProblem(FlowShopInstance(f"shop {seed}", times), bound)


HERE = Device("cpu", "here", threads=2)


def session_of(problem, tree, ub, tuning, engine=None, device=HERE):
    engine = engine or get_engine("pool")
    session = engine.open(problem, tree, device, ub=ub, tuning=tuning)
    session.load(WorkUnit.whole(problem.n_jobs))
    return session


def counted(problem, tree, ub, tuning):
    return counted_by(None, HERE, problem, tree, ub, tuning)


def counted_by(engine, device, problem, tree, ub, tuning):
    session = session_of(problem, tree, ub, tuning, engine, device)
    try:
        return explore_to_end(session, ub).counters
    finally:
        session.close()


def reference(problem, tree, ub):
    session = get_engine("reference").open(problem, tree, Device("cpu", "here"), ub=ub)
    session.load(WorkUnit.whole(problem.n_jobs))
    return explore_to_end(session, ub)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("rule", [BranchingRule.MINMIN, BranchingRule.FRONT])
def test_every_way_explores_the_nodes_of_the_reference_engine(bound, rule):
    problem = shop(6, bound, n_machines=6)
    order = tuple(np.random.default_rng(5).permutation(8).tolist())
    tree = TreeOptions(rule, bound=bound, root_order=order)
    best = reference(problem, tree, problem.trivial_ub).best
    expected = reference(problem, tree, best.value).counters
    assert expected.decomposed > 1
    for tuning in (
        Tuning(),
        Tuning(pool_size=1),
        Tuning(pool_size=100, selection=Selection.DEPTH),
        Tuning(selection=Selection.BEST),
    ):
        assert counted(problem, tree, best.value, tuning) == expected


def test_best_first_alone_raises_the_lower_bound(monkeypatch):
    """The least bound of the open nodes never falls, and ends at the optimum."""
    problem = shop(1, n_jobs=9)
    tree = TreeOptions()
    tuning = Tuning(pool_size=1, selection=Selection.BEST)
    monkeypatch.setattr(pool_session, "IN_FLIGHT", 1)
    session = session_of(problem, tree, problem.trivial_ub, tuning)
    least, value = [], problem.trivial_ub
    while True:
        part = session.advance(value, 0)
        if part.best is not None:
            value = part.best.value
        if part.exhausted:
            break
        least.append(part.least_lb)
    session.close()
    assert value == reference(problem, tree, problem.trivial_ub).best.value
    assert least == sorted(least)
    assert problem.root_bound <= least[0] < least[-1] <= value


def test_a_full_pool_goes_deep(monkeypatch, caplog):
    """With few nodes allowed the pool stays small; best first is told so."""
    problem = shop(4, n_jobs=9, n_machines=7)
    tree = TreeOptions()
    monkeypatch.setattr(pool_session, "IN_FLIGHT", 1)
    most, counters = {20: 0, 10**6: 0}, []
    for pool_max in (20, 10**6):
        monkeypatch.setattr(pool_session, "MOST_NODES", pool_max)
        tuning = Tuning(pool_size=8, selection=Selection.BEST)
        session = session_of(problem, tree, problem.trivial_ub, tuning)

        def note(part, _total, pool_max=pool_max):
            most[pool_max] = max(most[pool_max], part.open_roots)

        found = explore_to_end(session, problem.trivial_ub, 0, note)
        counters.append(found.counters)
        session.close()
    assert most[20] < most[10**6]
    assert all(some.closed_leaves == counters[0].closed_leaves for some in counters)
    assert "the deepest come first until there are 10" in caplog.text


def test_of_equal_jobs_the_first_alone_is_branched_on():
    times = np.random.default_rng(4).integers(1, 60, (4, 5))[[0, 1, 1, 2, 2, 2, 3, 3]]
    problem = FlowShopProblem(FlowShopInstance("twins", times))
    tree = tree_of(problem, SolveOptions(), None)
    assert tree.rule_version == 2
    best = reference(problem, tree, problem.trivial_ub).best
    expected = reference(problem, tree, best.value).counters
    assert expected.decomposed > 20
    assert counted(problem, tree, best.value, Tuning(pool_size=16)) == expected
