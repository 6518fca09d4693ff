"""Trees of two-machine bounds on a device: the counts of the other engines."""

import pytest

from dpbb.engines import explore_to_end
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions, Tuning
from dpbb.tree import WorkUnit, n_leaves
from tests.parity.subject import Subject

pytestmark = pytest.mark.gpu

# instance, ub, bound, decomposed nodes and leaves of the reference engine
TREES = (
    ("ta014", 1377, "lb2", 12585, 0),
    ("ta014", 1377, "cascade:9-17:0-9,1-9,3-7", 16100, 13),
    ("ta016", 1397, "lb2", 1289, 0),
    ("ta041", 2991, "lb2", 15712, 0),
    ("ta049", 2897, "lb2", 611, 0),
    ("ta049", 2897, "cascade:2-45:0-9,1-9,0-8,4-9,0-3", 644, 0),
    ("ta056", 3620, "lb2", 7795, 0),
    ("ta081", 6050, "lb2", 3674, 0),
    ("ta081", 6050, "cascade:1-80:0-19,7-19,2-16,8-18,11-19,0-12", 4356, 0),
)


def subject_of(balance):
    return Subject.of("gpu" if balance == "explode" else "gpu-steal")


@pytest.mark.parametrize("balance", ["explode", "steal"])
@pytest.mark.parametrize("tree", TREES, ids=lambda tree: f"{tree[0]}-{tree[2][:12]}")
def test_counts_are_those_of_the_reference_engine(balance, tree):
    name, ub, bound, *expected = tree
    problem = FlowShopProblem(taillard_instance(name), bound)
    options = TreeOptions(bound=problem.bound)
    total = subject_of(balance).explore(problem, options, ub)
    assert [total.counters.decomposed, total.counters.leaves] == expected
    assert total.counters.closed_leaves == n_leaves(problem.n_jobs)


@pytest.mark.parametrize("tree", [TREES[0], TREES[3]], ids=["ta014", "ta041"])
def test_values_of_32_bits_make_the_same_tree(monkeypatch, tree):
    from dpbb.flowshop.models import lb1_cuda

    name, ub, bound, *expected = tree
    monkeypatch.setattr(lb1_cuda, "needs_wide", lambda *_: True)
    problem = FlowShopProblem(taillard_instance(name), bound)
    total = subject_of("explode").explore(problem, TreeOptions(bound=bound), ub)
    assert [total.counters.decomposed, total.counters.leaves] == expected


@pytest.mark.parametrize(
    ("name", "ub", "bound"),
    [
        ("ta021", 2200, "cascade:2-17:0-19,0-18,1-19,2-19,0-17"),
        ("ta030", 2178, "lb2"),
        ("ta056", 3650, "cascade:10-45:0-19,0-18,1-19"),
    ],
)
def test_counts_are_those_of_the_cpu_engine(name, ub, bound):
    """Trees of many launches."""
    problem = FlowShopProblem(taillard_instance(name), bound)
    tree = TreeOptions(bound=problem.bound)
    cpu = Subject.of("cpu-4")
    reason = cpu.engine.supports(problem, tree)
    if reason is not None:
        pytest.skip(reason)
    expected = cpu.explore(problem, tree, ub).counters
    for explorers in (4096, None):
        subject = subject_of("explode")
        session = subject.engine.open(
            problem, tree, subject.device, ub=ub, tuning=Tuning(explorers=explorers)
        )
        try:
            session.load(WorkUnit.whole(problem.n_jobs))
            found = explore_to_end(session, ub).counters
        finally:
            session.close()
        assert (found.decomposed, found.leaves) == (
            expected.decomposed,
            expected.leaves,
        )
        assert found.closed.tolist() == expected.closed.tolist()
