import math
import re
from dataclasses import replace

import pytest

from dpbb.coordination.snapshot import RunState
from dpbb.plotting.runs import COLUMNS, run_of, runs_page
from dpbb.result import Status
from tests.unit.dashboard.fakes import seat
from tests.unit.plotting.samples import checkpoint, result, snapshot

ROWS = [
    snapshot(0.0, lower_bound=28, decomposed=0, leaves=0),
    snapshot(1.0, lower_bound=30, decomposed=70, leaves=0),
    snapshot(
        *(3.0, 40), decomposed=200, leaves=5, state=RunState.FINISHED,
        termination="exhausted", seats=(seat(1, rate=4e6),),
    ),
]  # fmt: skip


def cells(run):
    return dict(zip(COLUMNS, run.row, strict=True))


def test_rows_tell_how_a_run_went():
    run = run_of(ROWS, "run.log")
    row = cells(run)
    assert (row["instance"], row["ended"], row["from"]) == (
        *("joinery", "optimal, proved", "run.log"),
    )
    assert (row["best"], row["lower bound"], row["gap"]) == (40, 40, "0 %")
    assert (row["nodes"], row["time"]) == (205, "3.0s")
    assert run.growth == [(0.0, 0), (1.0, 70), (3.0, 205)]
    # 1 s at 1e6 and 3e6 nodes/s, then 2 s of the first alone at 4e6
    assert [name for name, _ in run.shares] == ["seat-1, cpu", "seat-2, cpu"]
    assert [share for _, share in run.shares] == [9 / 12, 3 / 12]


def test_where_no_row_is_the_last_the_run_is_not_over():
    assert cells(run_of(ROWS[:2], "run.log"))["ended"] == "running at the last row"


@pytest.mark.parametrize(
    ("data", "ended", "nodes"),
    [
        (result(decomposed=7, leaves=1), "feasible, time limit", 8),
        (checkpoint(), "a checkpoint with 2 parts left", 1),
        (replace(checkpoint(), units=()), "proved optimal", 1),
        (replace(checkpoint(), units=(), cutoff=30), "nothing below 30, proved", 1),
    ],
)
def test_other_kinds_of_runs(data, ended, nodes):
    row = cells(run_of(data, "here"))
    assert (row["ended"], row["nodes"]) == (ended, nodes)


def paths(page):
    """The curves of a page: their corners in pixels, by their titles."""
    found = re.findall(r'd="M([^"H]*)"><title>([^<]*)<', page)
    return {
        title: [tuple(map(float, corner.split())) for corner in corners.split("L")]
        for corners, title in found
    }


def test_curves_are_where_the_axes_say():
    page = runs_page([run_of(ROWS, "run.log")])
    ticks = re.findall(r'<text x="58" y="([\d.]+)" text-anchor="end">(\d+)</', page)
    (y1, v1), (y2, v2) = ((float(y) - 4, int(v)) for y, v in ticks[:2])
    bound = paths(page)["lower bound: 40"]
    values = [v1 + (y - y1) * (v2 - v1) / (y2 - y1) for _, y in bound]
    assert [round(value, 1) for value in values] == [28, 28, 30, 30, 40, 40]
    xs = [x for x, _ in bound]
    assert xs == sorted(xs)
    assert math.isclose((xs[1] - xs[0]) * 3, xs[-1] - xs[0], abs_tol=0.5)


def test_a_page_needs_nothing_else_and_runs_nothing_of_a_name():
    bad = "<script>alert(1)</script>"
    run = run_of([replace(row, instance=bad) for row in ROWS], bad)
    page = runs_page([run])
    assert not re.search(r"<script|<link|<img|https?:|url\(|@import", page)
    assert "&lt;script&gt;" in page


def test_a_run_without_schedule_or_bound_is_a_row():
    none = result(status=Status.UNKNOWN, makespan=None, permutation=None, trajectory=())
    run = run_of(none, "x")
    assert cells(run)["gap"] is None
    empty = replace(run, bounds=())
    assert '<td title="lower bound">-</td>' in runs_page([empty])
