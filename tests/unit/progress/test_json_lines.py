from __future__ import annotations

import io
import json
from dataclasses import replace

from dpbb.coordination.snapshot import RunState
from dpbb.progress import JsonLines
from tests.unit.progress.fakes import SNAPSHOT


def read(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_lines_hold_one_snapshot_each_and_no_notes():
    stream = io.StringIO()
    progress = JsonLines(stream)
    progress.note("engine cpu")
    progress.incumbent(0.3, 2300, 2232)
    progress.update(SNAPSHOT)
    progress.finish(replace(SNAPSHOT, state=RunState.FINISHED))
    first, last = read(stream)
    assert first["value"] == 2297
    assert first["seats"][0]["worker"] == "w"
    assert "spans" not in first
    assert last["state"] == "finished"


def test_a_line_at_intervals_and_for_every_incumbent():
    stream = io.StringIO()
    progress = JsonLines(stream, interval_s=1.0)
    for seconds, value in ((1.0, 9), (1.5, 9), (1.6, 8), (2.5, 8), (2.7, 8)):
        progress.update(replace(SNAPSHOT, seconds=seconds, value=value))
    assert [row["seconds"] for row in read(stream)] == [1.0, 1.6, 2.7]
