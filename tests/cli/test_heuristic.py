"""``dpbb heuristic``: text, JSON, files, a cluster."""

from __future__ import annotations

import json

import pytest

import dpbb as package
from tests.cluster.support import local_cluster


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


@pytest.mark.cluster
def test_searches_are_spread_over_a_cluster():
    """Each has a seed of its own; what is found here is the best of them."""
    how = {"iterations": 2, "progress": "none"}
    with local_cluster(2) as (_, client):
        result = package.heuristic("ta011", "ig", client=client, **how)
    alone = [
        package.heuristic("ta011", "ig", threads=1, seed=seed, **how).makespan
        for seed in range(2)
    ]
    assert result.makespan == min(alone)
    assert result.trajectory[-1].value == result.makespan
