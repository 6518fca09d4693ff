"""The suite of the GPU engine on an emulated device."""

import json

import pytest

from dpbb.bench import gpu as suite
from dpbb.cli import main
from dpbb.options import Balance

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def tiny(monkeypatch):
    """A tree that the host explores in a second, and a bound of another size."""
    trees = {"tiny": ("ta016", 1397, 1586), "wrong": ("ta016", 1397, 1585)}
    monkeypatch.setattr(suite, "TREES", trees)


def measured(tmp_path, *arguments):
    file = tmp_path / "rows.json"
    code = main(["bench", "gpu", *arguments, "--json", str(file)])
    return code, json.loads(file.read_text())["rows"]


def test_both_ways_of_sharing_work_are_measured(tiny, tmp_path, capsys):
    code, rows = measured(tmp_path, "--trees", "tiny", "--block-size", "64")
    assert code == 0
    assert [row["balance"] for row in rows] == list(Balance)
    for row in rows:
        assert row["exact"] is True
        assert row["nodes"] == 1586
        assert row["explorers"] > 0
        assert 0 <= row["idle"] <= 1
    _, header, *lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "nodes/s" in header


def test_a_wrong_count_is_told(tiny, tmp_path):
    code, [row] = measured(tmp_path, "--trees", "wrong", "--balance", "explode")
    assert code == 1
    assert row["exact"] is False
