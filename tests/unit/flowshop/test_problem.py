from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from tests import oracle


def flowshop(tiny):
    return FlowShopProblem(FlowShopInstance("tiny", tiny.times))


@st.composite
def nodes(draw, max_jobs=7):
    """Draw a shop and a partial schedule of it with at least one unscheduled job."""
    tiny = draw(oracle.problems(max_jobs=max_jobs))
    jobs = draw(st.permutations(range(tiny.n_jobs)))
    depth = draw(st.integers(0, tiny.n_jobs - 1))
    steps = [(job, draw(st.booleans())) for job in jobs[:depth]]
    return tiny, steps, sorted(jobs[depth:])


def states(tiny, steps):
    problem = flowshop(tiny)
    state, twin = problem.root_state(), tiny.root_state()
    for job, back in steps:
        state = problem.extend(state, job, back=back)
        twin = tiny.extend(twin, job, back=back)
    return problem, state, twin


@given(nodes(), st.booleans())
def test_child_bounds_equal_those_by_definition(node, back):
    tiny, steps, free = node
    problem, state, twin = states(tiny, steps)
    bounds = problem.child_bounds(state, np.array(free), back=back)
    assert bounds.tolist() == tiny.child_bounds(twin, free, back=back).tolist()
    assert bounds.dtype == np.int64


@settings(max_examples=50)
@given(nodes(max_jobs=5), st.booleans())
def test_child_bound_is_no_more_than_the_best_completion(node, back):
    tiny, steps, free = node
    problem, state, twin = states(tiny, steps)
    bounds = problem.child_bounds(state, np.array(free), back=back)
    for job, bound in zip(free, bounds, strict=True):
        child = tiny.extend(twin, job, back=back)
        rest = [other for other in free if other != job]
        completions = [
            tiny.evaluate((*child.prefix, *middle, *child.suffix))
            for middle in permutations(rest)
        ]
        assert bound <= min(completions)
        if not rest:  # the only child of a node with one unscheduled job is a leaf
            only = problem.evaluate(np.array((*child.prefix, *child.suffix)))
            assert only == completions[0]
            if steps and twin.prefix and twin.suffix:
                assert bound == only


@given(oracle.problems(), st.data())
def test_no_bound_on_a_side_falls_when_the_other_takes_a_job(tiny, data):
    """With many jobs the GPU's kernel bounds a job that is cut on a side no more."""
    shop = flowshop(tiny)
    state, free = shop.root_state(), np.arange(shop.n_jobs)
    for job in data.draw(st.permutations(range(shop.n_jobs)))[:-1]:
        back = data.draw(st.booleans())
        jobs = free[free != job]
        before = shop.child_bounds(state, jobs, back=not back)
        state, free = shop.extend(state, job, back=back), jobs
        assert (shop.child_bounds(state, jobs, back=not back) >= before).all()


@given(nodes())
def test_state_holds_fronts_backs_and_remaining_times(node):
    tiny, steps, free = node
    problem, state, twin = states(tiny, steps)
    times = problem.instance.times
    assert state.remain.tolist() == times[free].sum(axis=0).tolist()
    for machine in range(problem.instance.n_machines):
        until = times[:, : machine + 1].tolist()
        since = times[:, machine:].tolist()
        front = oracle.makespan(until, twin.prefix)
        back = oracle.makespan(since, twin.suffix)
        least = problem.least_heads[machine], problem.least_tails[machine]
        assert state.front[machine] == (front if twin.prefix else least[0])
        assert state.back[machine] == (back if twin.suffix else least[1])


@given(oracle.problems(max_jobs=6))
def test_trivial_ub_is_above_every_makespan(tiny):
    problem = flowshop(tiny)
    worst = max(tiny.evaluate(order) for order in permutations(range(tiny.n_jobs)))
    assert problem.trivial_ub > worst
    assert problem.root_bound <= worst


def test_a_permutation_has_a_schedule():
    problem = FlowShopProblem(FlowShopInstance("tiny", [[1, 2], [3, 4]]))
    schedule = problem.schedule(np.array([1, 0]))
    assert schedule.permutation == (1, 0)
    assert schedule.end.tolist() == [[4, 9], [3, 7]]
    assert schedule.makespan == problem.evaluate(np.array([1, 0])) == 9
