from __future__ import annotations

import csv

import numpy as np
import pytest

from dpbb.errors import DpbbError, OptionError
from dpbb.result import written
from dpbb.result.schedule import COLUMNS, Order, Schedule
from dpbb.text.labels import Names
from tests.unit.result.test_result import OPTIMAL

STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF", ".html": b"<!DOCTYPE"}
TIMES = np.array([[2, 5], [0, 2]]), np.array([[5, 6], [2, 5]])
NAMED = Schedule((1, 0), *TIMES, Names(("=1+1", "b"), ("cut", "weld")))


@pytest.mark.parametrize("suffix", STARTS)
def test_a_chart_is_written_where_the_suffix_says_so(tmp_path, suffix):
    for number, data in enumerate((OPTIMAL.write_schedule, NAMED.write)):
        file = tmp_path / f"{number}{suffix.upper()}"
        data(file)
        assert file.read_bytes().lstrip().startswith(STARTS[suffix])


def test_a_workbook_has_what_the_csv_has(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    NAMED.write(tmp_path / "s.xlsx")
    NAMED.write(tmp_path / "s")
    sheet = openpyxl.load_workbook(tmp_path / "s.xlsx").active
    assert [*sheet.values] == [COLUMNS, *NAMED.rows()]
    assert sheet.freeze_panes == "A2"
    assert {cell.data_type for cell in sheet["B"]} == {"s"}  # no name is a formula
    with (tmp_path / "s").open(newline="") as file:
        lines = [*csv.reader(file)]
    assert lines == [[str(cell) for cell in row] for row in sheet.values]


def test_a_narrow_table_has_the_first_columns():
    whole, narrow = str(NAMED).splitlines(), NAMED.table(14).splitlines()
    assert narrow == [line[: len(narrow[0])] for line in whole]
    assert "cut" in narrow[0] < whole[0]


@pytest.mark.parametrize("name", ["s.doc", "s.json", "s.csv.gz", "s.xls"])
def test_what_nothing_writes_is_refused(tmp_path, name):
    with pytest.raises(OptionError, match=r"ending in \.csv, \.xlsx, .*, got"):
        OPTIMAL.write_schedule(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_an_order_has_no_chart(tmp_path):
    Order((1, 0)).write(tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == "position,job\n0,1\n1,0\n"
    with pytest.raises(OptionError, match="no schedules to draw"):
        Order((1, 0)).write(tmp_path / "o.png")
    assert not (tmp_path / "o.png").exists()


def test_what_is_not_installed_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(written, "find_spec", lambda _: None)
    for suffix, extra in ((".xlsx", "xlsx"), (".png", "plot")):
        with pytest.raises(DpbbError, match=rf"pip install 'dpbb\[{extra}\]'"):
            OPTIMAL.write_schedule(tmp_path / f"s{suffix}")
    OPTIMAL.write_schedule(tmp_path / "s.csv")
