from __future__ import annotations

import io
import math
from dataclasses import replace

import pytest

from dpbb.progress import ProgressPrinter
from dpbb.progress.rows import format_header, format_row
from dpbb.result import Improvement
from tests.unit.progress.fakes import BUSY, SNAPSHOT


def lines(stream):
    return stream.getvalue().splitlines()


def test_rows_are_aligned_under_the_header():
    stream = io.StringIO()
    progress = ProgressPrinter(stream)
    progress.offset_s = 1.0
    progress.incumbent(0.3, 2300, 2232)
    progress.update(SNAPSHOT)
    header, first, second = lines(stream)
    assert header == format_header()
    assert first.split() == (
        ["H", "0.3s", *"----", "|", "2232", "2300", "2.96%", "|", *"----"]
    )
    assert second == (
        "H  13.4s  41.2 M       -       -         - |      2232    2297   2.83% |"
        " 3.30 M/s       8   118      -"
    )
    assert len(header) == len(first) == len(second)


def test_h_marks_new_incumbents_only_and_rows_get_rarer():
    stream = io.StringIO()
    progress = ProgressPrinter(stream)
    for snapshot in (
        SNAPSHOT,
        replace(SNAPSHOT, seconds=12.9),  # less than interval_s later: no row
        replace(SNAPSHOT, seconds=13.5, value=2296),  # an incumbent: a row at once
        replace(SNAPSHOT, seconds=100.0, value=2296),
        replace(SNAPSHOT, seconds=104.0, value=2296),  # less than a 20th later
        replace(SNAPSHOT, seconds=106.0, value=2296),
    ):
        progress.update(snapshot)
    assert [line[:8] for line in lines(stream)[1:]] == [
        "H  12.4s",
        "H  13.5s",
        "   1m40s",
        "   1m46s",
    ]


def test_rows_are_seldom_only_while_nothing_is_explored():
    stream = io.StringIO()
    progress = ProgressPrinter(stream)
    for seconds, nodes in ((3, 0), (5, 0), (14, 0), (15.5, 9), (16.2, 9), (17, 9)):
        told = {"seconds": float(seconds), "decomposed": nodes, "leaves": 0}
        progress.update(replace(SNAPSHOT, **told))
    times = [line[1:8].strip() for line in lines(stream)[1:]]
    assert times == ["3.0s", "14.0s", "15.5s", "17.0s"]


def test_heuristics_have_a_row_a_second_and_nothing_is_forgotten():
    stream = io.StringIO()
    progress = ProgressPrinter(stream, interval_s=math.inf)
    for tenth in range(14):
        progress.incumbent(tenth / 10, 2400 - tenth, 2232)
    found = Improvement(0.0, 2387, "neh")
    for seconds in (0.6, 1.2):
        told = {"value": 2387, "ub": 2387, "trajectory": (found,)}
        progress.offset_s = 1.0
        progress.update(replace(SNAPSHOT, seconds=seconds, **told))
    by_tree = Improvement(1.3, 2380, "tree"), Improvement(1.4, 2379, "tree")
    told = {"value": 2379, "ub": 2379, "trajectory": (found, *by_tree)}
    progress.update(replace(SNAPSHOT, seconds=1.4, **told))
    rows = [line.split() for line in lines(stream)[1:]]
    assert [row[:2] for row in rows] == [
        ["H", "0.0s"],
        ["H", "1.0s"],
        ["H", "2.2s"],
        ["*", "2.3s"],
        ["*", "2.4s"],
    ]
    assert [row[row.index("|") + 2] for row in rows] == (
        ["2400", "2390", "2387", "2380", "2379"]
    )


def test_last_row_is_written_once():
    stream = io.StringIO()
    progress = ProgressPrinter(stream)
    progress.update(SNAPSHOT)
    progress.finish(SNAPSHOT)
    assert len(lines(stream)) == 2
    last = replace(SNAPSHOT, seconds=12.5)
    progress.update(last)  # too early for a row
    progress.finish(last)
    assert lines(stream)[-1].startswith("   12.5s")


@pytest.mark.parametrize("width", [20, 40, 60, 79, 80, 85, 200])
def test_rows_fit_the_terminal(width):
    header, row = format_header(width), format_row(BUSY, width=width)
    assert len(header) == len(row) <= width
    assert header.split()[0] == "Time"
    assert "BestSol" in header
    assert ("Gap" in header) == (width > 50)
    assert ("Between" in header) == (width > 70)
    assert ("AtRisk" in header) == (width == 200)


def test_a_run_that_was_attached_to_shows_its_past():
    stream = io.StringIO()
    progress = ProgressPrinter(stream)
    progress.update(BUSY)
    _, first, second, trouble, now = lines(stream)
    assert first.split()[:2] == ["H", "0.0s"]
    assert "2310" in first
    assert second.split()[:2] == ["H", "12.0s"]  # its own time, not that of now
    assert "2297" in second
    assert trouble == "   1m40s tcp://10.0.0.9:4000/cpu0 left"
    assert now.startswith("  62m05s")
    assert now.split()[:6] == ["62m05s", "41.2", "M", "~210", "G", "~3h"]
    assert now.split()[6] == "2-5h"
    progress.update(BUSY)  # nothing of it twice
    assert len(lines(stream)) == 5
