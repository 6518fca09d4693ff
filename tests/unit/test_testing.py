# ruff: noqa: E501 (what is changed stands beside what it becomes)
"""Wrong models are caught, each by a law that says where."""

import inspect
import re
import textwrap
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import dpbb
from dpbb.engines.reference import ReferenceEngine
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.matching import MatchingFlowShop
from dpbb.problem import NO_CHILD
from dpbb.testing import LawError, check_model
from tests import models
from tests.models import InPython, random_models
from tests.unit.test_heuristics import Costs

MUTATIONS = {
    "ordering": [
        ("bound = node.loss", "bound = node.loss + 1"),
        ("return node.loss", "return node.loss - 100"),
        ("loss += self.excess[job][other]", "loss += self.excess[other][job]"),
        ("bound += self.excess[job][other]", "bound += self.excess[other][job]"),
        ("bound += self.excess[job][other]", "bound += self.worth[job][other]"),
        ("LinearOrdering(self.worth.T)", "LinearOrdering(self.worth)"),
        ("LinearOrdering(self.worth.T)", "LinearOrdering(2 * self.worth.T)"),
        ("return bound", "return bound - 1"),
    ],
    "tardiness": [
        ("return bound", "return -bound - 1"),
        ("late = node.time + self.times[other]", "late = node.time + 2 * self.times[other]"),
        ("- self.due[other]", "- self.due[other] + 5"),
        ("self.weights[other] * max(0, late)", "4 * self.weights[other] * max(0, late)"),
        ("node.time += self.times[job]", "node.time = self.times[job]"),
        ("node.cost += self.weights[job]", "node.cost += 0 * self.weights[job]"),
        ("max(0, node.time - self.due[job])", "(node.time - self.due[job])"),
        ("return waits > 0", "return waits == 0"),
    ],
    "completion": [
        ("bound = node.total + end", "bound = node.total"),
        ("if other in node.left and other != job", "if other in node.left"),
        ("end += self.last[other]\n                bound += end\n        return bound\n\n",
         "end += self.last[other] + 9\n                bound += end\n        return bound\n\n"),
        ("in self.by_time:\n            if other in node.left:", "in self.backwards:\n            if other in node.left:"),
        ("node.total += end", "node.total += 2 * end"),
        ("node.ends[k] = end", "node.ends[k] = 0"),
    ],
    "tight": [
        ("end = node.ends[k]\n                total", "end = node.ends[k] + 4\n                total"),
        ("total += end + self.tails[other][k]", "total += end + 2 + self.tails[other][k]"),
        ("if other in node.left:\n                        end += self.in", "if place >= 0:\n                        end += self.in"),
        ("bound = 0\n        for k in range(self.n_machines):\n            if bound < ub:", "bound = 0\n        for k in range(self.n_machines):\n            if bound < ub - 9:"),
    ],
    "matching": [
        ("total += time", "total += time + 1"),
        ("if step * ahead <= 0:", "if step * ahead >= 0:"),
        ("high = max(front, back)", "high = front + back"),
        ("total += max(high, 0)", "total += max(high, 0) + low"),
    ],
    "blocking": [
        ("rest = node.ends[k] + after", "rest = node.ends[k] + after + 1"),
        ("most = max(most, begin + after)", "most = max(most, end + after)"),
        ("node.other.ends[self.n_stages - 1 - k]\n            +", "node.other.ends[k]\n            +"),
        ("begin = end - self.times[job][k]", "begin = end"),
        ("self.times[:, ::-1]", "self.times"),
        ("return 2 * parent + int(own.max())", "return ub // 2"),
        ("node.ends[k + 1])\n                node", "node.ends[k])\n                node"),
        ("end = max(end, node.ends[0])\n            for", "end = max(end, node.ends[0]) - 3\n            for"),
    ],
}  # fmt: skip

TIMES = np.random.default_rng(3).integers(1, 30, (7, 4))

SOURCES = {
    "ordering": (models.EXAMPLE, "LinearOrdering"),
    "tardiness": (models.EXAMPLE, "WeightedTardiness"),
    "completion": (models.__file__, "TotalCompletion"),
    "tight": (models.__file__, "TightCompletion"),
    "blocking": (inspect.getsourcefile(dpbb.FlowShop), "FlowShop"),
    "matching": (inspect.getsourcefile(MatchingFlowShop), "MatchingFlowShop"),
}
"""File and class of each kind of model."""

CASES = [
    (kind, number)
    for kind, mutations in MUTATIONS.items()
    for number, (old, new) in enumerate(mutations)
    if old != new
]
_numbers = count()


def mutated(kind, number, folder):
    """Return the class of a kind with one place changed."""
    file, name = SOURCES[kind]
    before, text = Path(file).read_text().split(f"class {name}(")
    old, new = MUTATIONS[kind][number]
    assert old in text, f"{old!r} is not in {file}"
    path = folder / f"mutated_{next(_numbers)}.py"
    path.write_text(f"{before}class {name}({text.replace(old, new, 1)}")
    space = {"__name__": path.stem, "__file__": str(file)}
    exec(compile(path.read_text(), str(path), "exec"), space)  # noqa: S102
    return space[name]


