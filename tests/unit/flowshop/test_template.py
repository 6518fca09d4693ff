"""The workbook to fill in."""

import pytest

import dpbb
from dpbb.errors import OptionError
from dpbb.flowshop.family import read_problem
from dpbb.flowshop.template import JOBS, MACHINES, write_template
from tests.models import HERE

openpyxl = pytest.importorskip("openpyxl")


def test_the_template_is_solved_as_it_is_and_filled_in(tmp_path):
    path = tmp_path / "shop.xlsx"
    write_template(path)
    with pytest.raises(OptionError, match="not there yet"):
        write_template(path)
    result = dpbb.solve(path, **HERE)
    assert result.makespan == 24
    assert (result.names.jobs, result.names.machines) == (tuple(JOBS), MACHINES)
    book = openpyxl.load_workbook(path)
    for row, dates in enumerate([(0, 20, 1), (2, 15, 2), (4, 30, 1)], 3):
        for column, value in enumerate(dates, 2 + len(MACHINES)):
            book["jobs"].cell(row, column, value)
    for row in (2, 3, 4):
        for column in {2, 3, 4} - {row}:
            book["setups"].cell(row, column, row)
    book.save(path)
    problem = read_problem(path, objective="weighted-tardiness")
    assert dpbb.FlowShop(path, objective="weighted-tardiness").digest == problem.digest
    assert problem.instance.dates["weight"].tolist() == [1, 2, 1]
    assert problem.features.setups[:, :, 3].tolist()[:2] == [[0, 2, 2], [3, 0, 3]]


def test_other_files_are_refused(tmp_path):
    with pytest.raises(OptionError, match="xlsx"):
        write_template(tmp_path / "shop.csv")
