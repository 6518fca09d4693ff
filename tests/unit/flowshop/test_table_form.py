"""How tables are read: numbers, dates, columns, sheets."""

import datetime as dt

import pytest

from dpbb.errors import InstanceError
from dpbb.flowshop.family import read_problem
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.table_form import TableForm
from dpbb.text.labels import Names
from tests.models import HERE

DATED = {"origin": "2026-05-04T06:00", "unit": "min"}


def read(tmp_path, text, **form):
    path = tmp_path / "shop.csv"
    path.write_text(text)
    return read_instance(path, table=TableForm(**form))


@pytest.mark.parametrize(
    ("cells", "form", "times"),
    [
        ("1,\n2,3", {"blank": "zero"}, [[1, 0], [2, 3]]),
        ('"1,250",3\n4,5', {"thousands": ","}, [[1250, 3], [4, 5]]),
        ("1.250;3\n4;5", {"thousands": "."}, [[1250, 3], [4, 5]]),
        ('"1,5",0.25', {"decimal": ".", "thousands": ",", "scale": 60}, None),
        ('"1,5","0,25"', {"decimal": ",", "scale": 60}, [[90, 15]]),
        ("1.234,5;2", {"thousands": ".", "scale": 2}, [[2469, 4]]),
        ("1,2:00:30", {"scale": 60}, None),
        ("1.5,0:45\n1,2:00:30", {"scale": 3600}, [[5400, 2700], [3600, 7230]]),
        ("0.3333333333333333,26:00", {"scale": 60}, [[20, 1560]]),
        ("0.3333,1", {"scale": 60}, None),
    ],
)
def test_numbers_are_read_as_was_said(tmp_path, cells, form, times):
    mark = ";" if ";" in cells else ","
    text = f"cut{mark}weld\n{cells}\n"
    if times is None:
        with pytest.raises(InstanceError, match=r"shop.csv, line 2, cell"):
            read(tmp_path, text, **form)
    else:
        assert read(tmp_path, text, **form).times.tolist() == times


@pytest.mark.parametrize(
    ("cell", "option"),
    [
        ("", "--blank"), ("1.5", "--scale"), ("1:24", "--scale"),
        ('"1,5"', "--decimal"), ('"1,250"', "--thousands"),
        ("4.5.2026", "2026-05-04T06:00"),
    ],
)  # fmt: skip
def test_what_refuses_a_cell_names_the_option_that_takes_it(tmp_path, cell, option):
    with pytest.raises(InstanceError, match=rf"line 2, cell 3: .*{option}"):
        read(tmp_path, f"job,cut,weld,paint\nA,1,{cell},3\nB,4,5,6\n")


def test_a_point_where_decimals_are_commas_is_no_decimal_point(tmp_path):
    with pytest.raises(InstanceError, match=r"got '1\.250'; --thousands \."):
        read(tmp_path, "1.250;3", decimal=",", scale=60)


def test_a_row_without_times_is_to_be_removed(tmp_path):
    text = "job,cut,weld\nA,1,2\nB,3,4\nTotal of 2 jobs,,\n"
    with pytest.raises(InstanceError, match=r"line 4, cell 2: .*; remove it, or"):
        read(tmp_path, text)
    assert read(tmp_path, text, blank="zero").times.tolist()[2] == [0, 0]


TABLE = """Plan of the week,,,,,,
,,,,,,
Nr,customer,order,weld,cut,due,comment
1,X,door,2,3,9,
2,Y,frame,4,1,12,soon
"""


