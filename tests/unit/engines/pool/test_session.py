"""What the parity tests do not see: bounds that tighten, the order of the search."""

import numpy as np
import pytest

from dpbb.engines import explore_to_end, get_engine
from dpbb.engines.base import Device
from dpbb.engines.pool import session as pool_session
from dpbb.engines.pool.settings import PoolSettings
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import BranchingRule, Selection, SolveOptions, TreeOptions
from dpbb.tree import WorkUnit
from dpbb.tree.branching import tree_of

BOUNDS = ("lb2", "cascade:2-6:0-3,1-2", "cascade:1-3:0-1")


def shop(seed, bound="lb1", n_jobs=8, n_machines=4):
    times = np.random.default_rng(seed).integers(1, 60, (n_jobs, n_machines))
    return FlowShopProblem(FlowShopInstance(f"shop {seed}", times), bound)


HERE = Device("cpu", "here", threads=2)


def session_of(problem, tree, ub, settings, engine=None, device=HERE):
    engine = engine or get_engine("pool")
    session = engine.open_with(settings, problem, tree, device, ub=ub)
    session.load(WorkUnit.whole(problem.n_jobs))
    return session


def counted(problem, tree, ub, settings):
    return counted_by(None, HERE, problem, tree, ub, settings)


def counted_by(engine, device, problem, tree, ub, settings):
    session = session_of(problem, tree, ub, settings, engine, device)
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
    for settings in (
        PoolSettings(),
        PoolSettings(pool_size=1),
        PoolSettings(pool_size=100, selection=Selection.DEPTH),
        PoolSettings(pool_size=30, pool_max=20, pool_min=5),
        PoolSettings(selection=Selection.BEST),
    ):
        assert counted(problem, tree, best.value, settings) == expected


def test_best_first_alone_raises_the_lower_bound(monkeypatch):
    """The least bound of the open nodes never falls, and ends at the optimum."""
    problem = shop(1, n_jobs=9)
    tree = TreeOptions()
    settings = PoolSettings(pool_size=1, selection=Selection.BEST)
    monkeypatch.setattr(pool_session, "IN_FLIGHT", 1)
    session = session_of(problem, tree, problem.trivial_ub, settings)
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
    most = {}
    for pool_max in (20, 10**6):
        settings = PoolSettings(
            pool_size=8,
            pool_max=pool_max,
            pool_min=pool_max // 2,
            selection=Selection.BEST,
        )
        session = session_of(problem, tree, problem.trivial_ub, settings)
        explore_to_end(session, problem.trivial_ub)
        session.close()
        most[pool_max] = session.statistics["most_open"]
    assert most[20] < most[10**6]
    assert "the deepest come first until there are 10" in caplog.text


def test_few_roots_are_left_when_few_are_wanted():
    problem = shop(4, n_jobs=12, n_machines=6)
    session = session_of(problem, TreeOptions(), 10**4, PoolSettings(pool_size=64))
    part = session.advance(problem.trivial_ub, 0)
    while part.open_roots < 200:
        part = session.advance(problem.trivial_ub, 0)
    few = session.advance(problem.trivial_ub, 60, most_roots=50)
    session.close()
    assert few.open_roots <= 50


def test_of_equal_jobs_the_first_alone_is_branched_on():
    times = np.random.default_rng(4).integers(1, 60, (4, 5))[[0, 1, 1, 2, 2, 2, 3, 3]]
    problem = FlowShopProblem(FlowShopInstance("twins", times))
    tree = tree_of(problem, SolveOptions(), None)
    assert tree.rule_version == 2
    best = reference(problem, tree, problem.trivial_ub).best
    expected = reference(problem, tree, best.value).counters
    assert expected.decomposed > 20
    assert counted(problem, tree, best.value, PoolSettings(pool_size=16)) == expected
