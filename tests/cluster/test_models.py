"""A problem that is one text, on a cluster: stopped, resumed, proved, verified."""

import numpy as np
import pytest

import dpbb
from dpbb.cluster.local import embedded_cluster
from dpbb.result import Termination
from tests.models import InPython, LinearOrdering, NextMachine, swaps

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

OPTIONS = {
    "workers": 1, "threads": 1, "engine": "cpu", "heuristics": "none",
    "verbosity": "quiet",
}  # fmt: skip


@pytest.mark.slow
def test_a_shop_without_buffers_goes_on_from_its_checkpoint(tmp_path):
    times = np.random.default_rng(11).integers(1, 50, (12, 10))
    problem = dpbb.FlowShop(times, blocking=True)
    best = dpbb.solve(problem, **OPTIONS).makespan
    proof, folder = tmp_path / "proof.json.gz", tmp_path / "run"
    whole = dpbb.solve(problem, cutoff=best, certificate=proof, **OPTIONS)
    assert "proved again" in dpbb.verify(proof).summary()
    slow = OPTIONS | {"engine": "reference"}
    part = dpbb.solve(problem, cutoff=best, checkpoint=folder, node_limit=200, **slow)
    assert part.termination is Termination.NODE_LIMIT
    rest = dpbb.resume(folder, verbosity="quiet")
    assert (rest.decomposed, rest.leaves) == (whole.decomposed, whole.leaves)


def test_a_class_of_a_script_travels_to_workers():
    worth = np.random.default_rng(5).integers(0, 50, (10, 10))
    problem = LinearOrdering(worth)
    alone, there = (
        dpbb.solve(problem, **(OPTIONS | more))
        for more in ({"workers": 0, "engine": "reference"}, {})
    )
    assert alone.makespan == there.makespan


@pytest.mark.slow
def test_files_do_not_name_what_a_subclass_overrides(tmp_path):
    problem = NextMachine("ta016")
    with pytest.raises(dpbb.OptionError, match=r"certificate: .* encode\(\)"):
        dpbb.solve(problem, certificate=tmp_path / "proof.json.gz", **OPTIONS)
    given = OPTIONS | {"cutoff": 1397, "engine": "reference", "node_limit": 100}
    dpbb.solve(problem, checkpoint=tmp_path / "run", **given)
    with pytest.raises(dpbb.CheckpointError, match="problem="):
        dpbb.resume(tmp_path / "run", verbosity="quiet")

    class Changed(NextMachine):
        name = "NextMachine"

        def child_weight(self, bound, parent):
            return -min(bound - parent, 21)

    with pytest.raises(dpbb.CheckpointError, match="digest"):
        dpbb.resume(tmp_path / "run", problem=Changed("ta016"), verbosity="quiet")
    rest = dpbb.resume(
        tmp_path / "run", problem=problem, engine="cpu", verbosity="quiet"
    )
    assert rest.decomposed == 1549


def test_any_python_of_a_script_travels_too():
    there = OPTIONS | {"engine": "auto", "heuristics": swaps}
    assert dpbb.solve(InPython("ta016"), cutoff=1397, **there).decomposed == 1549
    with embedded_cluster(workers=2) as (_, client):
        client.wait_for_workers(1)
        found = dpbb.heuristic("ta021", swaps, client=client, time_limit_s=0.5)
    assert found.trajectory[-1].source == "swaps"
