"""PyJobShop's problems: permutation flow shops are read, all others refused."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import dpbb
from dpbb.errors import InstanceError
from dpbb.flowshop.pyjobshop import from_pyjobshop, pyjobshop_model, to_pyjobshop
from dpbb.flowshop.shop import OBJECTIVES
from dpbb.text.labels import Names
from tests.models import HERE
from tests.quick import one_in

pyjobshop = pytest.importorskip("pyjobshop", reason="needs pyjobshop")

TIMES = [[4, 3, 6, 5], [2, 5, 4, 3], [3, 2, 2, 6], [8, 6, 9, 4], [1, 7, 3, 2]]


def model_of(times, *, sequences=True, route=None, named=True):
    """A permutation flow shop as a user of PyJobShop writes it."""
    model = pyjobshop.Model()
    n_machines = len(times[0])
    label = ["saw", "drill", "sand", "oil"] if named else [""] * 4
    machines = [model.add_machine(name=label[k % 4]) for k in range(n_machines)]
    for number, row in enumerate(times):
        job = model.add_job(name=f"part {number}" if named else "")
        tasks = [model.add_task(job=job) for _ in row]
        for task, machine in zip(tasks, route or range(n_machines), strict=True):
            model.add_mode(task, machines[machine], row[machine])
        for first, second in pairwise(tasks):
            model.add_end_before_start(first, second)
    if sequences:
        for first, second in pairwise(machines):
            model.add_same_sequence(first, second)
    return model


def test_a_shop_is_solved_and_its_solution_is_pyjobshops():
    data = model_of(TIMES).data()
    shop = from_pyjobshop(data, "joinery")
    assert (shop.name, shop.times.tolist()) == ("joinery", TIMES)
    assert shop.names == Names(
        tuple(f"part {number}" for number in range(5)), ("saw", "drill", "sand", "oil")
    )
    result = dpbb.heuristic(shop, "neh", progress="none")
    solution = to_pyjobshop(data, result)
    assert solution.makespan == result.makespan
    for task, scheduled in zip(data.tasks, solution.tasks, strict=True):
        machine = scheduled.resources[0]
        assert scheduled.start == result.schedule().start[task.job, machine]
        assert scheduled.duration == TIMES[task.job][machine]


def test_the_route_says_the_order_of_the_machines():
    shop = from_pyjobshop(model_of(TIMES, route=[2, 0, 3, 1]).data())
    assert shop.times.tolist() == np.array(TIMES)[:, [2, 0, 3, 1]].tolist()
    assert shop.names.machines == ("sand", "saw", "oil", "drill")
    assert not from_pyjobshop(model_of(TIMES, named=False).data()).names


def test_three_machines_need_no_sequence_and_four_do():
    three = [row[:3] for row in TIMES]
    assert from_pyjobshop(model_of(three, sequences=False).data()).n_machines == 3
    with pytest.raises(InstanceError, match=r"one sequence on all .* 4 groups"):
        from_pyjobshop(model_of(TIMES, sequences=False).data())


def test_another_problem_is_refused_by_what_it_has():
    data = model_of(TIMES).data()
    for change, message in (
        ({"jobs": [replace(data.jobs[0], deadline=3), *data.jobs[1:]]},
         "job 0: expected no deadline, got 3"),
        ({"tasks": [replace(data.tasks[0], optional=True), *data.tasks[1:]]},
         "task 0: expected no optional"),
        ({"objective": pyjobshop.Objective(weight_total_earliness=1),
          "jobs": [replace(job, due_date=9) for job in data.jobs]},
         "weight_max_tardiness alone to minimize, got weight_total_earliness"),
        ({"objective": pyjobshop.Objective(1, weight_total_flow_time=2)},
         "alone to minimize, got weight_makespan, weight_total_flow_time"),
        ({"objective": pyjobshop.Objective(weight_total_tardiness=1),
          "jobs": [replace(job, due_date=-4) for job in data.jobs]},
         "due of job part 0: expected a whole number >= 0, got -4"),
        ({"objective": pyjobshop.Objective(weight_max_tardiness=1),
          "jobs": [replace(job, due_date=9, weight=3) for job in data.jobs]},
         "jobs of weight 1 for weight_max_tardiness, got"),
    ):  # fmt: skip
        with pytest.raises(InstanceError, match=message):
            from_pyjobshop(data.replace(**change))
    for constraints, message in (
        ({"consecutive": [pyjobshop.Consecutive(0, 4)]}, "no constraints consecutive"),
        ({"end_at_start": [pyjobshop.EndAtStart(0, 1)]}, "allow_idle of task 0"),
        ({"end_before_start": [pyjobshop.EndBeforeStart(0, 1, -1)]}, "delay below 0"),
    ):
        more = replace(data.constraints, **constraints)
        with pytest.raises(InstanceError, match=message):
            from_pyjobshop(data.replace(constraints=more))
    more = [*data.resources, pyjobshop.Renewable(2)]
    with pytest.raises(InstanceError, match="resource 4: expected a Machine, got Ren"):
        from_pyjobshop(data.replace(resources=more))
    modes = [*data.modes, pyjobshop.Mode(0, [0], 1)]
    with pytest.raises(InstanceError, match="one mode of every task, got 21 modes"):
        from_pyjobshop(data.replace(modes=modes))


def test_the_result_of_another_shop_is_refused():
    result = dpbb.heuristic(TIMES[::-1], "neh", progress="none")
    with pytest.raises(InstanceError, match="data: expected the shop of the result"):
        to_pyjobshop(model_of(TIMES).data(), result)


FEATURES = {
    "": lambda _rng, _shape: {},
    "blocking": lambda _rng, _shape: {"blocking": True},
    "setups": lambda rng, shape: {"setups": rng.integers(0, 9, (*shape[:1] * 2, 3))},
    "lags": lambda rng, shape: {"lags": rng.integers(0, 9, (shape[0], 2))},
    "buffers": lambda _rng, shape: {"buffers": [shape[0] - 1, 0]},
}


@pytest.mark.parametrize(("objective", "feature"), one_in(5, OBJECTIVES, FEATURES))
def test_both_solvers_find_the_same_optimum(objective, feature):
    rng = np.random.default_rng([*map(ord, objective + feature)])
    for released in (False, True):
        times = rng.integers(0, 9, (4, 3))
        kind, how = OBJECTIVES[objective], FEATURES[feature](rng, times.shape)
        how |= {"release": rng.integers(1, 15, 4)} if released else {}
        how |= {"due": rng.integers(5, 30, 4)} if kind.dated else {}
        how |= {"weights": [2, 0, 1, 3]} if kind.weighted else {}
        shop = dpbb.FlowShop(times, objective=objective, **how)
        data = pyjobshop_model(shop).data()
        read = from_pyjobshop(data)
        if feature or released or objective != "makespan":
            assert read.digest == shop.digest
        result = dpbb.solve(read, **HERE)
        ours = to_pyjobshop(data, result)
        theirs = pyjobshop.solve(data, display=False, num_workers=1)
        assert theirs.status.value == "Optimal"
        assert ours.objective == theirs.objective
        flow = 0 if kind.dated or kind.latest else np.array(how.get("weights", [1] * 4))
        came = flow * how.get("release", np.zeros(4, int))  # flow times are less by it
        assert result.makespan == ours.objective + came.sum()
        for task, mode in zip(ours.tasks, data.modes, strict=True):
            assert task.processing == mode.duration


def test_what_pyjobshop_cannot_say_is_refused_by_name():
    for how, message in (
        ({"unlimited": [1]}, "got unlimited"),
        ({"buffers": [1, 0]}, "got buffers of some places"),
        ({"setups": np.ones((4, 3), int)}, "got a first set-up"),
        ({"setups": np.ones((3, 3), int), "anticipatory": False}, "anticipatory"),
    ):
        shop = dpbb.FlowShop([[1, 2, 3], [3, 2, 2], [4, 1, 3]], **how)
        with pytest.raises(InstanceError, match=message):
            pyjobshop_model(shop)
    assert pyjobshop_model(TIMES).data().num_jobs == 5


def test_sequences_may_be_unsaid_where_they_follow():
    model = model_of(TIMES, sequences=False)
    chains = model.constraints.end_before_start
    model.constraints.end_at_start.extend(
        pyjobshop.EndAtStart(*pair) for *pair, _ in chains
    )
    chains.clear()
    for task in model.tasks:
        task.allow_idle = True
    shop = from_pyjobshop(model.data())  # nobody overtakes without buffers
    assert shop.digest == dpbb.FlowShop(TIMES, blocking=True).digest
    two = model_of([row[:2] for row in TIMES], sequences=False)
    two.set_objective(weight_total_flow_time=1)
    assert from_pyjobshop(two.data()).said == "total-completion"
    two.jobs[1].release_date = 4
    with pytest.raises(InstanceError, match="one sequence on all machines"):
        from_pyjobshop(two.data())
