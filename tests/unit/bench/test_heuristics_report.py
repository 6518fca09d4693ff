"""The table of runs of heuristics, from made-up runs."""

import json

import pytest

from dpbb.bench.heuristics_report import Report, curve, save_better
from dpbb.bench.heuristics_runs import Run, Task
from dpbb.cli import main
from dpbb.flowshop import read_instance


def run_of(instance, seed, limit, value, best_known=1000):
    task = Task(instance, "", "20x5", "ig", "cpu", 1, seed, limit)
    steps = ((0.1, value, "ig"),)
    return Run(task, limit, value, (), 900, best_known, steps, 1, "")


def test_arpd_is_the_mean_over_instances_of_the_median_over_seeds():
    values = {"a": (1010, 1020, 1090), "b": (1000, 1004, 1005)}
    runs = [
        run_of(name, seed, 30.0, value)
        for name, found in values.items()
        for seed, value in enumerate(found)
    ]
    (row,) = Report.of(runs).lines()
    assert (row["instances"], row["seeds"]) == (2, 3)
    assert row["arpd"] == pytest.approx((2.0 + 0.4) / 2)
    assert row["arpd_of_means"] == pytest.approx((4.0 + 0.3) / 2)
    assert row["arpd_of_best"] == pytest.approx((1.0 + 0.0) / 2)
    assert row["arpd_of_worst"] == pytest.approx((9.0 + 0.5) / 2)


def test_a_median_that_is_worse_with_more_time_is_named():
    runs = [run_of("a", 0, 30.0, 1010), run_of("a", 0, 60.0, 1011)]
    runs += [run_of("b", 0, 30.0, 1010), run_of("b", 0, 60.0, 1010)]
    first, worse = Report.of(runs).comparisons()
    assert first.endswith("(of 1 seeds only): no worse in 1 of 2 comparisons")
    assert "a ig: 1010 after 30 s, 1011 after 60 s" in worse


def test_a_better_schedule_is_saved_as_evaluate_reads_it(tmp_path, capsys):
    shop = read_instance("ta001")
    order = tuple(range(20))
    run = Run(
        Task("ta001", shop.digest, "20x5", "ig", "cpu", 1, 0, 1.0),
        *(1.0, 1448, order, 1232, 1278, ((0.1, 1448, "ig"),), 1, ""),
    )
    path = save_better(run, shop, tmp_path)
    assert path.name == "ta001-1448.json"
    assert main(["evaluate", "ta001", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == json.loads(path.read_text())


def test_a_curve_is_the_mean_of_the_incumbents_at_that_time():
    task = Task("a", "", "20x5", "ig", "cpu", 1, 0, 10.0)
    more = (900, 1000)
    runs = [
        Run(task, 10.0, 1000, (), *more, ((0.2, 1100, "a"), (5.0, 1000, "b")), 1, ""),
        Run(task, 10.0, 1020, (), *more, ((0.5, 1020, "neh"),), 1, ""),
    ]
    points = curve(runs, 10.0)
    assert points[0] == (0.5, pytest.approx((10 + 2) / 2))
    assert points[-1] == (pytest.approx(10.0), pytest.approx((0 + 2) / 2))
    assert {share for _, share in points} == {6.0, 1.0}
