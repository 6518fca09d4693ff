"""The flow shop with dates and weights, from the definition and by every engine."""

import runpy
from itertools import pairwise, permutations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpbb
from dpbb.cli.plot import read_schedule
from dpbb.flowshop.family import read_problem
from dpbb.flowshop.shop import OBJECTIVES, FlowShop
from dpbb.plotting import gantt
from dpbb.problem import kinds_of
from dpbb.problems import decoded, encoded
from dpbb.testing import check_model
from tests.unit.modeling.test_cpu import counted

COMBINATIONS = list(product(OBJECTIVES, (False, True), (False, True)))
each = pytest.mark.parametrize(("objective", "released", "blocking"), COMBINATIONS)


def random_shop(rng, objective, released, blocking=False, size=None):
    """Draw a shop with zeros, ties and equal jobs."""
    kind = OBJECTIVES[objective]
    n_jobs, n_machines = size or (rng.integers(2, 8), rng.integers(1, 6))
    top = int(rng.choice((3, 20)))
    times = rng.integers(0, top, (n_jobs, n_machines))
    dates = {}
    if released:
        dates["release"] = rng.integers(0, 3 * top, n_jobs)
    if kind.dated:
        dates["due"] = rng.integers(0, int(times.sum() * rng.random()) + 2, n_jobs)
    if kind.weighted:
        dates["weight"] = rng.integers(0, rng.choice((2, 9)), n_jobs)
    if rng.random() < 0.3:  # two equal jobs
        for column in (times, *dates.values()):
            column[0] = column[-1]
    shop = dpbb.FlowShopInstance("shop", times, dates=dates)
    return FlowShop(shop, objective=objective, blocking=blocking)


def costs_by_definition(problem, objective):
    """Costs of all orders: nobody waits but for a machine or a release date."""
    dates, times = problem.instance.dates, problem.times.tolist()
    zeros = [0] * problem.n_jobs
    release, due = (dates.get(name, zeros) for name in ("release", "due"))
    weights = dates.get("weight", [1] * problem.n_jobs)
    found = {}
    for order in permutations(range(problem.n_jobs)):
        free, cost, costs = [0] * problem.n_machines, 0, []
        for job in order:
            end = int(release[job])
            for k, time in enumerate(times[job]):
                end = max(end, free[k]) + time
                if problem.blocking and k + 1 < problem.n_machines:
                    end = max(end, free[k + 1])
                free[k] = end
            late = end - int(due[job])
            if "tardiness" in objective:
                late = max(0, late)
            cost += int(weights[job]) * (late > 0 if "late" in objective else late)
            if objective in ("makespan", "max-tardiness"):
                costs.append(max(0, late))
        found[order] = max(costs) if costs else cost
    return found


def check_combination(objective, released, blocking, count):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        problem = random_shop(rng, objective, released, blocking)
        check_model(problem, nodes=20, engines=(), seed=seed)
        costs = costs_by_definition(problem, objective)
        orders = np.array(list(costs))
        assert problem.evaluate_all(orders).tolist() == list(costs.values())
        found = dpbb.solve(
            problem, workers=0, engine="reference", heuristics="none", verbosity="quiet"
        )
        assert found.makespan == min(costs.values()) == costs[found.permutation]
        check_schedule(problem, found.permutation, found.makespan)


def check_schedule(problem, order, cost):
    """No machine has two jobs at a time, no job two machines, or an early start."""
    schedule = problem.schedule(order)
    start, end = schedule.start, schedule.end
    assert (end - start == problem.times).all()
    assert (start[:, 0] >= problem.release).all()
    assert (start[:, 1:] >= end[:, :-1]).all()
    leave = end
    if problem.blocking:
        leave = schedule.leave
        assert (leave >= end).all()
        assert (leave[:, :-1] == start[:, 1:]).all()
    for one, two in pairwise(order):
        assert (start[two] >= leave[one]).all()
    assert problem._sums(end[None, :, -1])[0] == cost


