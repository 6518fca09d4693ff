"""The flow shop with dates and weights, from the definition and by every engine."""

import runpy
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import dpbb
from dpbb.flowshop.family import read_problem
from dpbb.flowshop.shop import OBJECTIVES, FlowShop, ObjectiveName
from dpbb.plotting import gantt
from dpbb.problem import kinds_of
from dpbb.testing import check_model
from dpbb.text.clock import UNITS, Unit
from tests.models import HERE


def test_types_name_all_that_there_is():
    assert get_args(ObjectiveName) == (*OBJECTIVES,)
    assert get_args(Unit) == (*UNITS,)


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
    result = dpbb.solve(problem, **HERE)
    schedule = result.schedule()
    job = result.permutation[1]
    assert schedule.leave[job, 0] > schedule.end[job, 0]
    (left,) = (row[5] for row in schedule.rows() if row[1:3] == (job, 0))
    assert (schedule.columns[5], left) == ("leave", schedule.leave[job, 0])
    again = dpbb.Result.from_json(result.to_json()).schedule()
    assert (schedule.leave == again.leave).all()
    colors = np.concatenate([bars.get_facecolor() for bars in gantt(again).collections])
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
