"""The pool engine on a GPU: in every way the nodes of the CPU engine."""

import pytest

import dpbb
from dpbb.engines import explore_to_end, get_engine
from dpbb.engines.pool.engine import PoolEngine
from dpbb.flowshop import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import BranchingRule, Selection, TreeOptions, Tuning
from dpbb.tree import WorkUnit
from tests.oracle import RULES
from tests.unit.engines.pool.test_session import reference, shop

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

WAYS = {
    "hybrid": Tuning(),
    "small pool": Tuning(pool_size=4096),
    "depth": Tuning(selection=Selection.DEPTH),
    "best": Tuning(selection=Selection.BEST, block_size=64),
}


@pytest.fixture(scope="module", autouse=True)
def device(cupy):
    return PoolEngine().devices()[0]


def counters(session, unit, ub):
    session.load(unit)
    try:
        return explore_to_end(session, ub).counters
    finally:
        session.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "ub", "bound", "rule"),
    [
        ("ta030", 2178, "lb1", BranchingRule.MINMIN),
        ("ta030", 2178, "lb2", BranchingRule.MINMIN),
        ("ta050", 3065, "cascade:5-40:0-9,3-9,8-9", BranchingRule.MINMIN),
        ("ta101", 11140, "lb2", BranchingRule.MINMIN),
    ],
)
def test_every_way_explores_the_same_nodes(device, name, ub, bound, rule, way):
    problem = FlowShopProblem(taillard_instance(name), bound)
    tree = TreeOptions(rule, bound=bound)
    unit = WorkUnit.whole(problem.n_jobs)
    engine = get_engine("pool")
    cpu = next(iter(get_engine("cpu").devices()))
    expected = counters(engine.open(problem, tree, cpu, ub=ub), unit, ub)
    session = engine.open(problem, tree, device, ub=ub, tuning=WAYS[way])
    found = counters(session, unit, ub)
    assert found == expected


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("way", WAYS)
def test_every_rule(device, way, rule):
    problem = shop(4, "lb2", n_jobs=9, n_machines=7)
    branching_ub = 600 if rule is BranchingRule.MINBRANCH else None
    tree = TreeOptions(rule, branching_ub, "lb2")
    ub = reference(problem, tree, problem.trivial_ub).best.value
    expected = reference(problem, tree, ub).counters
    unit = WorkUnit.whole(problem.n_jobs)
    session = PoolEngine().open(problem, tree, device, ub=ub, tuning=WAYS[way])
    assert counters(session, unit, ub) == expected


def test_a_solve_with_the_pool_engine():
    result = dpbb.solve("ta030", engine="pool", bound="lb2", progress="none")
    assert result.makespan == 2178
    assert result.status == "optimal"
