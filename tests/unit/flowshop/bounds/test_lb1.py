import csv
import json
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbb.flowshop.bounds.lb1 import child_bounds, one_machine_bound
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.makespan import append_job, makespan, prepend_job, tails
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from tests import oracle
from tests.conftest import GOLDEN


def sides(times, prefix, suffix):
    """Front and back of a partial schedule; zero on an empty side."""
    front = back = np.zeros(times.shape[1], np.int64)
    for job in prefix:
        front = append_job(front, times[job])
    for job in reversed(suffix):
        back = prepend_job(back, times[job])
    return front, back


@given(oracle.problems(max_jobs=6))
def test_root_bound_is_no_more_than_the_best_makespan(problem):
    times = np.array(problem.times)
    bound = FlowShopProblem(FlowShopInstance("x", times)).root_bound
    best = min(makespan(times, order) for order in permutations(range(len(times))))
    assert bound <= best
    if len(times) == 1:
        assert bound == best


@given(oracle.problems(), st.data())
def test_child_bound_is_the_bound_of_the_child_with_its_start_as_front(problem, data):
    """Bounding from the parent gives max of e + R + B, by the definition."""
    times = np.array(problem.times)
    jobs = data.draw(st.permutations(range(len(times))))
    first = data.draw(st.integers(0, len(jobs) - 1))
    last = data.draw(st.integers(first + 1, len(jobs)))
    prefix, free, suffix = jobs[:first], jobs[first:last], jobs[last:]
    front, back = sides(times, prefix, suffix)
    remain = times[free].sum(axis=0)
    bounds = child_bounds(front, back, remain, times[free])
    for job, bound in zip(free, bounds, strict=True):
        start = append_job(front, times[job]) - times[job]
        assert bound == one_machine_bound(start, back, remain)


@given(oracle.problems(), st.data())
def test_no_bound_on_a_side_falls_when_the_other_takes_a_job(problem, data):
    """With many jobs the GPU's kernel bounds a job that is cut on a side no more."""
    times = np.array(problem.times)
    shop = FlowShopProblem(FlowShopInstance("random", times))
    state, free = shop.root_state(), np.arange(len(times))
    for job in data.draw(st.permutations(range(len(times))))[:-1]:
        back = data.draw(st.booleans())
        jobs = free[free != job]
        before = shop.child_bounds(state, jobs, back=not back)
        state, free = shop.extend(state, job, back=back), jobs
        assert (shop.child_bounds(state, jobs, back=not back) >= before).all()


def test_node_bounds_equal_the_golden_ones():
    """The golden values take minima over unscheduled jobs on an empty side."""
    golden = json.loads((GOLDEN / "bounds_tabu_jobshop.json").read_text())
    assert len(golden["lb"]) == 48
    checked = 0
    for node in golden["lb"]:
        if not node["inst"].startswith("ta"):
            continue
        times = taillard_instance(node["inst"]).times
        order = node["prmu"]
        assert makespan(times, order) == node["cmax_as_is"]
        n_front, n_back = node["d1"], node["d2"]
        cut = len(order) - n_back
        free = order[n_front:cut]
        front, back = sides(times, order[:n_front], order[cut:])
        if not n_front:
            front = tails(times[free][:, ::-1]).min(axis=0)[::-1]
        if not n_back:
            back = tails(times[free]).min(axis=0)
        bound = one_machine_bound(front, back, times[free].sum(axis=0))
        assert bound == node["lb1_plain"]
        checked += 1
    assert checked > 0


@pytest.mark.data
def test_root_bounds_equal_the_published_ones(shared):
    with (shared / "data/pfsp_bounds.csv").open() as file:
        rows = [r for r in csv.DictReader(file, delimiter=";") if r["name"] < "u"]
    rows = [row for row in rows if row["name"].startswith("ta")]
    assert len(rows) == 120
    for row in rows:
        problem = FlowShopProblem(taillard_instance(row["name"]))
        assert problem.root_bound == int(row["lb1_root"]), row["name"]
