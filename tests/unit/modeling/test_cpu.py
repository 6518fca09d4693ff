"""What is compiled of a text bounds every child as the text does, and counts alike."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import dpbb
from dpbb.engines import choose_engine, explore_to_end, get_engine
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopProblem
from dpbb.modeling import cpu
from dpbb.modeling.cuda import header_of
from dpbb.options import BranchingRule, SolveOptions
from dpbb.tree import WorkUnit
from dpbb.tree.branching import refusal, rules_of, tree_of
from tests.models import (
    KINDS,
    InPython,
    LinearOrdering,
    NextMachine,
    TotalCompletion,
    Turns,
    random_models,
)
from tests.quick import some_slow
from tests.unit.modeling.test_model import best_cost

IN_LANES = {
    "ordering": True, "tardiness": False, "completion": True, "setups": True,
    "blocking": True, "matching": True, "makespan": True, "own search": True,
    "tight": True,
}  # fmt: skip

SLOW = "completion", "tight", "setups", "matching", "own search", "blocking"

TIMES = np.random.default_rng(3).integers(1, 30, (7, 4))
BEST = 132
HERE = {"workers": 0, "verbosity": "quiet"}


def counted(problem, name, ub, order=None, cuts=()):
    """Decomposed nodes, leaves, closed subtrees and optima of a tree, in parts."""
    engine = get_engine(name)
    tree = tree_of(problem, SolveOptions(), ub)
    tree = replace(tree, root_order=order) if order else tree
    assert engine.supports(problem, tree) is None
    device = engine.devices(1)[0]
    session = engine.open(problem, tree, device, ub=ub, all_optima=True)
    session.load(WorkUnit.whole(problem.n_jobs))
    for most in cuts:
        session.donate(most)
    found = explore_to_end(session, ub, 0.2)
    session.close()
    counters = found.counters
    optima = {(leaf.value, *leaf.permutation.tolist()) for leaf in found.optima}
    return counters.decomposed, counters.leaves, counters.closed.tolist(), optima


@pytest.mark.parametrize("kind", some_slow(KINDS, SLOW))
def test_counts_are_those_of_the_reference(kind):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        problem = random_models(rng)[kind]
        ub = best_cost(problem) + 1
        order = None if seed % 2 else tuple(rng.permutation(6).tolist())
        alone = counted(problem, "reference", ub, order)
        assert counted(problem, "cpu", ub, order) == alone


def test_sets_of_jobs_have_several_words():
    worth = np.triu(np.random.default_rng(6).integers(1, 9, (70, 70)), 1)
    problem = LinearOrdering(worth)
    found = counted(problem, "cpu", 1)
    assert found == counted(problem, "reference", 1)
    assert found[-1] == {(0, *range(70))}


LARGE = [
    dpbb.FlowShop("ta091", blocking=True),
    FlowShopProblem(dpbb.read_instance("ta091")).as_text,
]


@pytest.mark.parametrize("n_machines", [1, 2, 9, 17])
def test_vectors_end_behind_the_last_machine(n_machines):
    """What is there is nobody's, and one compiled code serves all sizes."""
    rng = np.random.default_rng(n_machines)
    for n_jobs in (5, 6):
        times = rng.integers(0, 30, (n_jobs, n_machines))
        shop = dpbb.FlowShopInstance("shop", times)
        problems = [dpbb.FlowShop(shop, blocking=True), FlowShopProblem(shop).as_text]
        assert cpu.model_of(problems[1]) is cpu.model_of(LARGE[1])
        is_short = n_machines < 8  # then machines are passed one by one
        assert (cpu.model_of(problems[0]) is cpu.model_of(LARGE[0])) != is_short
        for problem in problems:
            ub = best_cost(problem) + 1
            assert counted(problem, "reference", ub) == counted(problem, "cpu", ub)


class Between(dpbb.Model):
    """What a turn computes on the way is read behind the loop."""

    state: ClassVar = TotalCompletion.state
    __init__ = TotalCompletion.__init__
    node_bound = TotalCompletion.node_bound

    def take(self, node, job):
        end = 0
        for k in range(self.n_machines):
            begin = max(end, node.ends[k])
            end = begin + self.times[job][k]
            node.ends[k] = end
        node.total += end + begin


