"""Parts of a tree: split as one likes, their counts add up."""

import numpy as np
import pytest

from dpbb.engines.base import Device
from dpbb.engines.registry import get_engine
from dpbb.flowshop.family import read_problem
from dpbb.options import BranchingRule, TreeOptions
from dpbb.proof.exploring import Explorer, Found, Task
from dpbb.proof.walking import expanded
from dpbb.tree.work_unit import WorkUnit

DEVICE = Device("cpu", "test")


def task(paths, ub, most, n_jobs=8):
    """A task with roots from paths."""
    return Task(WorkUnit.from_paths(n_jobs, paths), ub, most)


TIMES = np.random.default_rng(5).integers(1, 60, (8, 4))


@pytest.fixture
def explorer():
    made = Explorer(
        read_problem(TIMES), TreeOptions(), False, get_engine("reference"), DEVICE
    )
    yield made
    made.close()


@pytest.mark.parametrize("wanted", [1, 5, 60, 4000])
@pytest.mark.parametrize("rule", ["minmin", "alternate"])
def test_pieces_have_the_counts_of_the_whole(wanted, rule):
    """Closed subtrees, too: nothing is split that is pruned."""
    problem, tree = read_problem(TIMES), TreeOptions(BranchingRule(rule))
    engine = get_engine("reference")
    explorer = Explorer(problem, tree, False, engine, DEVICE)
    low = explorer.explore(task([[]], problem.trivial_ub, 10**6)).best
    whole = explorer.explore(task([[]], low, 10**6))
    assert whole.nodes > 10
    roots = expanded(problem, tree, WorkUnit.whole(8), low, wanted)
    assert len(roots) >= min(wanted, 20)
    found = Found()
    for first in range(3):
        found = found.plus(
            explorer.explore(Task(roots.take(slice(first, None, 3)), low, 10**6))
        )
    assert found == whole
    # what has depth already
    again = expanded(problem, tree, roots, low, 2 * len(roots))
    assert explorer.explore(Task(again, low, 10**6)) == whole
    explorer.close()


def test_exploring_ends_when_there_are_more():
    # more than a slice
    problem = read_problem(np.random.default_rng(7).integers(1, 60, (14, 10)))
    explorer = Explorer(problem, TreeOptions(), False, get_engine("reference"), DEVICE)
    found = explorer.explore(task([[]], problem.trivial_ub, 5, 14))
    assert not found.whole
    assert found.nodes > 5
    # what it left is not in what comes next
    assert explorer.explore(task([[0]], 1, 5, 14)) == Found(1, 0, {1: 1})
    explorer.close()


def test_a_better_schedule_does_not_prune_the_next_piece(explorer):
    ub = int(TIMES.sum())
    first = explorer.explore(task([[]], ub, 10**6))
    assert first.best is not None
    assert explorer.explore(task([[]], ub, 10**6)) == first