@pytest.mark.parametrize(("kind", "number"), CASES)
def test_a_wrong_model_is_caught(kind, number, tmp_path):
    problem = random_models(np.random.default_rng(7), 7)[kind]
    wrong = mutated(kind, number, tmp_path)
    problem = object.__new__(wrong)
    right = random_models(np.random.default_rng(7), 7)[kind]
    vars(problem).update(right.__getstate__())
    if kind == "completion":
        problem.backwards = problem.by_time[::-1]
    with pytest.raises((LawError, dpbb.ModelError)) as caught:
        check_model(problem, engines=())
    assert re.search(
        r"law [1-689] .* at front .*left|expected|completion", str(caught.value)
    )


@pytest.mark.parametrize("kind", [*SOURCES, "setups"])
def test_right_models_keep_the_laws(kind):
    for seed in range(3):
        check_model(random_models(np.random.default_rng(seed), 7)[kind], engines=())


def test_engines_are_compared_and_named():
    problem = random_models(np.random.default_rng(0))["tardiness"]
    checked = check_model(problem, nodes=20, engines=("reference", "cpu"))
    assert checked.engines == {"reference": "the same", "cpu": "the same"}
    assert checked.summary().endswith(" s)")


def test_a_cost_that_reaches_trivial_ub_is_told_as_that():
    problem = random_models(np.random.default_rng(0))["tardiness"]
    problem.trivial_ub = 5
    told = r"law 9 \(no cost reaches trivial_ub\) .*\) costs \d+, trivial_ub is 5"
    with pytest.raises(LawError, match=told):
        check_model(problem, engines=())


def test_an_engine_that_counts_otherwise_is_told(monkeypatch):
    class Other(ReferenceEngine):
        """It leaves out what costs as much as the UB."""

        def open(self, *tree, ub, all_optima):
            return super().open(*tree, ub=ub)

    engines = {"cpu": Other(), "reference": ReferenceEngine()}
    monkeypatch.setattr("dpbb.testing.get_engine", engines.__getitem__)
    problem = random_models(np.random.default_rng(0))["tardiness"]
    with pytest.raises(LawError, match="law 7"):
        check_model(problem, nodes=20, engines=("cpu",))


def test_other_problems_are_refused():
    with pytest.raises(dpbb.OptionError, match=r"expected a dpbb\.Model, .* got str"):
        check_model(textwrap.dedent("none"))


class TooHigh(FlowShopProblem):
    def tighten(self, state, jobs, bounds, ub, *, back):
        return bounds + 1


class LooksAtUb(FlowShopProblem):
    def tighten(self, state, jobs, bounds, ub, *, back):
        tight = FlowShopProblem(self.instance, "lb2").tighten
        return tight(state, jobs, bounds, ub, back=back) if ub % 2 else bounds


class HasNoChild(FlowShopProblem):
    def child_bounds(self, state, jobs, *, back):
        return np.full(len(jobs), NO_CHILD)


class Draws(FlowShopProblem):
    def choose_back(self, state, front, back):
        return np.random.default_rng().integers(2) == 1


class SaysNoSide(FlowShopProblem):
    def choose_back(self, state, front, back):
        return "back"


class TextTooHigh(dpbb.FlowShop):
    def tighten(self, state, jobs, bounds, ub, *, back):
        return bounds + 30


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (TooHigh, 1),
        (HasNoChild, 5),
        (LooksAtUb, 8),
        (Draws, 10),
        (SaysNoSide, 10),
        (TextTooHigh, 1),
    ],
)
def test_wrong_ones_are_caught(kind, law):
    shop = FlowShopInstance("seven", TIMES)
    with pytest.raises(LawError, match=rf"{kind.__name__}: law {law} .*(left|node)"):
        check_model(kind(shop))


def test_right_ones_keep_the_laws():
    for problem in (
        FlowShopProblem(FlowShopInstance("seven", TIMES)),
        Costs(6, ((0, 1),)),
        Costs(5, side="back"),
    ):
        assert "all hold" in check_model(problem, nodes=30).summary()
    check_model(InPython(TIMES), engines=())


class Rare(models.WeightedTardiness):
    def __init__(self, n_jobs=6, order=0, rare=0):
        times, none = np.arange(1, n_jobs + 1), np.zeros(n_jobs, int)
        super().__init__(times, none, none + 1, [])
        self.order, self.rare = order, rare
        self.state = {"time": None, "cost": None, "code": None}

    def take(self, node, job):
        node.code += 9 * node.code + job + 1
        node.time += self.times[job]
        node.cost += node.time
        for other in node.left:
            node.time += self.order * (other - node.time)

    def node_bound(self, node):
        return node.cost + (200 if node.code == self.rare else 0)

    def largest(self, ub):
        return 10**7


def test_of_a_small_problem_every_front_is_looked_at():
    with pytest.raises(LawError, match=r"law 1 .* front \(2, 5, 1\), back"):
        check_model(Rare(rare=362), nodes=200, engines=())


def test_nothing_depends_on_the_order_of_the_jobs_left():
    with pytest.raises(LawError, match=r"law 7 .*: time after"):
        check_model(Rare(order=1), nodes=8, engines=())


def test_what_a_model_lacks_is_told_before_a_law():
    with pytest.raises(dpbb.ModelError, match="n_jobs of "):
        check_model(object.__new__(Rare), engines=())