class Ahead(Between):
    """The same, said so that a turn needs no other one."""

    def take(self, node, job):
        end = 0
        for k in range(self.n_machines):
            end = max(end, node.ends[k]) + self.times[job][k]
            node.ends[k] = end
        node.total += end + (end - self.times[job][self.n_machines - 1])


class FirstAgain(Between):
    def take(self, node, job):
        end = 0
        for k in range(self.n_machines):
            end = max(end, node.ends[0]) + self.times[job][k]
            node.ends[k] = end


class PassAgain(Between):
    def take(self, node, job):
        for k in range(self.n_machines):
            node.ends[k] = node.ends[k] + self.times[job][k]
        for k in range(self.n_machines - 1):
            node.ends[k] = node.ends[k + 1]


class Numbered(Between):
    def take(self, node, job):
        for k in range(self.n_machines):
            node.ends[k] = node.ends[k] + max(k, 2)


@pytest.mark.parametrize("kind", [Between, FirstAgain, PassAgain, Numbered])
def test_turns_that_need_what_others_change_take_no_vectors(kind):
    problem = kind(np.ones((6, 10), np.int64))
    assert "take(self, children" in cpu.form_of(problem.shape).source


@pytest.mark.slow
def test_what_a_loop_comes_to_is_read_behind_it():
    problem = Ahead(np.random.default_rng(3).integers(1, 30, (6, 10)))
    assert "take(self, children" not in cpu.form_of(problem.shape).source
    ub = best_cost(problem) + 1
    assert counted(problem, "reference", ub) == counted(problem, "cpu", ub)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_taken_where_they_can_be(kind):
    problem = random_models(np.random.default_rng(0))[kind]
    assert cpu.form_of(problem.shape).in_lanes == IN_LANES[kind]


@pytest.mark.slow
def test_ranges_end_with_the_jobs_left():
    """Vectors of turns begin before the first one, and write over no other values."""
    problem = Turns(np.random.default_rng(8).integers(1, 20, 8))
    assert cpu.form_of(problem.shape).in_lanes
    ub = problem.bound_of(problem.root_state()) + 1
    assert counted(problem, "reference", ub) == counted(problem, "cpu", ub)


class FewTurns(dpbb.Model):
    """Ranges that end at 0 or below make no turn."""

    name = "few turns"
    state: ClassVar = {"time": None, "cost": None}

    def __init__(self, table):
        self.table = np.array(table)
        self.n_jobs, self.width = self.table.shape
        self.trivial_ub = int(100 * self.table.sum())

    def take(self, node, job):
        node.time += self.table[job][0]
        node.cost += node.time
        for k in range(self.width - 5):
            node.cost += self.table[job][k]

    def node_bound(self, node):
        return node.cost

    def child_bound(self, node, job):
        bound = node.cost + node.time + self.table[job][0]
        for k in range(self.width - 5):
            bound += self.table[job][k]
        return bound


@pytest.mark.parametrize("width", some_slow(range(1, 12), {*range(12)} - {6, 11}))
def test_ranges_may_end_below_zero(width):
    problem = FewTurns(np.random.default_rng(width).integers(1, 20, (6, width)))
    ub = best_cost(problem) + 1
    assert counted(problem, "reference", ub) == counted(problem, "cpu", ub)


class Further(Turns):
    def child_bound(self, node, job):
        bound = 0
        for i in range(max(len(node.left), 20)):
            bound += i
        return bound


@pytest.mark.parametrize("write", [cpu.form_of, header_of])
def test_ranges_whose_largest_end_is_not_known_are_refused(write):
    with pytest.raises(dpbb.ModelError, match=r"test_cpu\.py:\d+: .*max\(len"):
        write(Further([1, 2, 3]).shape)


def test_values_of_more_than_32_bits_are_for_the_reference_engine():
    problem = random_models(np.random.default_rng(0))["completion"]
    wide = type(problem)(problem.times * 10**9)
    assert "32-bit integers hold less" in cpu.obstacle(wide)
    found = dpbb.solve(wide, workers=0, verbosity="quiet")
    assert (found.makespan, found.engine) == (best_cost(wide), "reference")


