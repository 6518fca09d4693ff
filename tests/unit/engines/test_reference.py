import numpy as np
import pytest

from dpbb.engines import get_engine
from dpbb.errors import InvariantError
from dpbb.options import BranchingRule, TreeOptions
from dpbb.tree import WorkUnit
from tests.intervals import Interval, intervals_of
from tests.oracle import TinyFlowShop

ENGINE = get_engine("reference")
PROBLEM = TinyFlowShop(((3, 9, 2), (8, 1, 7), (4, 4, 5), (6, 2, 9), (1, 7, 3)))


def open_session(problem=PROBLEM, tree=None, unit=None, **options):
    device = ENGINE.devices()[0]
    session = ENGINE.open(problem, tree or TreeOptions(), device, **options)
    session.load(WorkUnit.whole(problem.n_jobs) if unit is None else unit)
    return session


def test_a_root_pruned_on_the_way_down_counts_its_visited_ancestors_only():
    """Law 4: (0, 0, 0) owns the tree's root and what lies above it, if visited."""
    tree = TreeOptions()
    bounds = PROBLEM.child_bounds(PROBLEM.root_state(), np.arange(5), back=False)
    unit = WorkUnit.from_paths(5, [(0, 0, 0)])
    session = open_session(unit=unit, tree=TreeOptions(BranchingRule.FRONT))
    part = session.advance(int(bounds[0]), 1)  # (0,) is pruned, () is visited
    assert (part.decomposed, part.leaves, part.exhausted) == (1, 0, True)
    assert part.closed.tolist() == [0, 0, 0, 1, 0, 0]
    assert part.least_lb is None
    session = open_session(unit=WorkUnit.from_paths(5, [(0, 1)]), tree=tree)
    assert session.advance(0, 1).decomposed == 0  # owns no ancestor


def test_roots_that_overlap_open_ones_are_refused():
    session = open_session(unit=WorkUnit.from_paths(5, [(1,)]))
    with pytest.raises(InvariantError, match="disjoint from the session's open"):
        session.load(WorkUnit.from_paths(5, [(1, 2)]))
    session.load(WorkUnit.from_paths(5, [(2,)]))
    assert intervals_of(session.remaining()) == [Interval(24, 72)]
