import csv
import json
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.bounds.lb2 import JohnsonTables, machine_pairs
from dpbb.flowshop.taillard import taillard_instance
from tests import oracle
from tests.conftest import GOLDEN
from tests.node_bounds import Nodes, pair_bounds
from tests.oracle import makespan


def shop_of(tiny):
    return FlowShopInstance("shop", np.array(tiny.times))


def root_bound(times):
    return FlowShopProblem(FlowShopInstance("shop", times)).least_cost


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("some", "expected pairs of machines, got 'some'"),
        ([(0, 1), (2,)], "expected pairs of machines"),
        ([(1, 1)], "expected u < v of machines 0 to 3, got 1, 1"),
        ([(0, 4)], "expected u < v of machines 0 to 3, got 0, 4"),
        ([(0, 1), (0, 1)], "each pair once"),
    ],
)
def test_what_is_no_pair_is_refused(which, words):
    with pytest.raises(OptionError, match=f"^pairs: .*{words}"):
        machine_pairs(4, which)


@given(oracle.problems(max_jobs=6), st.data())
def test_johnsons_order_is_the_best_for_every_subset(tiny, data):
    """With time lags, and whatever the machines are ready at."""
    times = np.array(tiny.times)
    n_jobs, n_machines = times.shape
    jobs = sorted(data.draw(st.sets(st.integers(0, n_jobs - 1), min_size=1)))
    tables = JohnsonTables.of(times, machine_pairs(n_machines))
    free = np.zeros((1, n_jobs), bool)
    free[0, jobs] = True
    nothing = np.zeros((1, n_machines), np.int64)
    (found,) = pair_bounds(tables, nothing, nothing, free)
    best = [
        min(
            oracle.longest_stay(tiny.times, u, v, order) for order in permutations(jobs)
        )
        for u, v in machine_pairs(n_machines)
    ]
    assert found.tolist() == best


@given(oracle.problems(), st.integers(0, 400))
def test_what_is_below_the_ub_does_not_depend_on_it(tiny, ub):
    problem = FlowShopProblem(shop_of(tiny), "lb2")
    if problem.n_jobs < 2:
        return
    root, jobs = problem.root_state(), np.arange(problem.n_jobs)
    for back in (False, True):
        loose = problem.child_bounds(root, jobs, back=back)
        everything = problem.tighten(root, jobs, loose, 10**6, back=back)
        some = problem.tighten(root, jobs, loose, ub, back=back)
        assert ((some < ub) == (everything < ub)).all()
        assert (some[some < ub] == everything[some < ub]).all()


@given(oracle.problems())
def test_the_root_bound_is_that_of_the_empty_schedule(tiny):
    times = np.array(tiny.times)
    order = np.arange(len(times))[None]
    nothing = np.zeros(1, np.intp)
    tables = JohnsonTables.of(times, machine_pairs(times.shape[1]))
    expected = Nodes.of(times, order, nothing, nothing).lb2(tables)
    assert root_bound(times) == expected


@pytest.mark.data
def test_root_bounds_equal_the_published_ones(shared):
    with (shared / "data/pfsp_bounds.csv").open() as file:
        rows = [*csv.DictReader(file, delimiter=";")]
    rows = [row for row in rows if row["name"].startswith("ta")]
    assert len(rows) == 120
    for row in rows:
        problem = FlowShopProblem(taillard_instance(row["name"]))
        assert problem.root_bound == int(row["lb1_root"]), row["name"]
        assert problem.least_cost == int(row["lb2_root"]), row["name"]


def one_node(times, order, d1, d2, *, form):
    return Nodes.of(times, np.array([order]), np.array([d1]), np.array([d2]), form=form)


@given(oracle.problems(max_jobs=6), st.data())
def test_lb2_lies_between_lb1_and_the_best_completion(tiny, data):
    """With zeros, equal times, one and two machines."""
    times = np.array(tiny.times)
    n_jobs, n_machines = times.shape
    order = data.draw(st.permutations(range(n_jobs)))
    d1 = data.draw(st.integers(0, n_jobs))
    d2 = data.draw(st.integers(0, n_jobs - d1))
    end = n_jobs - d2
    best = min(
        makespan(times, (*order[:d1], *middle, *order[end:]))
        for middle in permutations(order[d1:end])
    )
    loose = one_node(times, order, d1, d2, form="tree")
    tight = one_node(times, order, d1, d2, form="strong")
    assert (loose.heads <= tight.heads).all()
    assert (loose.tails <= tight.tails).all()
    for nodes in (loose, tight):
        every = JohnsonTables.of(times, machine_pairs(n_machines))
        strongest = nodes.lb2(every)
        assert nodes.lb1() <= strongest <= best
        if d1 + d2 == n_jobs:
            assert nodes.lb1() == best
        if n_machines == 2 and d1 == d2 == 0:
            assert strongest == best


def test_bounds_equal_the_golden_ones():
    """Golden values take minima over the unscheduled jobs on an empty side."""
    golden = json.loads((GOLDEN / "bounds_tabu_jobshop.json").read_text())
    assert len(golden["lb"]) == 48
    for node in golden["lb"]:
        times = taillard_instance(node["inst"]).times
        tables = JohnsonTables.of(times, machine_pairs(times.shape[1]))
        for form in ("plain", "strong"):
            place = node["prmu"], node["d1"], node["d2"]
            found = one_node(times, *place, form=form)
            assert found.lb1() == node[f"lb1_{form}"]
            assert found.lb2(tables) == node[f"lb2_{form}"]
