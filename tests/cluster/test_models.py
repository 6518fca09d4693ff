"""A problem that is one text, on a cluster: stopped, resumed, proved, verified."""

import numpy as np
import pytest

import dpbb
from dpbb.result import Termination
from tests.models import LinearOrdering

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

OPTIONS = {
    "workers": 1, "threads": 1, "engine": "cpu", "heuristics": "none",
    "verbosity": "quiet",
}  # fmt: skip


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
