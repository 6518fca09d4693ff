"""``dpbb heuristic``: text, JSON, files, a cluster."""

from __future__ import annotations

import json

import pytest

import dpbb as package
from tests.cluster.support import in_process_cluster


def test_text_says_how_good_the_schedule_is_and_who_found_it(dpbb, tmp_path):
    file = tmp_path / "schedule.csv"
    ran = dpbb(
        *("heuristic", "ta011", "--method", "ig", "--time", 0.3, "--threads", 1),
        *("--progress", "plain", "--output", file),
    )
    assert ran.code == 0
    names = [line[:12].strip() for line in ran.out.splitlines()]
    assert names[:6] == [
        *("instance", "makespan", "best known", "lower bound", "time", "permutation")
    ]
    assert "best known   1582 (optimal): " in ran.out
    assert " % above" in ran.out
    assert "  neh" in ran.out
    assert "BestSol" in ran.err
    assert len(file.read_text().splitlines()) == 1 + 20 * 10


def test_json_is_a_result_that_other_commands_take(dpbb, tmp_path):
    ran = dpbb("heuristic", "ta001", "--method", "neh", "--json", "-q")
    assert (ran.code, ran.err) == (0, "")
    values = json.loads(ran.out)
    assert values["best_known"] == 1278
    assert values["trajectory"][-1]["source"] == "neh"
    file = tmp_path / "neh.json"
    file.write_text(ran.out)
    shown = dpbb("evaluate", "ta001", file, "--json")
    assert json.loads(shown.out)["makespan"] == values["makespan"]
    plot = tmp_path / "neh.svg"
    assert dpbb("plot", file, "--output", plot).code == 0


def test_bad_input_and_exit_codes(dpbb):
    ran = dpbb("heuristic", "ta001", "--method", "magic")
    assert ran.code == 2
    assert "expected one of auto, none, neh" in ran.err
    ran = dpbb("heuristic", "ta001", "--time", "-1")
    assert (ran.code, "--time: expected a number >= 0" in ran.err) == (2, True)
    ran = dpbb("heuristic", "ta001", "--heuristics", "neh")
    assert ran.err.endswith("see dpbb heuristic --help\n")
    assert "--heuristics or" not in ran.err
    ran = dpbb("heuristic", "ta001", "--starts", 3)
    assert ran.code == 2
    assert "starts: expected together with client or scheduler" in ran.err


@pytest.mark.cluster
def test_searches_are_spread_over_a_cluster():
    """Each has a seed of its own; what is found here is the best of them."""
    how = {"iterations": 2, "progress": "none"}
    with in_process_cluster(2) as (_, client):
        result = package.heuristic("ta011", "ig", client=client, starts=3, **how)
    alone = [
        package.heuristic("ta011", "ig", threads=1, seed=seed, **how).makespan
        for seed in range(3)
    ]
    assert result.makespan == min(alone)
    assert result.trajectory[-1].value == result.makespan
