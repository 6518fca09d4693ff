"""The form of sums for the GPU says what the problem says, of fewer values a node."""

import numpy as np
import pytest

from dpbb.flowshop.models.sums_cuda import SumsModel, SumsOnGpu
from dpbb.problems import model_of
from tests.unit.flowshop.shops import each, random_shop


@each
def test_bounds_of_all_nodes_on_random_paths(kind, objective, released):
    rng = np.random.default_rng(4)
    for _ in range(5):
        problem, _ = random_shop(rng, kind, objective, released)
        if model_of(problem, "cuda", "model") is SumsModel:
            check_path(rng, problem)


def check_path(rng, problem):
    """Bounds of the nodes on a path and of their children are those of the problem."""
    form = SumsOnGpu.of(problem)
    state, other = problem.root_state(), form.root_state()
    left = list(range(problem.n_jobs))
    while left:
        jobs = np.array(left)
        expected = problem.child_bounds(state, jobs, back=False).tolist()
        assert form.child_bounds(other, jobs, back=False).tolist() == expected
        assert form.bound_of(other) == problem.bound_of(state)
        job = int(rng.choice(left))
        left.remove(job)
        state = problem.extend(state, job, back=False)
        other = form.extend(other, job, back=False)


@pytest.mark.parametrize(("n_jobs", "at_once"), [(64, True), (65, False)])
def test_more_jobs_than_it_has_columns_for_are_bounded_one_by_one(n_jobs, at_once):
    rng = np.random.default_rng(1)
    problem, _ = random_shop(rng, "", "total-completion", False, (n_jobs, 2))
    model = model_of(problem, "cuda", "model").of(problem, 10**6)
    assert (model.columns > 0) == at_once