def check_engine(objective, released, blocking, explored, seeds):
    """Compare with the reference, node for node, and with brute force."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        problem = random_shop(rng, objective, released, blocking, (6, 3))
        costs = costs_by_definition(problem, objective)
        ub = min(costs.values()) + 1
        found = explored(problem, ub)
        assert found == counted(problem, "reference", ub)
        kinds = kinds_of(problem)
        if kinds is None:
            optima = {(ub - 1, *order) for order, cost in costs.items() if cost < ub}
            assert found[3] == optima


def on_cpu(problem, ub):
    return counted(problem, "cpu", ub)


@each
def test_bounds_and_optima_are_those_of_brute_force(objective, released, blocking):
    check_combination(objective, released, blocking, 2)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@each
def test_bounds_and_optima_of_many_shops(objective, released, blocking):
    check_combination(objective, released, blocking, 200)


@pytest.mark.slow
@each
def test_every_compiled_search_counts_as_the_reference(objective, released, blocking):
    check_engine(objective, released, blocking, on_cpu, seeds=10)


@each
def test_it_is_read_and_written_as_one(objective, released, blocking):
    problem = random_shop(np.random.default_rng(1), objective, released, blocking)
    assert problem.objective == OBJECTIVES[objective].words
    again = decoded(encoded(problem))
    assert again.digest == problem.digest
    assert (again.said, again.blocking) == (objective, blocking)
    plain = FlowShop(problem.instance, objective=objective)
    assert (plain.digest == problem.digest) == (not blocking)


def test_dates_and_weights_are_part_of_an_instance_and_of_being_equal():
    times = [[3, 4], [3, 4], [3, 4]]
    shop = dpbb.FlowShopInstance("shop", times, dates={"due": [5, 5, 9]})
    assert kinds_of(FlowShop(shop, objective="late-jobs")).tolist() == [0, 0, 1]
    assert shop != dpbb.FlowShopInstance("shop", times)
    assert shop != dpbb.FlowShopInstance("shop", times, dates={"due": [5, 5, 8]})


@pytest.mark.parametrize(
    ("dates", "objective", "said"),
    [
        ({}, "total-tardiness", "expected a column due for total-tardiness, got none"),
        ({"due": [1, 2]}, "makespam", "expected one of makespan, max-tardiness"),
        ({"due": [1, 2]}, "makespan", "no column due, which makespan does not use"),
        ({"due": [1, 2]}, "total-completion", "no column due, which total-completion"),
        ({"due": [1, -2]}, "late-jobs", r"due of job 1: expected a whole number >= 0"),
        ({"due": [1, None]}, "late-jobs", r"due of job 1: .* got None"),
        ({"due": [1, 2.5]}, "late-jobs", r"due of job 1: .* got 2.5"),
        ({"due": [1]}, "late-jobs", "a number for each of 2 jobs, got 1"),
        ({"due": 7}, "late-jobs", "a number for each of 2 jobs, got 7"),
        ({"weight": [2**29, 1]}, "weighted-completion", "sums below 536,870,912"),
        ({"release": [2**31, 1]}, "total-completion", "numbers up to 1,073,741,822"),
        ({"late": [1, 2]}, "total-completion", "some of release, due, weight"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(dates, objective, said):
    with pytest.raises(dpbb.InstanceError, match=said):
        FlowShop(
            dpbb.FlowShopInstance("x", [[1, 2], [3, 4]], dates=dates),
            objective=objective,
        )


TABLE = "job,cut,weld,due date,Weight,release\nA,3,2,5,1,0\nB,4,1,6,2,3\n"
FORMS = {
    "shop.csv": TABLE,
    "shop.tsv": TABLE.replace(",", "\t"),
    "shop.json": '{"times": [[3, 2], [4, 1]], "due": [5, 6], "weight": [1, 2], '
    '"release": [0, 3]}',
}


@pytest.mark.parametrize("file", FORMS)
def test_dates_and_weights_are_columns(file, tmp_path):
    path = tmp_path / file
    path.write_text(FORMS[file])
    problem = read_problem(path, objective="weighted-tardiness")
    data = {"due": [5, 6], "weights": [1, 2], "release": [0, 3]}
    times = [[3, 2], [4, 1]]
    same = dpbb.FlowShop(times, objective="weighted-tardiness", **data)
    assert problem.digest == same.digest
    assert problem.evaluate([1, 0]) == 2 * 2 + 7
    hint = r"expected no column due, which makespan does not use.* --objective"
    with pytest.raises(dpbb.InstanceError, match=hint):
        read_problem(path)
    with pytest.raises(dpbb.InstanceError, match="which total-completion does not use"):
        read_problem(path, objective="total-completion")
    blocking = read_problem(path, objective="weighted-tardiness", blocking=True)
    assert blocking.blocking


def test_a_data_frame_has_them_too():
    frame = pd.DataFrame(
        {"job": ["A", "B"], "cut": [3, 4], "due": [5, 6], "weld": [2, 1]}
    )
    problem = dpbb.FlowShop(frame, objective="late-jobs")
    assert problem.times.tolist() == [[3, 2], [4, 1]]
    assert problem.due.tolist() == [5, 6]
    assert problem.names.machines == ("cut", "weld")
    frame.loc[1, "due"] = None
    with pytest.raises(dpbb.InstanceError, match=r"due of job B: .* got nan"):
        dpbb.FlowShop(frame, objective="late-jobs")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TABLE.replace("6,2,3", ",2,3"), r"line 3, cell 4: expected a whole .* got ''"),
        (TABLE.replace("6,2,3", "-6,2,3"), r"line 3, cell 4: .* got '-6'"),
        (TABLE.replace("Weight", "due"), "one column due, got 'due date' and 'due'"),
        (TABLE.replace("Weight", "Weight (kg)"), r"cell 5: .* 'Weight \(kg\)'"),
    ],
)
def test_a_half_filled_column_is_refused_with_the_cell(text, said, tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text(text)
    with pytest.raises(dpbb.InstanceError, match=said):
        read_problem(path, objective="weighted-tardiness")


def test_when_jobs_leave_is_in_every_form_of_a_schedule():
    problem = dpbb.FlowShop([[1, 9], [2, 3]], blocking=True)
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


def test_tardiness_is_summed_before_it_is_weighed():
    """Sums of jobs without weight are no costs, and need as many bits."""
    times = np.full((6, 2), 2000)
    how = {"due": [0] * 6, "weights": [0] * 6}
    problem = FlowShop(times, objective="weighted-tardiness", **how)
    check_model(problem, nodes=20, engines=())


def test_late_jobs_are_matched_not_compared_in_order():
    """One job is late of (5, 6, 7) against (1, 5, 6), not three."""
    shop = dpbb.FlowShopInstance("x", [[5], [1], [1]], dates={"due": [1, 5, 6]})
    problem = FlowShop(shop, objective="late-jobs")
    bounds = problem.child_bounds(problem.root_state(), np.arange(3), back=False)
    assert bounds.tolist() == [2, 1, 1]


def test_the_page_has_the_table_of_the_code():
    """If not: run ``python docs/make_shop.py``."""
    path = Path(__file__).parents[3] / "docs/make_shop.py"
    made = runpy.run_path(str(path))
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"]()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "best"), [("ta002", 15151), ("ta011", 20911)])
def test_total_completion_times_of_taillard(name, best):
    problem = FlowShop(name, objective="total-completion")
    result = dpbb.solve(problem, upper_bound=best + 1, engine="cpu", verbosity="quiet")
    assert result.makespan == best