def test_values_of_more_than_16_bits_take_32():
    problem = random_models(np.random.default_rng(0))["makespan"]
    assert cpu.narrowest_dtype(problem, 1000) is np.int16
    shop = dpbb.FlowShopInstance("shop", problem.times * 3000)
    wide = FlowShopProblem(shop).as_text
    assert cpu.narrowest_dtype(wide, wide.trivial_ub) is np.int32
    ub = best_cost(wide) + 1
    assert counted(wide, "reference", ub) == counted(wide, "cpu", ub)


# -- bounds and branching rules of users: examples/13_own_search.py --------------------


def test_a_text_explores_the_tree_that_any_python_explores():
    ways = [(NextMachine, "reference"), (NextMachine, "cpu"), (InPython, "reference")]
    alike = [counted(kind(TIMES), engine, BEST + 1) for kind, engine in ways]
    assert alike[0] == alike[1] == alike[2]
    plain = counted(dpbb.FlowShop(TIMES), "reference", BEST + 1)
    assert alike[0][0] < plain[0]
    assert alike[0][3] == plain[3]  # the optimal permutations


class Weighs(dpbb.FlowShop):
    """Everything that may stand in a weight."""

    step = 3

    def rise(self, bound, parent):
        return bound - parent

    def child_weight(self, bound, parent):
        weight = 7
        if self.rise(bound, parent) > self.step and bound != parent:
            weight = -min(5, self.rise(bound, parent) * self.step)
        else:
            weight += 1 if bound > parent else bound == parent
        return weight


@pytest.mark.parametrize(
    ("shop", "divisor", "ub"),
    [(TIMES, 1, BEST), ("ta016", 1, 1370), ("ta049", 2, 1432), ("ta073", 4, 1375)],
)
def test_weights_are_those_of_the_reference_with_any_number_of_children(
    shop, divisor, ub
):
    """All of 16 bits, which are compiled once."""
    shop = Weighs(dpbb.read_instance(shop).times // divisor)
    reference, cpu = (counted(shop, name, ub) for name in ("reference", "cpu"))
    assert reference == cpu
    assert reference[0] > 10


@pytest.mark.parametrize("line", ["node.ends[0]", "self.times[0][0]", "len(node.left)"])
def test_a_weight_reads_numbers_alone(line, tmp_path):
    text = "class Reads(dpbb.FlowShop):\n    def child_weight(self, bound, parent):\n"
    path = tmp_path / "reads.py"
    path.write_text(f"{text}        return bound - {line}\n")
    with pytest.raises(dpbb.ModelError, match=r"reads.py:3: .*plain numbers"):
        exec(compile(path.read_text(), str(path), "exec"), {"dpbb": dpbb})  # noqa: S102


def test_another_rule_may_be_asked_for_and_no_other_problem_has_this_one():
    problem = NextMachine(TIMES)
    assert rules_of(problem)[0] is BranchingRule.OWN
    other = tree_of(problem, SolveOptions(branching="minmin"), None)
    assert (refusal(problem, other), other.branching) == (None, BranchingRule.MINMIN)
    with pytest.raises(OptionError, match=r"expected minmin or .*got 'own'"):
        dpbb.solve(TIMES, branching="own", **HERE)


def test_compiled_engines_refuse_what_is_no_text_and_auto_says_so():
    class Rule(dpbb.FlowShop):
        def choose_back(self, state, front, back):
            return front.min() < back.min()

    for kind in InPython, Rule:
        with pytest.raises(
            dpbb.EngineUnavailable, match=f"no model of {kind.__name__}"
        ):
            dpbb.solve(kind(TIMES), engine="cpu", **HERE)
        tree = tree_of(kind(TIMES), SolveOptions(), None)
        engine, reason = choose_engine("auto", kind(TIMES), tree)
        assert engine.name == "reference"
        assert f"no cpu: engine cpu has no model of {kind.__name__}" in reason
    assert dpbb.estimate(Rule("ta016"), upper_bound=1300, seconds=0.1).decomposed > 0
