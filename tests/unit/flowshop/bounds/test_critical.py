"""Critical machines: what they leave of the children that LB1 cuts."""

import numpy as np
import pytest

from dpbb.flowshop.bounds.critical import critical_machines
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import BranchingRule
from dpbb.tree.branching import choose_back


def problem_of(times):
    return FlowShopProblem(FlowShopInstance("shop", times))


def kept_by(problem, ub, machines, rng, n_nodes):
    """Children below ub on the side of the last job, by all and by those machines."""
    exact = along = 0
    while n_nodes:
        state, jobs, back = problem.root_state(), np.arange(problem.n_jobs), False
        for depth in range(problem.n_jobs - 1):
            sides = [problem.child_bounds(state, jobs, back=side) for side in (0, 1)]
            if depth:
                exact += np.count_nonzero(sides[back] < ub)
                bounds = bounds_along(problem, state, jobs, back, machines[int(back)])
                assert (bounds <= sides[back]).all()
                along += np.count_nonzero(bounds < ub)
                n_nodes -= 1
            back = choose_back(BranchingRule.MINMIN, *sides, depth)
            is_open = np.flatnonzero(sides[back] < ub)
            if not len(is_open) or not n_nodes:
                break
            place = rng.choice(is_open)
            state = problem.extend(state, jobs[place], back=back)
            jobs = np.delete(jobs, place)
    return exact, along


def bounds_along(problem, state, jobs, back, machines):
    """LB1 along some machines: jobs pass the others in no time but their own."""
    front, after, remain, times = state.front, state.back, state.remain, problem.times
    if back:
        front, after, remain = after[::-1], front[::-1], remain[::-1]
        times = times[:, ::-1]
    bounds = []
    for job in jobs:
        start, before = 0, machines[0]
        bound = 0
        for machine in machines:
            start = max(start + times[job, before:machine].sum(), front[machine])
            bound = max(bound, start + remain[machine] + after[machine])
            before = machine
        bounds.append(bound)
    return np.array(bounds)


@pytest.mark.parametrize(("name", "best"), [("ta056", 3679), ("ta105", 11259)])
def test_learned_machines_leave_less_than_evenly_spaced_ones(name, best):
    """Also if what they are learned from has an upper bound that cuts little."""
    problem = FlowShopProblem(taillard_instance(name))
    spaced = np.tile(np.linspace(0, 19, 9).round().astype(int), (2, 1))
    learned = [
        critical_machines(problem, ub, 9)
        for ub in (best, int(1.05 * best), problem.trivial_ub)
    ]
    (exact, by_spaced), *counts = (
        kept_by(problem, best, machines, np.random.default_rng(7), 60)
        for machines in (spaced, *learned)
    )
    for same, by_learned in counts:
        assert same == exact
        assert exact <= by_learned < by_spaced / 1.5


@pytest.mark.parametrize("count", [1, 3, 7])
@pytest.mark.parametrize("n_jobs", [1, 2, 12])
def test_as_many_machines_as_wanted_in_order(n_jobs, count):
    times = np.random.default_rng(n_jobs).integers(0, 50, (n_jobs, 8))
    problem = problem_of(times.tolist())
    for ub in (problem.root_bound + 5, problem.trivial_ub):
        machines = critical_machines(problem, ub, count)
        assert machines.shape == (2, count)
        assert (np.diff(machines, axis=1) > 0).all()
        assert machines.min() >= 0
        assert machines.max() < 8
        assert np.array_equal(machines, critical_machines(problem, ub, count))


def test_all_machines_where_there_are_not_more():
    problem = problem_of([[3, 1], [2, 2]])
    assert critical_machines(problem, 9, 2).tolist() == [[0, 1], [0, 1]]
    assert critical_machines(problem, 9, 5).tolist() == [[0, 1], [0, 1]]
