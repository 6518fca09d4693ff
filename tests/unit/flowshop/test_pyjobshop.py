"""PyJobShop's problems: permutation flow shops are read, all others refused."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import dpbb
from dpbb.errors import InstanceError
from dpbb.flowshop.pyjobshop import from_pyjobshop, to_pyjobshop
from dpbb.text.labels import Names

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
        ({"jobs": [replace(data.jobs[0], release_date=3), *data.jobs[1:]]},
         "job 0: expected no release_date, got 3"),
        ({"tasks": [replace(data.tasks[0], optional=True), *data.tasks[1:]]},
         "task 0: expected no optional"),
        ({"objective": pyjobshop.Objective(weight_total_flow_time=1)},
         "the makespan alone to minimize"),
    ):  # fmt: skip
        with pytest.raises(InstanceError, match=message):
            from_pyjobshop(data.replace(**change))
    setup = pyjobshop.Constraints(setup_times=[pyjobshop.SetupTime(0, 0, 4, 5)])
    with pytest.raises(InstanceError, match="expected no constraints setup_times"):
        from_pyjobshop(data.replace(constraints=setup))
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
