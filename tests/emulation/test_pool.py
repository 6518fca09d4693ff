"""The pool engine's kernels, lane by lane on the host: the reference engine's nodes."""

import numpy as np
import pytest

import dpbb
from dpbb.engines.base import Device
from dpbb.engines.pool.engine import PoolEngine
from dpbb.options import BranchingRule, TreeOptions, Tuning
from dpbb.tree.branching import rules_of
from tests.models import NextMachine, Setups, TightCompletion
from tests.oracle import RULES
from tests.unit.engines.pool.test_session import counted_by, reference, shop

pytestmark = pytest.mark.timeout(600)

HERE = Device("cuda", "GPU-0")
FEW = Tuning(pool_size=64)


def check(problem, tree, tuning):
    best = reference(problem, tree, problem.trivial_ub).best
    expected = reference(problem, tree, best.value).counters
    found = counted_by(PoolEngine(), HERE, problem, tree, best.value, tuning)
    assert found == expected


@pytest.mark.parametrize(
    ("rule", "bound"),
    [
        *((rule, "lb2") for rule in RULES),
        (BranchingRule.MINMIN, "lb1"),
        (BranchingRule.MINMIN, "cascade:2-5:0-4,1-2"),
    ],
)
def test_nodes(rule, bound):
    problem = shop(2, bound, n_jobs=7, n_machines=5)
    order = tuple(np.random.default_rng(5).permutation(7).tolist())
    ub = 400 if rule is BranchingRule.MINBRANCH else None
    tree = TreeOptions(rule, ub, bound, order)
    check(problem, tree, FEW)


@pytest.mark.parametrize("bound", ["lb1", "lb2"])
def test_given_jobs(bound):
    whole = shop(2, bound, n_jobs=9, n_machines=5)
    problem = whole.with_ends((3, 8), (0,))
    check(problem, TreeOptions(bound=bound), FEW)


TIMES = np.random.default_rng(4).integers(1, 30, (6, 3))


@pytest.mark.parametrize(
    "problem",
    [
        TightCompletion(TIMES),
        NextMachine(TIMES),
        Setups(TIMES, np.random.default_rng(5).integers(0, 9, (6, 6, 3))),
        dpbb.FlowShop(TIMES, objective="total-completion"),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_texts(problem):
    check(problem, TreeOptions(rules_of(problem)[0], bound="model"), FEW)


def test_more_machines_and_jobs_than_a_warp_has_lanes():
    for n_jobs, n_machines in ((6, 40), (34, 3)):
        problem = shop(3, "lb2", n_jobs, n_machines)
        check(problem, TreeOptions(bound="lb2"), Tuning())
