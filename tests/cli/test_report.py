"""``dpbb report``: a page of runs, from files of every kind."""

from __future__ import annotations

import json
import re

import pytest

from dpbb.coordination.format import to_bytes
from dpbb.progress import snapshot_json
from tests.unit.plotting.samples import checkpoint, result, snapshot


@pytest.fixture
def files(tmp_path):
    rows = [snapshot_json(snapshot(at)) + "\n" for at in (0.0, 1.0, 2.0)]
    (tmp_path / "run.log").write_text("".join(rows))
    (tmp_path / "result.json").write_text(result().to_json())
    (tmp_path / "run.dpbb").write_bytes(to_bytes(checkpoint()))
    (tmp_path / "shop.csv").write_text("4,3\n2,5\n3,2\n")
    return tmp_path


def rows_of(page):
    """The table of a page: a dictionary each run."""
    found = re.findall(r"<tr>((?:<td title.*?</td>)+)</tr>", page.read_text())
    return [dict(re.findall(r'<td title="(.*?)">(.*?)</td>', row)) for row in found]


def test_a_campaign_and_single_runs_are_on_one_page(files, dpbb):
    given = ("campaign", files / "shop.csv", "-o", files / "all", "--workers", "1")
    assert dpbb(*given).code == 0
    names = [files / name for name in ("all", "run.log", "run.dpbb", "result.json")]
    ran = dpbb("report", *names, "--write", files / "run.html")
    assert (ran.code, ran.err) == (0, "")
    (record,) = (files / "all" / "records").glob("*.json")
    best = json.loads(record.read_text())["makespan"]
    shown = rows_of(files / "run.html")
    assert [row["instance"] for row in shown] == ["shop", *3 * ["joinery"]]
    assert [row["best"] for row in shown] == [str(best), "40", "36", "36"]
    assert [row["lower bound"] for row in shown] == [str(best), "30", "31", "30"]
    assert shown[0]["gap"] == "0 %"
    assert dpbb("report", files / "all", "--write", files / "bks.json").code == 0
    assert dpbb("report", files / "bks.json").code == 0


def test_a_last_row_that_was_cut_is_left_out(files, dpbb):
    whole = (files / "run.log").read_text()
    (files / "run.log").write_text(whole[:-40])
    assert dpbb("report", files / "run.log", "--write", files / "a.html").code == 0
    (row,) = rows_of(files / "a.html")
    assert row["time"] == "1.0s"
    for text, line in ((whole[40:], 1), (whole.replace('"ub"', '"up"', 1), 1)):
        (files / "run.log").write_text(text)
        ran = dpbb("report", files / "run.log", "--write", files / "b.html")
        assert (ran.code, f"line {line}" in ran.err) == (2, True)
    assert not (files / "b.html").exists()


def test_other_forms_are_of_campaigns(files, dpbb):
    ran = dpbb("report", files / "run.log", "--write", files / "a.csv")
    assert ran.code == 2
    assert "--write: expected .html" in ran.err
    assert not (files / "a.csv").exists()
