"""Jobs given at both ends on a device: the counts of the cores, and the optimum."""

import random

import numpy as np
import pytest

import dpbb
from dpbb.flowshop import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions
from dpbb.problem import StartSearch
from tests.parity.subject import Subject, churn

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("gpu")]

# instance, number of jobs in the window, its first position, bound
WINDOWS = (
    ("ta021", 13, 3, "lb1"), ("ta041", 14, 20, "lb1"), ("ta041", 14, 20, "lb2"),
    ("ta101", 12, 150, "lb1"),
)  # fmt: skip


@pytest.fixture(scope="module", params=WINDOWS, ids=str)
def window(request):
    """A window of the jobs by falling work, its tree, and the cores' counts."""
    name, size, first, bound = request.param
    shop = taillard_instance(name)
    order = np.argsort(-shop.times.sum(axis=1), kind="stable").tolist()
    ends = tuple(order[:first]), tuple(order[first + size :])
    problem = FlowShopProblem(shop, bound, *ends)
    tree = TreeOptions(bound=bound)
    cores = Subject.of("cpu-4")
    start = problem.first_incumbent(StartSearch("neh", threads=1))
    found = cores.explore(problem, tree, start.value).best
    optimum = start.value if found is None else found.value
    counters = cores.explore(problem, tree, optimum).counters
    return problem, tree, optimum, (counters.decomposed, counters.leaves)


@pytest.mark.parametrize("arm", ["gpu", "gpu-steal"])
def test_counts_are_those_of_the_cores(window, arm):
    problem, tree, optimum, expected = window
    gpu = Subject.of(arm)
    counters = gpu.explore(problem, tree, optimum).counters
    assert (counters.decomposed, counters.leaves) == expected
    total, _, _ = churn(gpu, problem, tree, optimum, random.Random(1), slice_s=0.001)
    assert (total.decomposed, total.leaves) == expected
    assert gpu.explore(problem, tree, optimum + 1).best.value == optimum


def test_heuristics_on_the_device_keep_what_is_given(window):
    problem, _, optimum, _ = window
    for method in "beam", "tabu":
        search = StartSearch(method, device="gpu", iterations=3, time_limit_s=10)
        found = problem.first_incumbent(search)
        assert problem.evaluate(found.permutation) == found.value >= optimum


def test_a_whole_sequence_comes_back():
    shop = taillard_instance("ta001")
    order = tuple(range(20))
    ends = {"front": order[:5], "back": order[17:]}
    result = dpbb.solve(shop, engine="gpu", verbosity="quiet", **ends)
    here = dpbb.solve(shop, workers=0, verbosity="quiet", **ends)
    assert result.makespan == here.makespan
    assert (result.permutation[:5], result.permutation[17:]) == tuple(ends.values())
