"""Nodes in hand, completed: nodes of the tree, and the best of what is open."""

import random

import pytest

from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions
from tests.oracle import RULES, TinyFlowShop, takes_back
from tests.parity.subject import check_promoted


def shop(seed, n_jobs=7, n_machines=4):
    rng = random.Random(seed)
    rows = [tuple(rng.randint(1, 30) for _ in range(n_machines)) for _ in range(n_jobs)]
    return TinyFlowShop(tuple(rows))


class Walker:
    """Nodes of a tree, each looked at once."""

    def __init__(self, problem, tree):
        self.problem, self.tree = problem, tree
        order = tree.root_order or range(problem.n_jobs)
        self._known = {(): (problem.root_state(), (), tuple(order), ())}
        self._sides = {}

    def goes_back(self, path):
        """Whether the node with this path branches to the back."""
        if path not in self._sides:
            state, _, jobs, _ = self.node(path)
            rule, ub = self.tree.branching, self.tree.branching_ub
            front, back = (
                self.problem.child_bounds(state, list(jobs), back=side).tolist()
                for side in (False, True)
            )
            self._sides[path] = takes_back(rule, front, back, len(path), ub)
        return self._sides[path]

    def node(self, path):
        """State, prefix, unscheduled jobs and suffix of the node with this path."""
        if path not in self._known:
            state, prefix, jobs, suffix = self.node(path[:-1])
            side, job = self.goes_back(path[:-1]), jobs[path[-1]]
            left = tuple(other for other in jobs if other != job)
            state = self.problem.extend(state, job, back=side)
            sides = (prefix, (job, *suffix)) if side else ((*prefix, job), suffix)
            self._known[path] = state, sides[0], left, sides[1]
        return self._known[path]

    def completion(self, path):
        _, prefix, jobs, suffix = self.node(tuple(int(digit) for digit in path))
        return (*prefix, *jobs, *suffix)

    def is_node(self, beginning):
        """Whether it completes the node that it keeps the sides of."""
        order = beginning.permutation.tolist()
        n_front, n_back = beginning.kept
        front, back, path = order[:n_front], order[len(order) - n_back :], ()
        while front or back:
            side = back if self.goes_back(path) else front
            if not side:
                return False
            job = side.pop(-1 if side is back else 0)
            path = (*path, self.node(path)[2].index(job))
        return self.completion(path) == tuple(order)


def check(engine, problem, tree, ub, *, looks=20, listed=False):
    """Look at what is promoted after a few slices.

    ``listed``: all open nodes are in hand; they are listed, and none is better.
    """
    seen, walker = 0, Walker(problem, tree)
    with engine.session(problem, tree, ub=ub, all_optima=True) as session:
        while not session.advance(ub, 0).exhausted and seen < looks:
            found = session.current(9)
            check_promoted(problem, found, 9)
            assert all(walker.is_node(one) for one in found)
            if found and listed:
                paths = session.remaining().roots()
                costs = [problem.evaluate(walker.completion(path)) for path in paths]
                assert found[0].value == min(costs)
            seen += bool(found)
    assert seen


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "minbranch"])
def test_promoted_are_nodes_that_are_explored(engine, rule):
    problem = FlowShopProblem(taillard_instance("ta056"))
    order = tuple(random.Random(f"{rule}").sample(range(50), 50))
    if engine.spec.engine == "gpu" and rule != "minmin":
        pytest.skip("every rule is compiled; it is the same text in all of them")
    check(engine, problem, TreeOptions(rule, root_order=order), 3679)


def test_the_best_are_promoted(engine):
    """However few are asked for, they are the best of those that there are."""
    problem = shop(1)
    with engine.session(problem, TreeOptions(), all_optima=True) as session:
        while not session.advance(problem.trivial_ub, 0).exhausted:
            every, few = session.current(99), session.current(1)
            assert [one.value for one in few] == [one.value for one in every[:1]]


def test_nothing_is_promoted_where_nothing_is_in_hand(engine):
    problem = shop(2)
    with engine.session(problem, TreeOptions()) as session:
        assert session.current(5) == []
        while not session.advance(problem.trivial_ub, 0.05).exhausted:
            pass
        assert session.current(5) == []
