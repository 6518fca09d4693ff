"""The campaign: what it makes of its file, and a short one."""

import json
import sys
import threading

import psutil
import pytest

from dpbb.cluster.storage.store import Folder
from tests.worlds.__main__ import main
from tests.worlds.campaign import held
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


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_run_that_does_not_end_is_killed(tmp_path, capsys):
    arguments = ["--runs", "1", "--limit", "1", "--dir", str(tmp_path)]
    assert main(["campaign", *arguments]) == 1
    (record,) = read_records(tmp_path / FILE)
    assert (record.outcome, record.about) == ("stuck", "killed at its limit")
    assert "1 runs, 1 not as they have to be (seeds 1)" in capsys.readouterr().out
    here = [p for p in psutil.process_iter() if str(tmp_path) in " ".join(_command(p))]
    assert not here


def _command(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_no_run_begins_too_late(tmp_path, capsys):
    arguments = ["--runs", "2", "--begin-within", "-1", "--dir", str(tmp_path)]
    assert main(["campaign", *arguments]) == 0
    assert "2 runs missing" in capsys.readouterr().out


@pytest.mark.parametrize("flag", ["--runs", "--side-by-side", "--limit"])
def test_of_each_there_is_at_least_one(flag, tmp_path):
    # main catches it: exit code 2
    assert main(["campaign", "--dir", str(tmp_path), flag, "0"]) == 2


def test_a_store_hangs_as_long_as_it_is_held(tmp_path, monkeypatch):
    hold = tmp_path / "hold"
    monkeypatch.setenv(held.HOLD, str(hold))
    folder = Folder(f"held://{tmp_path}/store")
    folder.probe()
    assert not folder.local
    hold.touch()
    writing = threading.Thread(target=folder.write, args=("a", [b"content"]))
    writing.start()
    writing.join(0.2)
    assert writing.is_alive()
    assert not (tmp_path / "store" / "a").exists()
    hold.unlink()
    writing.join(10)
    assert folder.names() == ["a"]
    assert folder.sizes() == {"a": 7}
    assert folder.read("a", 3) == b"tent"
    folder.delete("a")
    folder.delete("a")
    assert folder.names() == []
    assert folder.folders() == []


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_short_campaign(tmp_path):
    arguments = ["--runs", "3", "--side-by-side", "2", "--dir", str(tmp_path)]
    assert main(["campaign", *arguments]) == 0
