from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbb.engines import explore_to_end, get_engine
from dpbb.errors import EngineUnavailable, InvariantError
from dpbb.options import BranchingRule, TreeOptions
from dpbb.problem import Problem
from dpbb.tree import WorkUnit
from tests.intervals import Interval, intervals_of
from tests.oracle import TinyFlowShop, best_orders, naive_tree, problems, trees

ENGINE = get_engine("reference")
PROBLEM = TinyFlowShop(((3, 9, 2), (8, 1, 7), (4, 4, 5), (6, 2, 9), (1, 7, 3)))


def open_session(problem=PROBLEM, tree=None, unit=None, **options):
    device = ENGINE.devices()[0]
    session = ENGINE.open(problem, tree or TreeOptions(), device, **options)
    session.load(WorkUnit.whole(problem.n_jobs) if unit is None else unit)
    return session


@dataclass(frozen=True)
class Tardiness:
    """Total tardiness on one machine: no flow shop, and no bound from the back."""

    durations: tuple[int, ...]
    due: tuple[int, ...]
    name = "tardiness"
    digest = ""

    @property
    def n_jobs(self):
        return len(self.durations)

    @property
    def trivial_ub(self):
        return self.n_jobs * sum(self.durations) + 1

    def root_state(self):
        return 0, 0  # time, tardiness so far

    def extend(self, state, job, *, back):
        assert not back
        end = state[0] + self.durations[job]
        return end, state[1] + max(0, end - self.due[job])

    def child_bounds(self, state, jobs, *, back):
        return np.array([self.extend(state, int(j), back=back)[1] for j in jobs])

    def evaluate(self, permutation):
        state = self.root_state()
        for job in permutation:
            state = self.extend(state, int(job), back=False)
        return state[1]


def test_a_problem_without_bounds_from_the_back_is_solved_from_the_front():
    """A rule of one side needs only that side's bounds."""
    problem = Tardiness((4, 2, 7, 3, 5, 1), (5, 6, 7, 9, 11, 4))
    assert isinstance(problem, Problem)
    session = open_session(problem, TreeOptions(BranchingRule.FRONT))
    total = explore_to_end(session, problem.trivial_ub)
    assert total.best.value == min(map(problem.evaluate, permutations(range(6))))
    assert problem.evaluate(total.best.permutation) == total.best.value
    assert total.counters.closed_leaves == 720


def test_the_first_step_decomposes_the_tree_root():
    session = open_session()
    first = session.advance(PROBLEM.trivial_ub, 0)
    assert (first.decomposed, first.leaves, first.open_roots) == (1, 0, 5)
    assert first.least_lb == min(
        PROBLEM.child_bound(PROBLEM.root_state(), job, back=False) for job in range(5)
    )
    assert not first.exhausted


def test_no_time_still_visits_a_node_in_every_call():
    best, _ = best_orders(PROBLEM.times)
    tree = naive_tree(PROBLEM, TreeOptions(), best + 3)
    session = open_session(ub=best + 3, all_optima=True)
    calls = 0
    while not session.advance(best + 3, 0).exhausted:
        calls += 1
    assert calls <= len(tree.decomposed) + len(tree.leaves)


@given(st.data())
def test_the_upper_bound_falls_with_every_better_leaf(data):
    """One explorer in leaf order: even live, the nodes are those of plain recursion."""
    problem = data.draw(problems(max_jobs=6))
    tree = data.draw(trees(problem))
    slice_s = data.draw(st.sampled_from((0, 1)))
    expected = naive_tree(problem, tree, problem.trivial_ub, live=True)
    session = open_session(problem, tree)
    counters = explore_to_end(session, problem.trivial_ub, slice_s).counters
    assert counters.decomposed == len(expected.decomposed)
    assert counters.leaves == len(expected.leaves)
    assert counters.closed.tolist() == expected.closed()


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


def test_pending_roots_count_until_they_are_exported_again():
    """Loading adds z at the next slice; whoever exports the root takes it off."""
    unit = WorkUnit.from_paths(5, [(0, 1), (1, 0, 0), (2, 0)])
    session = open_session(unit=unit)
    part = session.advance(PROBLEM.trivial_ub, 0)  # (0, 1) alone is started
    assert part.decomposed == 1 + 2 + 1
    assert part.least_lb is None  # of (1, 0, 0) no bound is known yet
    # (0, 1) itself is owned by its first child now
    assert session.remaining().owned_ancestors == 1 + 2 + 1


def test_roots_that_overlap_open_ones_are_refused():
    session = open_session(unit=WorkUnit.from_paths(5, [(1,)]))
    with pytest.raises(InvariantError, match="disjoint from the session's open"):
        session.load(WorkUnit.from_paths(5, [(1, 2)]))
    session.load(WorkUnit.from_paths(5, [(2,)]))
    assert intervals_of(session.remaining()) == [Interval(24, 72)]


def test_every_second_open_root_is_donated():
    """Of those that wait, and of open siblings; shallow ones first where few may be."""
    unit = WorkUnit.from_paths(5, [(0,), (1, 0), (1, 1), (2,), (3,)])
    session = open_session(unit=unit)
    assert session.donate(10) == unit.take([1, 3])
    assert session.donate(0) == WorkUnit.empty(5)
    for _ in range(3):
        session.advance(PROBLEM.trivial_ub, 0)
    before = session.remaining()
    assert before.depth_counts[1] > 0
    assert before.depths.max() > 1
    given = session.donate(1)
    assert len(given) == 1
    assert WorkUnit.concatenate([session.remaining(), given]) == before


def test_the_only_root_is_not_donated():
    session = open_session()
    assert session.donate(10) == WorkUnit.empty(5)
    assert session.remaining() == WorkUnit.whole(5)


def test_availability_and_devices():
    assert ENGINE.availability() is None
    (device,) = ENGINE.devices(threads=8)
    assert (device.kind, device.threads) == ("cpu", 1)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (TreeOptions(BranchingRule.MINBRANCH), "minbranch needs a branching_ub"),
        (TreeOptions(root_order=(0, 1, 2)), "root_order must be a permutation"),
        (TreeOptions(root_order=(0, 1, 2, 3, 3)), "root_order must be a permutation"),
    ],
)
def test_options_that_do_not_fit_are_refused(tree, message):
    assert message in ENGINE.supports(PROBLEM, tree)
    with pytest.raises(EngineUnavailable, match=message):
        open_session(tree=tree)
