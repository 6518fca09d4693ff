"""Curves of ARPD over time."""

import pytest

from dpbb.bench.heuristics_plot import curve
from dpbb.bench.heuristics_runs import Run, Task


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
