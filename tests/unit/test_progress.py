from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from dpbb.coordination.snapshot import RunState, SeatSnapshot, Snapshot
from dpbb.progress import HEADER, ProgressPrinter, format_count, format_seconds

SNAPSHOT = Snapshot(
    run_id="r",
    instance="ta021",
    state=RunState.RUNNING,
    seconds=12.4,
    value=2297,
    permutation=(0, 1),
    ub=2297,
    lower_bound=2232,
    gap=65 / 2297,
    decomposed=41_200_000,
    leaves=12,
    nodes_per_second=3.3e6,
    explored=0.031,
    waiting=110,
    leased=8,
    open_roots=4,
    donations=0,
    requeues=0,
    seats=(SeatSnapshot("s", "w", "cpu", "cpu", True),) * 8,
    spans=((0.0, 0.5, "leased"),),
)


def lines(stream):
    return stream.getvalue().splitlines()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (999.6, "1.00 k"),
        (9994, "9.99 k"),
        (9996, "10.0 k"),
        (99_960, "100 k"),
        (41_200_012, "41.2 M"),
        (5e12, "5.00 T"),
        (7e15, "7000 T"),
    ],
)
def test_counts_have_three_digits(count, text):
    assert format_count(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0s"),
        (99.94, "99.9s"),
        (99.96, "1m40s"),
        (5999.4, "99m59s"),
        (7500, "2h05m"),
        (360_000, "100h00m"),
    ],
)
def test_times_fit_their_column(seconds, text):
    assert format_seconds(seconds) == text


def test_rows_are_aligned_under_the_header():
    stream = io.StringIO()
    progress = ProgressPrinter(stream, offset_s=1.0)
    progress.incumbent(0.3, 2300, 2232)
    progress.update(SNAPSHOT)
    header, first, second = lines(stream)
    assert header == HEADER
    assert first.split() == (
        ["H", "0.3s", "-", "-", "-", "|", "2232", "2300", "2.96%", "|", "-", "-"]
    )
    assert second == (
        "H  13.4s     3.10%     41.2 M   3.30 M/s |      2232     2297  2.83% |"
        "   118     8"
    )
    assert len(header) == len(first) == len(second)


def test_h_marks_new_incumbents_only_and_rows_get_rarer():
    stream = io.StringIO()
    progress = ProgressPrinter(stream)
    for snapshot in (
        SNAPSHOT,
        replace(SNAPSHOT, seconds=12.9),  # less than interval_s later: no row
        replace(SNAPSHOT, seconds=13.0, value=2296),  # an incumbent: a row at once
        replace(SNAPSHOT, seconds=100.0, value=2296),
        replace(SNAPSHOT, seconds=104.0, value=2296),  # less than a 20th later
        replace(SNAPSHOT, seconds=106.0, value=2296),
    ):
        progress.update(snapshot)
    assert [line[:8] for line in lines(stream)[1:]] == [
        "H  12.4s",
        "H  13.0s",
        "   1m40s",
        "   1m46s",
    ]


def test_an_incumbent_of_the_heuristics_is_not_marked_again():
    stream = io.StringIO()
    progress = ProgressPrinter(stream)
    progress.incumbent(0.3, 2297, 2232)
    progress.update(SNAPSHOT)
    assert [line[0] for line in lines(stream)[1:]] == ["H", " "]


def test_without_an_incumbent_rows_have_dashes():
    stream = io.StringIO()
    bare = replace(SNAPSHOT, value=None, permutation=None, gap=None, lower_bound=None)
    ProgressPrinter(stream).update(bare)
    assert lines(stream)[1].split("|")[1].split() == ["-", "-", "-"]


def test_json_lines_hold_one_snapshot_each_and_no_notes():
    stream = io.StringIO()
    progress = ProgressPrinter(stream, json_lines=True)
    progress.note("engine cpu")
    progress.incumbent(0.3, 2300, 2232)
    progress.update(SNAPSHOT)
    progress.finish(replace(SNAPSHOT, state=RunState.FINISHED))
    first, last = (json.loads(line) for line in lines(stream))
    assert first["value"] == 2297
    assert first["seats"][0]["worker"] == "w"
    assert "spans" not in first
    assert last["state"] == "finished"


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


def test_without_a_stream_nothing_is_written(capsys):
    progress = ProgressPrinter(None)
    progress.note("x")
    progress.update(SNAPSHOT)
    progress.finish(SNAPSHOT)
    assert capsys.readouterr() == ("", "")