def test_columns_are_found_chosen_and_skipped(tmp_path):
    shop = read(tmp_path, TABLE, skip_columns=["customer", "comment"])
    assert shop.names == Names(("door", "frame"), ("weld", "cut"))
    assert shop.dates["due"].tolist() == [9, 12]
    skipped = ("line 1 (Plan of the week)", "column Nr", "column customer")
    assert shop.skipped == (*skipped, "column comment")
    shop = read(tmp_path, TABLE, columns=["cut", "weld"])
    assert (shop.times.tolist(), shop.names.machines) == (
        [[3, 2], [1, 4]],
        ("cut", "weld"),
    )
    assert not shop.dates
    nameless = read(tmp_path, TABLE, columns=["cut"], skip_columns=["order", "Nr"])
    assert nameless.names.jobs == ()
    for name in ("columns", "skip_columns"):
        flag = "--" + name.replace("_", "-")
        with pytest.raises(InstanceError, match=rf"line 3: .* for {flag}, got 'paint'"):
            read(tmp_path, TABLE, **{name: ["paint"]})
        with pytest.raises(InstanceError, match="a line of headings"):
            read(tmp_path, "1,2\n3,4\n", **{name: ["cut"]})
    with pytest.raises(InstanceError, match="--skip-columns 'customer,comment'"):
        read(tmp_path, TABLE)
    with pytest.raises(InstanceError, match="no calendars and shifts"):
        read(tmp_path, "job,cut,night shift\nA,1,2\n")


def test_dates_are_times_from_the_origin(tmp_path):
    text = (
        "job,cut,weld,release,due\nA,10,20,2026-05-04,2026-05-04 08:30\nB,30,40,30,90\n"
    )
    form = {"origin": dt.datetime(2026, 5, 4), "unit": "min"}
    shop = read(tmp_path, text, **form)
    assert shop.dates["release"].tolist() == [0, 30]
    assert shop.dates["due"].tolist() == [510, 90]
    assert shop.names.clock.text(510) == "2026-05-04 08:30"
    for how, message in (
        ({}, "--origin 2026-05-04T06:00 --unit min"),
        (DATED, "line 2, cell 4: .* on .--origin"),
        ({**form, "unit": "h"}, "line 2, cell 5: .*--unit"),
        ({**form, "unit": "week"}, "unit: expected one of s, min, h, d"),
        ({"unit": "min"}, "origin, unit: expected both"),
        ({"origin": "soon", "unit": "min"}, "origin: expected a date such as"),
    ):
        with pytest.raises(InstanceError, match=message):
            read(tmp_path, text, **how)
    with pytest.raises(InstanceError, match="a year up to 9999"):
        read(tmp_path, "10000000,2\n", origin="2026-05-04", unit="d")


@pytest.mark.parametrize(
    "form",
    [
        {"columns": "cut,weld"}, {"thousands": "1"}, {"thousands": ",", "decimal": ","},
        {"scale": 0}, {"scale": {"cut": 60}}, {"blank": "one"},
    ],
)  # fmt: skip
def test_what_no_form_can_be_is_refused_by_name(form):
    with pytest.raises(InstanceError, match=rf"^{next(iter(form))}: expected "):
        TableForm(**form)


def test_what_is_no_table_of_cells_has_no_form():
    for source in ("ta001", [[1, 2]]):
        with pytest.raises(InstanceError, match="a CSV file or a workbook"):
            read_instance(source, table=TableForm(scale=60))


