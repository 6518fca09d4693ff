"""The programs of maintainers, each on something small."""

import csv

import pytest

from tests.bench import cold, due_dates, estimate, heuristics, progress


def test_a_cold_process_proves_the_best_known(capsys):
    options = ["--engine", "cpu", "--threads", "1", "--workers", "0"]
    given = ["--instances", "ta001", "--repeat", "1", *options]
    assert cold.main(given) == 0
    row = capsys.readouterr().out.splitlines()[-1].split(" | ")
    assert row[:3] == ["| ta001", "1278", "yes"]
    assert 0 < float(row[6]) < float(row[3])


def test_trees_that_are_held_out_were_not_tuned_on(capsys):
    tuned, held_out = estimate.trees(held_out=False), estimate.trees(held_out=True)
    assert len({tree[:3] for tree in tuned}) == 35
    assert len({tree[:3] for tree in held_out} - {tree[:3] for tree in tuned}) == 36
    given = ["--instances", "ta030", "--seconds", "0.5", "--threads", "1"]
    assert estimate.main(given) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    nodes = [row[3] for row in rows if row[0] == "| ta030"]
    assert nodes == ["2,415,779", "2,797,731"]


def test_heuristics_are_above_the_best_known(capsys):
    few = ["--classes", "20x5", "--members", "1", "--limits", "0.2", "--threads", "1"]
    assert heuristics.main([*few, "--method", "ig"]) == 0
    *_, row, verdict = csv.reader(capsys.readouterr().out.splitlines(), delimiter="|")
    problem, name, limit, mean, worst = (cell.strip() for cell in row[1:-1])
    assert [problem, name, limit] == ["makespan", "20x5", "0.2"]
    assert 0 <= float(mean) <= float(worst) < 2
    assert verdict == ["all schedules are right"]


def test_a_short_run_is_over_before_it_is_estimated():
    text, factor = progress.row(progress.Tree("ta014", 1377), None)
    assert factor is None
    assert "1.61e+04" in text


def test_sets_of_due_dates_stay_the_same():
    assert due_dates.due_dates(166)[1][:4] == [807, 652, 162, 248]


@pytest.mark.slow
def test_a_set_of_due_dates_has_its_optimum(capsys):
    assert due_dates.main(["--objectives", "max-tardiness", "--sets", "166"]) == 0
    *_, row, closed = capsys.readouterr().out.splitlines()
    assert row.split(" | ")[1:5] == ["166", "max-tardiness", "optimal", "487"]
    assert closed == "max-tardiness: 1 of 1 closed"
