"""Equal jobs on a device: the counts of the CPU engine, however it is stopped."""

import random

import numpy as np
import pytest

from dpbb.engines import explore_to_end
from dpbb.engines.pool.engine import PoolEngine
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.kernels.cuda_model import NARROW_LIMIT
from dpbb.options import SolveOptions
from dpbb.problem import StartSearch
from dpbb.tree import WorkUnit, n_leaves
from dpbb.tree.branching import tree_of
from tests.parity.subject import Subject, churn

pytestmark = pytest.mark.gpu

# kinds, copies, machines, seed, unit of time
SHOPS = ((6, 5, 10, 0, 1), (6, 5, 10, 1, 1), (6, 5, 10, 1, NARROW_LIMIT))
SHOPS += ((25, 3, 8, 0, 1),)  # sets of three words


@pytest.fixture(scope="module", params=SHOPS, ids=str)
def case(gpu, request):
    """A shop in any order, its tree, its optimum, and the CPU engine's counts."""
    kinds, copies, n_machines, seed, unit = request.param
    rng = np.random.default_rng(seed)
    times = np.repeat(rng.integers(1, 100, (kinds, n_machines)), copies, axis=0)
    rng.shuffle(times)
    problem = FlowShopProblem(FlowShopInstance("equal", unit * times))
    tree = tree_of(problem, SolveOptions(), None)
    assert tree.skips_copies
    start = problem.first_incumbent(StartSearch("ig", iterations=2000, threads=1))
    cores = Subject.of("cpu-4")
    found = cores.explore(problem, tree, start.value).best
    optimum = start.value if found is None else found.value
    return problem, tree, optimum, cores.explore(problem, tree, optimum).counters


@pytest.mark.parametrize("arm", ["gpu", "gpu-steal"])
def test_counts_are_those_of_the_cpu_engine(arm, case):
    problem, tree, optimum, expected = case
    total = Subject.of(arm).explore(problem, tree, optimum)
    assert total.best is None
    assert total.counters.decomposed == expected.decomposed
    assert total.counters.leaves == expected.leaves
    assert total.counters.closed.tolist() == expected.closed.tolist()


def test_pools_have_the_counts_of_the_cpu_engine(gpu, case):
    problem, tree, optimum, expected = case
    session = PoolEngine().open(problem, tree, gpu.device, ub=optimum)
    session.load(WorkUnit.whole(problem.n_jobs))
    total = explore_to_end(session, optimum)
    session.close()
    assert total.best is None
    assert total.counters == expected


@pytest.mark.parametrize("arm", ["gpu", "gpu-steal"])
def test_stops_donations_and_reloads_change_no_count(arm, case):
    problem, tree, optimum, expected = case
    total, _, _ = churn(
        Subject.of(arm), problem, tree, optimum, random.Random(1), slice_s=0.001
    )
    assert (total.decomposed, total.leaves) == (expected.decomposed, expected.leaves)
    assert total.closed_leaves == n_leaves(problem.n_jobs)


def test_the_optimum_is_found_by_the_device(case):
    problem, tree, optimum, _ = case
    found = Subject.of("gpu").explore(problem, tree, optimum + 1).best
    assert found.value == optimum == problem.evaluate(found.permutation)


def test_stops_of_pools_change_no_count(gpu, case):
    """Its device is the GPU here."""
    problem, tree, optimum, expected = case
    if expected.decomposed > 10**6:
        pytest.skip("too large for batches of 256 children")
    pool = Subject.of("pool")
    assert pool.device.kind == gpu.device.kind
    total, _, _ = churn(pool, problem, tree, optimum, random.Random(1), slice_s=0.001)
    assert total == expected
