"""The blocking flow shop, from the definition and by every way that leads to it."""

from itertools import pairwise, permutations

import numpy as np
import pytest

import dpbb
from dpbb.cli.plot import read_schedule
from dpbb.flowshop.family import read_problem
from dpbb.plotting import gantt
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
        assert schedule.leave.tolist() == [leaves[job] for job in range(6)]
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


def random_node(problem, rng):
    """Jobs at the front, those left and at the back, and the state between."""
    parts = np.split(rng.permutation(6), np.sort(rng.integers(0, 7, 2)))
    state = problem.root_state()
    for job in parts[0]:
        state = problem.extend(state, job, back=False)
    for job in parts[2][::-1]:
        state = problem.extend(state, job, back=True)
    return *parts, state


def test_matched_times_are_a_bound():
    """In the order of length on both machines, those at the ends among them."""
    rng = np.random.default_rng(4)
    larger = 0
    for _ in range(150):
        problem = random_shop(rng).with_bound("matching")
        front, left, back, state = random_node(problem, rng)
        heads, tails = (np.array(own["free"]) for own in state.own)
        tails = tails[::-1]
        bound = 0
        for k in range(problem.n_machines - 1):
            here = [*problem.times[left, k], tails[k] - tails[k + 1]]
            beyond = [*problem.times[left, k + 1], heads[k + 1] - heads[k]]
            gaps = np.maximum(np.sort(here), np.sort(beyond)).sum()
            bound = max(bound, int(heads[k] + gaps + tails[k + 1]))
        assert problem.tight_bound_of(state) == bound
        rows = [(*front, *order, *back) for order in permutations(left)]
        assert bound <= problem.evaluate_all(np.array(rows, np.intp)).min()
        larger += bound > problem.bound_of(state)
    assert larger > 10


def test_the_laws_hold():
    rng = np.random.default_rng(3)
    for _ in range(5):
        check_model(random_shop(rng, 7), nodes=60, engines=())


def test_when_jobs_leave_is_in_every_form_of_a_schedule():
    problem = dpbb.BlockingFlowShop(dpbb.FlowShopInstance("two", [[1, 9], [2, 3]]))
    result = dpbb.solve(problem, workers=0, verbosity="quiet")
    schedule = result.schedule()
    job = result.permutation[1]
    assert schedule.leave[job, 0] > schedule.end[job, 0]
    text = "\n".join(",".join(map(str, row)) for row in schedule.rows())
    read = read_schedule(f"{','.join(schedule.columns)}\n{text}", "schedule.csv")
    again = dpbb.Result.from_json(result.to_json()).schedule()
    assert (schedule.leave == [read.leave, again.leave]).all()
    colors = np.concatenate([bars.get_facecolor() for bars in gantt(read).collections])
    assert (colors[:, 3] < 1).sum() == 1


def test_it_is_read_and_written_as_one():
    problem = read_problem("ta002", blocking=True)
    assert (problem.objective, problem.instance_name) == ("makespan", "ta002")
    assert decoded(encoded(problem)).digest == problem.digest
    assert problem.digest != read_problem("ta002").digest
    tight = decoded(encoded(problem.with_bound("matching")))
    assert (tight.bound, tight.with_bound("model").bound) == ("matching", "model")
    with pytest.raises(dpbb.OptionError, match="expected model or matching, got 'lb2'"):
        problem.with_bound("lb2")


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["model", "matching"])
def test_ta002_is_1408(bound):
    problem = read_problem("ta002", blocking=True)
    result = dpbb.solve(
        problem, bound=bound, upper_bound=1409, engine="cpu", verbosity="quiet"
    )
    assert result.makespan == 1408
