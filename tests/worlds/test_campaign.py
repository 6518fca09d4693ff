"""The campaign: what it makes of its file, and a short one."""

import json
import sys

import pytest

from tests.worlds.__main__ import main
from tests.worlds.campaign.arena import Record
from tests.worlds.campaign.suite import FILE, read_records, table


def test_a_campaign_that_was_stopped_goes_on(tmp_path, capsys):
    """Runs that are done are not repeated; a cut line is none."""
    done = {"seed": 1, "instance": "ta014", "faults": ["join", "join"]}
    (tmp_path / FILE).write_text(json.dumps(done) + '\n{"seed": 2, "ins')
    assert [record.seed for record in read_records(tmp_path / FILE)] == [1]
    assert main(["campaign", "--runs", "1", "--dir", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "join" in text
    assert "seed 1:" not in text


def test_a_run_that_is_lost_is_an_exit_code(tmp_path, capsys):
    lost = {"seed": 1, "instance": "ta014", "outcome": "lost"}
    (tmp_path / FILE).write_text(json.dumps(lost) + "\n")
    assert main(["campaign", "--runs", "1", "--dir", str(tmp_path)]) == 1
    rows = capsys.readouterr().out.splitlines()
    assert [row.split() for row in rows if row.startswith("lost")] == [["lost", "1"]]


def test_the_table_counts():
    records = [Record(1, "a"), Record(2, "a", "stuck", faults=["restart"])]
    rows = [row.rsplit(maxsplit=1) for row in table(records).splitlines()]
    assert ["runs", "2"] in rows
    assert ["stuck", "1"] in rows
    assert ["  restart", "1"] in rows


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_short_campaign(tmp_path):
    assert main(["campaign", "--runs", "3", "--dir", str(tmp_path)]) == 0
