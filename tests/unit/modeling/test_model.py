"""A model is a problem like any other: explored, cut, pickled by value."""

from itertools import permutations

import cloudpickle
import numpy as np
import pytest

import dpbb
from dpbb.options import SolveOptions
from dpbb.problem import NO_CHILD, ImprovesSchedules, Problem
from dpbb.tree.branching import tree_of
from tests.models import HERE, KINDS, LinearOrdering, random_models


def best_cost(problem):
    costs = []
    for order in permutations(range(problem.n_jobs)):
        try:
            costs.append(problem.evaluate(np.array(order)))
        except ValueError:
            continue
    return min(costs)


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_that_of_brute_force(kind):
    for seed in range(3):
        problem = random_models(np.random.default_rng(seed))[kind]
        assert isinstance(problem, Problem)
        result = dpbb.solve(problem, **HERE)
        assert result.makespan == best_cost(problem)


def test_the_cost_is_the_definition():
    rng = np.random.default_rng(4)
    problem = LinearOrdering(rng.integers(0, 30, (5, 5)))
    for order in permutations(range(5)):
        below = sum(
            problem.worth[order[j], order[i]] for i in range(5) for j in range(i + 1, 5)
        )
        assert problem.evaluate(np.array(order)) == below


def test_absent_children_do_not_exist():
    problem = random_models(np.random.default_rng(0))["tardiness"]
    bounds = problem.child_bounds(problem.root_state(), np.arange(6), back=False)
    assert [job for job in range(6) if bounds[job] == NO_CHILD] == [1, 2]
    with pytest.raises(ValueError, match="job 1 is absent"):
        problem.evaluate(np.array([1, 0, 2, 3, 4, 5]))
    assert not isinstance(problem, ImprovesSchedules)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_travels_is_the_same(kind):
    problem = random_models(np.random.default_rng(1))[kind]
    tree_of(problem, SolveOptions(), None)
    _ = problem.shape, problem.views
    there = cloudpickle.loads(cloudpickle.dumps(problem))
    assert there.digest == problem.digest
    assert there.shape.digest == problem.shape.digest


def test_absent_needs_one_side():
    class Both(LinearOrdering):
        def absent(self, node, job):
            return job == 0

    with pytest.raises(dpbb.ModelError, match="expected one side beside absent"):
        _ = Both(np.ones((3, 3), int)).shape


class Scaled(LinearOrdering):
    """All that a text reads may differ from one instance to the next."""

    factor = 1

    def __init__(self, worth, back=1, first=0):
        super().__init__(worth)
        self._back, self.first = back, first

    def root(self):
        return {"loss": self.first}

    def mirrored(self):
        return type(self)(self.worth.T, self._back, self.first)

    def take(self, node, job):
        loss = 0
        for other in node.left:
            loss += self.factor * self._back * self.excess[job][other]
        node.loss += loss


class Doubled(Scaled):
    factor = 2


class Named(Scaled):
    shared = {"loss": None, "more": None}  # noqa: RUF012


def test_the_digest_is_of_all_that_the_text_reads():
    worth = np.arange(9).reshape(3, 3)
    made = [
        Scaled(worth),
        Doubled(worth),
        Named(worth),
        Scaled(worth.T),
        Scaled(worth, back=3),
        Scaled(worth, first=5),
    ]
    assert len({one.digest for one in made}) == len(made)
    labelled = Scaled(worth)
    labelled.label = "read by nobody"
    assert labelled.digest == made[0].digest


class Beside(LinearOrdering):
    def child_bounds(self, state, jobs, *, back):
        return super().child_bounds(state, jobs, back=back) + 1


def test_a_class_that_overrides_what_follows_from_its_text_is_not_compiled():
    assert Beside(np.ones((3, 3), int)).engine_model("cpu") is None


class Shop(dpbb.FlowShop):
    def cost(self, job, end):
        return 2 * end


def test_a_shop_with_another_text_is_another_one():
    times = [[1, 2], [3, 1]]
    assert Shop(times).digest != dpbb.FlowShop(times).digest


class Dearer:
    """One of two equal jobs costs ten times as much."""

    factors = np.array([1, 10, 1])

    def cost(self, job, end):
        return self.factors[job] * end

    def evaluate(self, permutation):
        ends = self.features.passed(self._release, permutation[None])[1][..., -1]
        return int((ends[0] * self.factors).sum())


class DearerShop(Dearer, dpbb.FlowShop):
    pass


class Waits(dpbb.FlowShop):
    waits = np.array([1, 0, 0])

    def absent(self, node, job):
        return self.waits[job] > 0 and 1 in node.left

    def evaluate(self, permutation):
        if list(permutation).index(0) < list(permutation).index(1):
            raise ValueError("job 0 waits for job 1")
        return super().evaluate(permutation)


@pytest.mark.parametrize(("kind", "least"), [(DearerShop, 67), (Waits, 22)])
def test_equal_times_of_an_own_shop_make_no_equal_jobs(kind, least):
    shop = kind([[2, 3], [2, 3], [4, 1]], objective="total-completion")
    shop.trivial_ub *= 10
    assert shop.largest(9) >= shop.trivial_ub
    assert dpbb.solve(shop, **HERE).makespan == least


@pytest.mark.parametrize(
    ("mirror", "expected"),
    [
        (lambda one: None, "a model, the mirror image, got None"),
        (lambda one: Scaled(one.worth.T, back=2), r"self\._back = 1 as here"),
        (lambda one: Scaled(one.worth[1:, 1:]), r"excess|an axis 0 of 3 jobs"),
        (lambda one: Scaled(one.worth.T, first=1), r"a root of \{'loss': 0\}"),
        (
            lambda one: Scaled(one.worth * np.random.default_rng().integers(9**9)),
            "the same when asked again",
        ),
    ],
)
def test_a_mirror_image_that_is_none_is_refused(mirror, expected, monkeypatch):
    monkeypatch.setattr(Scaled, "mirrored", mirror)
    with pytest.raises(dpbb.ModelError, match=expected):
        _ = Scaled(np.arange(9).reshape(3, 3)).digest


@pytest.mark.parametrize(
    "root", [{"los": 1}, {"loss": 2.7}, {"loss": [1]}, {"loss": 2**80}, [("loss", 1)]]
)
def test_first_values_that_are_none_are_refused(root, monkeypatch):
    monkeypatch.setattr(Scaled, "root", lambda one: root)
    with pytest.raises(dpbb.ModelError, match=r"root of .*: expected .*loss"):
        Scaled(np.ones((3, 3), int)).root_state()
