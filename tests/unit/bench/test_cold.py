"""The bench of cold processes: what is made of the results that they print."""

import argparse
import json

import pytest

from dpbb.bench import cold
from dpbb.errors import DpbbError

RESULT = {
    "status": "optimal",
    "makespan": 1278,
    "lower_bound": 1278,
    "engine": "gpu",
    "decomposed": 7,
    "leaves": 1,
    "seconds": 9.0,
    "tree_seconds": 4.0,
    "explore_seconds": 6.0,
    "seats": [{}, {}],
    "trajectory": [
        {"seconds": 0.5, "value": 1300, "source": "neh"},
        {"seconds": 6.0, "value": 1278, "source": "tree"},
    ],
}


@pytest.fixture
def processes(monkeypatch):
    """Make no process; returns the (name, limit, options) of those that were asked."""
    asked = []

    def solve(name, limit_s, options):
        asked.append((name, limit_s, tuple(options)))
        return RESULT

    monkeypatch.setattr(cold, "_solve", solve)
    monkeypatch.setattr(cold.subprocess, "run", lambda *_command, **_how: None)
    return asked


def test_the_phases_of_a_start_add_up(processes):
    found = cold.measure("ta001", "auto", "gpu", 1, 60.0)
    began_s = found.import_s
    assert found.first_s == pytest.approx(began_s + 0.5)
    assert found.before_s == pytest.approx(began_s + 5.0)
    assert (found.exploring_s, found.idle_s) == (3.0, 1.0)
    assert found.found_s == pytest.approx(began_s + 6.0)
    assert found.found_by == "tree"
    assert found.before_s + found.idle_s + found.exploring_s == pytest.approx(
        found.seconds[-1]
    )


def test_what_compiles_comes_first_of_each_shape(processes, tmp_path):
    parser = argparse.ArgumentParser()
    cold.add_arguments(parser)
    path = tmp_path / "cold.json"
    given = ["--instances", "ta001", "ta002", "ta011", "--repeat", "1"]
    given += ["--heuristic-threads", "auto", "0", "--json", str(path)]
    cold.run(parser.parse_args(given))
    limits = [(name, limit) for name, limit, _ in processes]
    counted = [(name, 120.0) for name in ("ta001", "ta001", "ta002", "ta002")]
    assert limits == [
        *[("ta001", cold.WARM_S), *counted],
        *[("ta011", cold.WARM_S), ("ta011", 120.0), ("ta011", 120.0)],
    ]
    rows = json.loads(path.read_text())
    assert [row["threads"] for row in rows] == ["auto", "0"] * 3
    assert rows[0]["trajectory"] == RESULT["trajectory"]


def test_a_process_without_a_result_is_told(monkeypatch, capfd):
    with pytest.raises(DpbbError, match="ta001: expected a result, got none and exit"):
        cold._solve("ta001", 5.0, ["--engine", "abacus"])
