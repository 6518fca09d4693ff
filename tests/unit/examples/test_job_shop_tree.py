"""The job shop of the examples, on shops so small that all schedules can be tried."""

import importlib.util
from itertools import permutations, product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.engines import explore_to_end, get_engine
from dpbb.options import BranchingRule, TreeOptions
from dpbb.problem import NO_CHILD, root_bound
from dpbb.tree import WorkUnit, n_leaves
from tests.parity.subject import SEEDS, Subject, churn

PATH = Path(__file__).parents[3] / "examples" / "09_job_shop_tree.py"
REFERENCE = get_engine("reference")
TREE = TreeOptions(BranchingRule.FRONT)


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("job_shop_tree", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@st.composite
def tables(draw, n_jobs, n_machines, longest=9):
    """Draw a shop as text has it: a job a row, machine and time of its operations."""
    rows = []
    for _ in range(n_jobs):
        order = draw(st.permutations(range(n_machines)))
        times = draw(st.tuples(*[st.integers(0, longest)] * n_machines))
        rows.append([x for pair in zip(order, times, strict=True) for x in pair])
    return np.array(rows)


def makespan(table, sequences):
    """End of a semi-active schedule, None if its operations wait in a circle."""
    n_jobs, n_machines = len(table), table.shape[1] // 2
    done, job_free = [0] * n_jobs, [0] * n_jobs
    placed, machine_free = [0] * n_machines, [0] * n_machines
    for _ in range(n_jobs * n_machines):
        for machine in range(n_machines):
            if placed[machine] == n_jobs:
                continue
            job = sequences[machine][placed[machine]]
            if done[job] == n_machines or table[job, 2 * done[job]] != machine:
                continue
            end = max(job_free[job], machine_free[machine])
            end += int(table[job, 2 * done[job] + 1])
            job_free[job] = machine_free[machine] = end
            done[job] += 1
            placed[machine] += 1
            break
        else:
            return None
    return max(job_free)


def brute_force(table):
    """Least makespan over all orders of all machines."""
    orders = list(permutations(range(len(table))))
    found = (
        makespan(table, one) for one in product(orders, repeat=table.shape[1] // 2)
    )
    return min(end for end in found if end is not None)


def explore(problem, ub=None):
    session = REFERENCE.open(problem, TREE, REFERENCE.devices()[0])
    session.load(WorkUnit.whole(problem.n_jobs))
    return explore_to_end(session, problem.trivial_ub if ub is None else ub)


def check(problem, expected):
    total = explore(problem)
    assert total.best.value == expected
    assert problem.evaluate(total.best.permutation) == expected
    schedule = problem.schedule(total.best.permutation)
    assert schedule.makespan == expected
    assert root_bound(problem) <= expected
    assert total.counters.closed_leaves == n_leaves(problem.n_jobs)


@pytest.mark.parametrize("seed", range(4))
def test_4x3_shops_agree_with_brute_force(example, seed):
    """13,824 combinations of orders."""
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(3) for _ in range(4)])
    times = rng.integers(1, 20, (4, 3))
    table = np.stack([orders, times], axis=2).reshape(4, 6)
    check(example.JobShop(table), brute_force(table))


@settings(max_examples=60)
@given(data=st.data())
def test_small_shops_with_ties_and_times_of_zero(example, data):
    table = data.draw(st.sampled_from([(2, 3), (3, 2)]).flatmap(lambda s: tables(*s)))
    check(example.JobShop(table), brute_force(table))


@settings(max_examples=30)
@given(data=st.data(), seed=SEEDS)
def test_counts_do_not_depend_on_how_the_tree_is_cut(example, data, seed):
    problem = example.JobShop(data.draw(tables(3, 3)))
    best = explore(problem).best.value
    whole = explore(problem, best).counters
    subject, rng = Subject.of("reference"), Random(seed)
    total, found, _ = churn(subject, problem, TREE, best, rng, slice_s=0)
    assert total == whole
    assert found is None


def test_an_operation_cannot_be_before_one_of_its_job(example):
    problem = example.JobShop(np.array([[0, 3, 1, 2], [1, 4, 0, 1]]))
    bounds = problem.child_bounds(problem.root_state(), np.arange(4), back=False)
    assert bounds.tolist() == [6, NO_CHILD, NO_CHILD, NO_CHILD]
    assert problem.evaluate([0, 2, 1, 3]) == 6
    with pytest.raises(ValueError, match="has to wait"):
        problem.evaluate([1, 0, 2, 3])


def test_every_active_schedule_is_one_leaf(example):
    """No schedule is reached in two orders: a tree of all leaves has none twice."""
    table = np.array([[0, 3, 1, 2, 2, 2], [1, 4, 0, 1, 2, 3], [0, 2, 2, 5, 1, 1]])
    problem, seen = example.JobShop(table), []

    def visit(state, order):
        if len(order) == problem.n_jobs:
            seen.append(tuple(problem.schedule(order).start.ravel().tolist()))
            return
        for operation in problem.conflicts(state):
            visit(problem.extend(state, operation), [*order, operation])

    visit(problem.root_state(), [])
    assert len(seen) > 5
    assert len(seen) == len(set(seen))
