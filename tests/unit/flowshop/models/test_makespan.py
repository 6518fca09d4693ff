"""The makespan's text, and what compiled searches compute by it."""

import numpy as np
import pytest

from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.heuristics.beam_cpu import front_at
from dpbb.flowshop.times import MAX_TOTAL_TIME
from dpbb.kernels import models
from dpbb.kernels.compiling import entry, int64
from dpbb.kernels.pairs import Room, bound_children
from dpbb.kernels.pointers import addresses, pointer_of, pointers
from dpbb.modeling.cpu import model_of, narrowest_dtype

TIMES = np.random.default_rng(3).integers(0, 100, (21, 11))


def problem_of(times):
    return FlowShopProblem(FlowShopInstance("test", np.array(times)))


def random_problem(seed, n_jobs, n_machines, high=100):
    rng = np.random.default_rng(seed)
    return problem_of(rng.integers(0, high, (n_jobs, n_machines)))


# -- range of integers --------------------------------------------------------------


def test_16_bits_are_left_where_a_bound_could_reach_the_largest_value():
    """The parent's bound plus the longest job must stay below 32767, exactly."""
    times = np.array([[1000, 500], [700, 900], [400, 300]])
    problem = problem_of(times)
    longest = 1600
    assert problem.root_bound < problem.trivial_ub
    for scale, dtype in ((1, np.int16), (50, np.int32)):
        assert narrowest_dtype(problem_of(times * scale), 10**9) is dtype
    # one job more or less at the border, where root bound and limit are one job's sum
    for total, dtype in ((16383, np.int16), (16384, np.int32)):
        problem = problem_of([[total, 0], [0, 0]])
        assert problem.root_bound == total
        assert narrowest_dtype(problem, 0) is dtype
    assert longest == times.sum(axis=1).max()


def test_largest_times_of_an_instance_fit():
    """The job that all the time belongs to, below a bound that no schedule has."""
    problem = problem_of([[MAX_TOTAL_TIME]])
    assert narrowest_dtype(problem, problem.trivial_ub) is np.int32


def test_a_low_upper_bound_makes_16_bits_enough():
    problem = random_problem(1, 400, 5)
    assert narrowest_dtype(problem, problem.trivial_ub) is np.int32
    assert narrowest_dtype(problem, problem.root_bound + 100) is np.int16


# -- compiled -------------------------------------------------------------------------


@entry
def children_of(model_in, room_in, lane, node, n_children, version=0):
    """Bounds of the children, to the room."""
    model = pointers(model_in, lane)
    room = pointers(room_in, lane)
    nodes = pointer_of(node)
    bound_children(model, nodes, int64(0), room, int64(n_children), model.largest)


@entry
def child_of(model_in, room_in, lane, node, job, side, child, fronts, version=0):
    """Write a child and its fronts and backs."""
    model = pointers(model_in, lane)
    room = pointers(room_in, lane)
    to = pointer_of(child)
    zero = int64(0)
    models.step(model, pointer_of(node), zero, to, zero, room.scratch, job, side)
    for machine in range(model.height):
        for which in range(2):
            fronts[which, machine] = front_at(model, to, zero, machine, which)


@entry
def cost_of(model_in, lane, jobs, scratch, version=0):
    """Cost of the permutation."""
    model = pointers(model_in, lane)
    return models.cost(model, pointer_of(jobs), int64(0), pointer_of(scratch))


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize(("n_jobs", "n_machines"), [(5, 1), (9, 20), (33, 8), (75, 3)])
def test_bounds_and_states_are_those_of_the_problem(dtype, n_jobs, n_machines):
    """Along a random path, for tiles of every width, both sides at a time."""
    rng = np.random.default_rng(n_jobs)
    problem = problem_of(rng.integers(0, 100, (n_jobs, n_machines)))
    model = model_of(problem).of(problem, None, dtype)
    room = Room.of(model, n_jobs, dtype)
    at = addresses(model), addresses(room), dtype(0)
    node, state = model.root.copy(), problem.root_state()
    jobs = np.arange(n_jobs)
    while len(jobs) > 1:
        room.slot_jobs[: len(jobs)] = jobs
        children_of(*at, node, len(jobs))
        found = room.bounds[: 2 * len(jobs)].reshape(-1, 2)
        for side in (0, 1):
            expected = problem.child_bounds(state, jobs, back=bool(side))
            np.testing.assert_array_equal(found[:, side], expected)
        side, job = int(rng.integers(2)), int(rng.choice(jobs))
        fronts = np.zeros((2, n_machines), np.int64)
        child = np.zeros_like(node)
        child_of(*at, node, job, side, child, fronts)
        node, state = child, problem.extend(state, job, back=bool(side))
        np.testing.assert_array_equal(fronts[0], state.front)
        np.testing.assert_array_equal(fronts[1], state.back[::-1])
        jobs = jobs[jobs != job]


def test_a_cost_is_the_makespan():
    problem = problem_of(TIMES * 1000)
    model = model_of(problem).of(problem, None, np.int32)
    order = np.random.default_rng(2).permutation(len(TIMES))
    scratch = np.zeros(model.cost_ints, np.int64)
    found = cost_of(addresses(model), np.int32(0), order, scratch)
    assert found == problem.evaluate(order)
