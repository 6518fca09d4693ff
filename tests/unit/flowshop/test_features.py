"""Set-ups, lags, buffers and ovens of flow shops, from the definition."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import dpbb
from dpbb.flowshop.features import FEATURES
from dpbb.flowshop.shop import OBJECTIVES
from dpbb.plotting import gantt, gantt_html
from dpbb.problem import kinds_of
from dpbb.problems import decoded, encoded
from dpbb.testing import check_model
from dpbb.text.labels import Names
from tests.models import HERE
from tests.unit.flowshop.shops import check, check_engine, each, on_cpu, random_shop


@each
def test_costs_and_optima_are_those_of_brute_force(kind, objective, released):
    check(kind, objective, released, range(1))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@each
def test_costs_and_optima_of_many_shops(kind, objective, released):
    check(kind, objective, released, range(1, 200), (9, 7))


@pytest.mark.parametrize(
    ("kind", "objective", "seeds"),
    [
        pytest.param("setups", "max-tardiness", (1, 2, 3), marks=pytest.mark.slow),
        ("lags, unlimited", "weighted-tardiness", (0, 1, 2)),
    ],
)
def test_the_compiled_search_counts_as_the_reference(kind, objective, seeds):
    check_engine(kind, objective, True, on_cpu, seeds)


@pytest.mark.slow
@each
def test_every_compiled_search_counts_as_the_reference(kind, objective, released):
    check_engine(kind, objective, released, on_cpu, range(5), ((6, 3), (7, 2), (5, 7)))


@each
def test_they_are_read_and_written(kind, objective, released):
    problem, _ = random_shop(np.random.default_rng(1), kind, objective, released)
    assert problem.objective == OBJECTIVES[objective].words
    again = decoded(encoded(problem))
    assert again.digest == problem.digest
    assert again.said == objective
    assert problem.with_names(problem.names).digest == problem.digest
    plain = dpbb.FlowShop(problem.instance, objective=objective)
    assert (problem.digest == plain.digest) == (not problem.features.said())


def test_set_ups_are_part_of_being_equal():
    times = np.full((3, 2), 4)
    one = np.array([[0, 1, 2], [1, 0, 2], [5, 5, 0]])
    assert kinds_of(dpbb.FlowShop(times, setups=one)).tolist() == [0, 0, 1]
    one[0, 2] = 3
    assert kinds_of(dpbb.FlowShop(times, setups=one)) is None
    assert kinds_of(dpbb.FlowShop(times, lags=[[1], [1], [2]])).tolist() == [0, 0, 1]


def test_maximum_lateness_is_a_maximum_tardiness_of_earlier_dates():
    rng = np.random.default_rng(6)
    orders = np.array([*permutations(range(5))])
    for _ in range(20):
        times, due = rng.integers(0, 9, (5, 3)), rng.integers(10, 90, 5)
        shop = dpbb.FlowShop(times, objective="max-tardiness", due=due - due.min())
        ends = shop.features.passed(np.zeros(5, np.int64), orders)[1, ..., -1]
        lateness = (ends - due).max(axis=1)
        assert (shop.evaluate_all(orders) == lateness + due.min()).all()


def test_buffers_that_are_enough_are_none():
    times = np.random.default_rng(2).integers(1, 9, (5, 3))
    orders = np.array(list(permutations(range(5))))
    wide, plain = dpbb.FlowShop(times, buffers=[4, 9]), dpbb.FlowShop(times)
    assert (wide.evaluate_all(orders) == plain.evaluate_all(orders)).all()
    blocking = dpbb.FlowShop(times, blocking=True)
    assert dpbb.FlowShop(times, buffers="0,0").digest == blocking.digest


SETUPS = [[0, 1], [2, 0]]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"setups": [[0, 1, 2]] * 2}, r"setups: .* of shape \(2, 2\) or .*\(2, 3\)"),
        ({"blocking": True, "buffers": [0, 1]}, "blocking without buffers"),
        ({"setups": [[0, 1], [2]]}, "setups: .* got rows of several lengths"),
        ({"setups": [[0, -1], [2, 0]]}, r"setups\[0\]\[1\]: expected .*>= 0, got -1"),
        ({"setups": [[0, float("nan")], [2, 0]]}, r"setups\[0\]\[1\]: .* got nan"),
        ({"lags": [[1, 2], [3, 0.5]]}, r"lags\[1\]\[1\]: expected a whole .* got 0.5"),
        ({"lags": [[2**30, 0], [0, 0]]}, "lags: expected numbers up to"),
        ({"lags": [[2**28, 0], [0, 0]]}, "sums below 536,870,912"),
        ({"buffers": [1]}, "buffers: expected 2 numbers of places, .* got 1"),
        ({"buffers": "1,x"}, "buffers, behind machine 1: .* got 'x'"),
        ({"unlimited": [7]}, "unlimited: expected machines of 0 to 2, got 7"),
        ({"unlimited": "0,1,2"}, "unlimited: expected a machine of one job at a time"),
        ({"setups": SETUPS, "blocking": True}, r"without setups \(either alone"),
        ({"setups": SETUPS, "lags": [[0, 0]] * 2}, "setups without lags"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(how, said):
    with pytest.raises(dpbb.InstanceError, match=said):
        dpbb.FlowShop([[1, 2, 3], [3, 4, 5]], **how)


def test_a_dash_is_any_number_of_places():
    assert dpbb.FlowShop([[1, 2, 3]] * 3, buffers="0,-").features.buffers == (0, 2)


def test_every_pair_goes_together_or_is_refused():
    given = {
        "blocking": True, "buffers": [1, 0], "setups": SETUPS, "lags": [[1, 2], [0, 1]],
        "unlimited": [1],
    }  # fmt: skip
    assert given.keys() == FEATURES.keys()
    for one, two in permutations(given, 2):
        alone = two in FEATURES[one].alone or one in FEATURES[two].alone
        how = {name: given[name] for name in (one, two)}
        if alone:
            with pytest.raises(dpbb.InstanceError, match="either alone is there"):
                dpbb.FlowShop([[1, 2, 3], [3, 4, 5]], **how)
        else:
            check_model(dpbb.FlowShop([[1, 2, 3], [3, 4, 5]], **how), engines=())


def test_tables_are_files(tmp_path):
    shop = tmp_path / "shop.csv"
    shop.write_text("job,cut,bake\nA,3,2\nB,4,1\n")
    setups, lags = tmp_path / "setups.csv", tmp_path / "lags.csv"
    setups.write_text("from,A,B\nA,0,7\nB,2,0\nnone,1,1\n")
    lags.write_text("job,cut\nA,5\nB,6\n")
    found = dpbb.FlowShop(shop, setups=setups)
    assert found.digest == dpbb.FlowShop(shop, setups=[[0, 7], [2, 0], [1, 1]]).digest
    found = dpbb.FlowShop(shop, lags=lags, unlimited="bake")
    same = dpbb.FlowShop([[3, 2], [4, 1]], lags=[[5], [6]], unlimited=[1])
    assert found.digest == same.digest
    setups.write_text("from,B,A\nB,0,7\nA,2,0\n")
    same = dpbb.FlowShop([[3, 2], [4, 1]], setups=[[0, 2], [7, 0]])
    assert dpbb.FlowShop(shop, setups=setups).digest == same.digest
    setups.write_text("from,B,A\nB,0,7\nC,2,0\n")
    with pytest.raises(dpbb.InstanceError, match="the jobs of shop, got none called A"):
        dpbb.FlowShop(shop, setups=setups)
    shop.write_text("job,cut,bake,pack\nA,3,2,1\nB,4,1,1\n")
    lags.write_text("job,bake,cut\nA,7,5\nB,8,6\n")
    assert dpbb.FlowShop(shop, lags=lags).lags[:, :2].tolist() == [[5, 7], [6, 8]]
    shop.write_text("job,cut,bake\n2,3,2\n1,4,1\n")
    setups.write_text("job,1,2\n1,0,7\n2,2,0\n")
    with pytest.raises(dpbb.InstanceError, match="as they follow in shop: 2"):
        dpbb.FlowShop(shop, setups=setups)
    shop.write_text("job,cut,bake\n1,3,2\n2,4,1\n")
    setups.write_text("job,1,2\n2,2,0\n1,0,7\n")
    same = dpbb.FlowShop([[3, 2], [4, 1]], setups=[[0, 7], [2, 0]])
    assert dpbb.FlowShop(shop, setups=setups).digest == same.digest
    shop.write_text("job,cut,bake\nA,3,2\nB,4,1\n")
    setups.write_text("from,A,B\nA,0,\nB,2,0\n")
    with pytest.raises(dpbb.InstanceError, match=r"setups\.csv, line 2, cell 3"):
        dpbb.FlowShop(shop, setups=setups)
    both = tmp_path / "setups.json"
    cut, bake = '"times": [[0, 7], [2, 0]]', '"times": [[0, 3], [4, 0]]'
    named = f'[{{"name": "to bake", {bake}}}, {{"name": "cut", {cut}}}]'
    for text in f"[{{{cut}}}, {{{bake}}}]", named:  # the machines' order or names
        both.write_text(text)
        found = dpbb.FlowShop(shop, setups=both)
        assert found.features.setups[0, 1].tolist() == [7, 3]
    both.write_text('[{"times": [[0]]}, {"times": [[0]]}, {"times": [[0]]}]')
    with pytest.raises(dpbb.InstanceError, match="for all machines or 2 tables"):
        dpbb.FlowShop(shop, setups=both)


@pytest.mark.parametrize("corner", ["", "from", "order"])
def test_sheets_of_set_ups_of_numbered_orders(tmp_path, corner):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["order", "cut", "weld"])
    for row in (4711, 3, 2), ("4712", 4, 1):
        book.active.append(row)
    sheet = book.create_sheet("Setups")
    for row in (corner, "4712", 4711.0), (4711, 7, None), ("4712", None, 2):
        sheet.append(row)
    file = tmp_path / "shop.xlsx"
    book.save(file)
    same = dpbb.FlowShop([[3, 2], [4, 1]], setups=[[0, 7], [2, 0]])
    assert dpbb.read_problem(file).digest == same.digest
    sheet.cell(1, 2, 4713)
    book.save(file)
    with pytest.raises(dpbb.InstanceError, match=r"'Setups', B1: .* such as 4711"):
        dpbb.read_problem(file)


SHOPS = Path(__file__).parents[3] / "examples/shops"


@pytest.mark.parametrize(
    ("file", "how", "cost"),
    [
        (
            "paint.csv",
            {"setups": SHOPS / "paint-setups.json", "objective": "total-tardiness"},
            125,
        ),
        (
            "bakery.csv",
            {"lags": SHOPS / "bakery-lags.csv", "unlimited": "proof,cool"},
            258,
        ),
        ("deadlines.csv", {"objective": "max-tardiness"}, 0),
    ],
)
def test_the_shops_of_the_page_have_these_optima(file, how, cost):
    shop = dpbb.FlowShop(SHOPS / file, **how)
    orders = np.array([*permutations(range(shop.n_jobs))], np.intp)
    assert shop.evaluate_all(orders).min() == cost


@pytest.mark.parametrize("anticipatory", [True, False])
def test_set_ups_and_dates_are_in_every_form_of_a_schedule(anticipatory, tmp_path):
    names = Names(("=A", "B", "C"), ("cut", "weld"))
    dates = {"release": [1, 0, 6], "due": [99, 6, 9]}
    shop = dpbb.FlowShopInstance("s", [[4, 2], [3, 5], [1, 1]], names, dates)
    problem = dpbb.FlowShop(
        shop, objective="total-tardiness",
        setups=[[0, 3, 1], [2, 0, 0], [4, 1, 0], [1, 2, 0]], anticipatory=anticipatory,
    )  # fmt: skip
    result = dpbb.solve(problem, **HERE)
    schedule, order = result.schedule(), result.permutation
    job, other = order[:2]
    gap = problem.features.setups[job, other].tolist()
    assert schedule.setup[other].tolist() == gap
    free, there = schedule.end[job], [schedule.release[other], schedule.end[other, 0]]
    begun = schedule.start[other] - gap
    assert (begun >= (free if anticipatory else np.maximum(free, there))).all()
    tardy = np.maximum(schedule.tables["lateness"], 0)
    assert tardy.sum() == result.makespan > 0

    schedule.write(tmp_path / "s.csv")
    head, *lines = (tmp_path / "s.csv").read_text().splitlines()
    assert head == "position,job,machine,start,end,setup,release,due,lateness"
    assert [line.rpartition(",")[2] for line in lines] == [
        str(schedule.tables["lateness"][job]) for job in order for _ in range(2)
    ]
    again = dpbb.Result.from_json(result.to_json()).schedule()
    assert again.tables.keys() == schedule.tables.keys()
    for name, table in schedule.tables.items():
        assert (again.tables[name] == table).all()
    heads = "job", "cut", "weld", "release", "due", "lateness"
    assert (*str(again).split()[:6],) == heads

    axes = gantt(result)
    said = [one.get_text() for one in axes.get_legend().get_texts()]
    assert {"set-up", "late", "release date", "due date"} <= {*said}
    marks = [one for one in axes.collections if one.get_label() == "due date"]
    assert marks[0].get_offsets()[:, 0].tolist() == [6, 9]  # 99 is beyond the end
    frames = [one for one in axes.patches if one.get_label() == "late"]
    assert len(frames) == (schedule.end > schedule.due[:, None]).sum()
    page = gantt_html(result)
    assert all(word in page for word in ("set-up from", "@release", "late by"))
