"""Trees from below on a device: each cutoff has a session of its own."""

from __future__ import annotations

import pytest

import dpbb
from dpbb.result import Status

pytestmark = [pytest.mark.gpu, pytest.mark.cluster]


def test_from_below_ends_at_the_optimum_with_the_trees_of_its_cutoffs(gpu, tmp_path):
    path = tmp_path / "proof-{bound}.json.gz"
    how = {"engine": "gpu", "workers": 1, "verbosity": "quiet"}
    result = dpbb.solve(
        "ta014", strategy="from-below", heuristics="neh", certificate=str(path), **how
    )
    assert (result.status, result.makespan) == (Status.OPTIMAL, 1377)
    assert len(result.bounds) > 2
    for bound in result.bounds:
        assert dpbb.verify(str(path).format(bound=bound.value)).ok
    last = result.bounds[-2]
    tree = dpbb.solve("ta014", cutoff=last.value, **how)
    assert tree.status is Status.INFEASIBLE_CUTOFF
    assert tree.decomposed == last.decomposed
