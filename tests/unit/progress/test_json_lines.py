from __future__ import annotations

import io
import json
from dataclasses import replace

from dpbb.coordination.snapshot import CheckpointSnapshot, RunState
from dpbb.progress import JsonLines
from dpbb.result import Status
from tests.unit.plotting.samples import result
from tests.unit.progress.fakes import SNAPSHOT


def read(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_lines_hold_one_snapshot_each_and_no_notes():
    stream = io.StringIO()
    progress = JsonLines(stream)
    progress.note("engine cpu")
    progress.note("dashboard http://here:8787/dpbb")
    progress.incumbent(0.3, 2300, 2232)
    progress.offset_s = 5.0  # the run is opened then
    saved = CheckpointSnapshot("/there", "host", 30.0, last_s=2.0)
    progress.update(replace(SNAPSHOT, checkpoint=saved))
    progress.finish(replace(SNAPSHOT, state=RunState.FINISHED))
    start, first, last = read(stream)
    known = ("seconds", "value", "lower_bound", "run_id")
    assert [start[name] for name in known] == [0.3, 2300, 2232, "none"]
    assert first["value"] == 2297
    assert first["seconds"] == 5.0 + SNAPSHOT.seconds
    found = [step["seconds"] for step in first["trajectory"]]
    assert found == [5.0 + step.seconds for step in SNAPSHOT.trajectory]
    assert first["seats"][0]["worker"] == "w"
    assert first["checkpoint"]["last_s"] == 5.0 + 2.0
    assert "spans" not in first
    assert first["dashboard"] == "http://here:8787/dpbb"
    assert last["state"] == "finished"


def test_a_line_at_intervals_and_for_every_incumbent():
    stream = io.StringIO()
    progress = JsonLines(stream, interval_s=1.0)
    for seconds, value in ((1.0, 9), (1.5, 9), (1.6, 8), (2.5, 8), (2.7, 8)):
        progress.update(replace(SNAPSHOT, seconds=seconds, value=value))
    assert [row["seconds"] for row in read(stream)] == [1.0, 1.6, 2.7]


def test_a_solve_without_a_tree_has_its_incumbents_and_its_end():
    stream = io.StringIO()
    progress = JsonLines(stream)
    found = result(lower_bound=result().makespan, status=Status.OPTIMAL)
    for step in found.trajectory:
        progress.incumbent(step.seconds, step.value, found.lower_bound)
    progress.done(found)
    rows = read(stream)
    values = [step.value for step in found.trajectory]
    assert [row["value"] for row in rows] == [*values, found.makespan]
    assert [row["seconds"] for row in rows] == [0.5, 2.0, 3.0, 12.0]
    assert [row["state"] for row in rows] == ["running"] * 3 + ["finished"]
    assert all(row["run_id"] == "none" for row in rows)
    assert [row["explored"] for row in rows] == [0, 0, 0, 1]
    assert rows[-1]["gap"] == 0
    assert len(rows[-1]["trajectory"]) == 3
    assert "no tree was explored" in rows[-1]["events"][0]["text"]


def test_what_is_waited_for_is_in_a_line_at_once():
    stream = io.StringIO()
    progress = JsonLines(stream, interval_s=10.0)
    for text in ("compiling the heuristics", "compiling the heuristics", ""):
        progress.waiting(text)
    empty = replace(SNAPSHOT, seats=(), value=None, waits_for="no workers connected")
    for seconds in (11.0, 12.0):
        progress.update(replace(empty, seconds=seconds))
    progress.update(replace(empty, seconds=13.0, waits_for="compiling on 1 worker"))
    rows = read(stream)
    assert [row["waits_for"] for row in rows] == [
        *("compiling the heuristics", "no workers connected", "compiling on 1 worker")
    ]
    assert rows[0]["run_id"] == "none"
    assert rows[0].keys() == rows[1].keys()