@pytest.fixture
def book(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Plan"
    due = dt.datetime(2026, 5, 4, 9)
    rows = [
        ["Plan", dt.date(2026, 5, 3)],
        [],
        ["job", "cut", "weld", "paint", "release", "due"],
        ["A", 1.5, dt.time(0, 45), dt.timedelta(hours=25), None, due],
        ["B", 1, "1,5", "0:15", None, dt.datetime(2026, 5, 5)],
    ]
    for number, row in enumerate(rows, 2):
        for column, value in enumerate(row, 3):
            sheet.cell(number, column, value)
    return book


def test_workbooks_have_dates_clock_times_and_set_ups(tmp_path, book):
    path = tmp_path / "shop.xlsx"
    setups = book.create_sheet("Set-ups")
    for row in (["from", "A", "B"], ["A", None, "0:30"], ["B", 1, None]):
        setups.append(row)
    book.save(path)
    form = TableForm(scale=60, decimal=",", **DATED)
    problem = read_problem(path, table=form, objective="total-tardiness")
    assert problem.instance.times.tolist() == [[90, 45, 1500], [60, 90, 15]]
    assert problem.instance.dates["due"].tolist() == [180, 1080]
    assert problem.features.setups[:, :, 0].tolist() == [[0, 30], [60, 0], [0, 0]]
    (told,) = set(read_instance(path, table=form).skipped) - {*problem.instance.skipped}
    assert "Set-ups" in told
    alone = TableForm(scale=60, decimal=",", sheet="Plan", **DATED)
    problem = read_problem(path, table=alone, objective="total-tardiness")
    assert problem.features.setups[0, 1, 0] == 30
    assert "sheet Set-ups as set-ups" in problem.instance.taken
    with pytest.raises(InstanceError, match="the sheets Plan, Set-ups for --sheet"):
        read_instance(path, table=TableForm(sheet="plan"))
    book.create_sheet("Schichtkalender").append(["early", 6])
    book.save(path)
    with pytest.raises(InstanceError, match=r"no calendars and shifts.*--sheet"):
        read_instance(path, table=form)
    assert read_instance(path, table=alone).n_jobs == 2


def test_rows_of_sums_and_without_names_are_refused(tmp_path):
    text = "job,cut,weld\nA,1,2\nB,3,4\n"
    for row, place in (("Summe,4,6", "line 4, cell 1"), (",4,6", "line 4, cell 1")):
        with pytest.raises(InstanceError, match=place):
            read(tmp_path, f"{text}{row}\n")


@pytest.mark.parametrize("cell", ["ca. 20", "-20"])
def test_a_machine_is_not_advised_away_for_one_cell(tmp_path, cell):
    with pytest.raises(InstanceError, match=r"line 2, cell 2: (?!.*--skip-columns)"):
        read(tmp_path, f"job,cut\nA,{cell}\nB,3\nC,4\n")


def test_only_empty_times_are_blank(tmp_path, book):
    path, form = tmp_path / "shop.xlsm", TableForm(blank="zero")
    sheet = book.create_sheet("Times")
    for row in (["job", "cut", "weld", "due"], ["A", 1, None, 5], ["B", 2, 3, 6]):
        sheet.append(row)
    del book["Plan"]
    book.create_sheet("Notes").append(["weld is shared"])
    book.save(path)
    assert read_instance(path, table=form).times.tolist() == [[1, 0], [2, 3]]
    for cells, at, message in (
        ("C2", "=1+1", "C2: .* a formula without"),
        ("D3", None, "D3: .* every job needs its due"),
    ):
        before, sheet[cells] = sheet[cells].value, at
        book.save(path)
        with pytest.raises(InstanceError, match=message):
            read_instance(path, table=form)
        sheet[cells] = before
    sheet.merge_cells("B2:B3")
    book.save(path)
    with pytest.raises(InstanceError, match=r"B3: .* merged with B2"):
        read_instance(path, table=form)


def test_dates_survive_files(tmp_path, book):
    """Results as JSON, schedules as CSV."""
    import dpbb

    book.save(tmp_path / "shop.xlsx")
    form = TableForm(scale=60, decimal=",", **DATED)
    problem = read_problem(
        tmp_path / "shop.xlsx", table=form, objective="total-tardiness"
    )
    result = dpbb.solve(problem, **HERE)
    again = dpbb.Result.from_json(result.to_json())
    assert again.names == result.names
    assert again.schedule().end.tolist() == result.schedule().end.tolist()
    assert '"2026-05-04T06:00:00"' in result.to_json()
    result.write_schedule(tmp_path / "s.csv")
    line = (tmp_path / "s.csv").read_text().splitlines()[1]
    assert "2026-05-04 06:00:00" in line
