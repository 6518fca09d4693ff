"""The blocking flow shop, from the definition and by every way that leads to it."""

from itertools import pairwise, permutations

import numpy as np
import pytest

import dpbb
from dpbb.flowshop.family import read_problem
from dpbb.problems import decoded, encoded
from dpbb.testing import check_model


def departures(times, order):
    """Starts and departures by the definition: nobody waits but for a machine."""
    machines = len(times[0])
    free = [0] * machines
    starts, leaves = {}, {}
    for job in order:
        start, row = free[0], []
        starts[job] = []
        for k in range(machines):
            starts[job].append(start)
            done = start + times[job][k]
            start = max(done, free[k + 1]) if k + 1 < machines else done
            row.append(start)
        free = leaves[job] = row
    return starts, leaves


def random_shop(rng, n_jobs=6):
    machines = int(rng.integers(1, 5))
    times = rng.integers(0, rng.choice((3, 20)), (n_jobs, machines))
    return dpbb.BlockingFlowShop(dpbb.FlowShopInstance("shop", times))


def test_makespans_and_schedules_are_those_of_the_definition():
    rng = np.random.default_rng(1)
    for _ in range(100):
        problem = random_shop(rng)
        order = rng.permutation(6)
        starts, leaves = departures(problem.times.tolist(), order.tolist())
        assert problem.evaluate(order) == leaves[order[-1]][-1]
        assert dpbb.Model.evaluate(problem, order) == leaves[order[-1]][-1]
        schedule = problem.schedule(order)
        assert schedule.start.tolist() == [starts[job] for job in range(6)]
        for one, two in pairwise(order.tolist()):
            assert (schedule.start[two] >= leaves[one]).all()


def test_the_optimum_is_that_of_brute_force():
    rng = np.random.default_rng(2)
    every = np.array(list(permutations(range(6))))
    for _ in range(40):
        problem = random_shop(rng)
        best = int(problem.evaluate_all(every).min())
        found = dpbb.solve(
            problem, workers=0, engine="reference", heuristics="none", verbosity="quiet"
        )
        assert found.makespan == best


def test_the_laws_hold():
    rng = np.random.default_rng(3)
    for _ in range(5):
        check_model(random_shop(rng, 7), nodes=60, engines=())


def test_it_is_read_and_written_as_one():
    problem = read_problem("ta002", blocking=True)
    assert (problem.objective, problem.instance_name) == ("makespan", "ta002")
    assert decoded(encoded(problem)).digest == problem.digest
    assert problem.digest != read_problem("ta002").digest


@pytest.mark.slow
def test_ta002_is_1408():
    problem = read_problem("ta002", blocking=True)
    result = dpbb.solve(problem, upper_bound=1409, engine="cpu", verbosity="quiet")
    assert result.makespan == 1408
