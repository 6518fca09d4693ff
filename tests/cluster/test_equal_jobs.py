"""Shops with equal jobs through whole runs: optima, interruptions, certificates."""

from __future__ import annotations

import random

import numpy as np
import pytest

import dpbb
from dpbb.engines import explore_to_end, get_engine
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import SolveOptions
from dpbb.proof.verify import verify
from dpbb.tree import WorkUnit
from dpbb.tree.branching import tree_of

pytestmark = pytest.mark.cluster

QUIET = {"verbosity": "quiet", "report_interval_s": 0.05}


def shop_of(kinds, copies, n_machines, seed):
    rng = np.random.default_rng(seed)
    times = np.repeat(rng.integers(1, 100, (kinds, n_machines)), copies, axis=0)
    rng.shuffle(times)
    return FlowShopInstance(f"equal{seed}", times)


def test_stops_at_any_moment_change_no_count_and_the_proof_holds(tmp_path):
    shop, cutoff = shop_of(6, 5, 10, 1), 2228
    problem = FlowShopProblem(shop)
    tree = tree_of(problem, SolveOptions(), None)
    engine = get_engine("cpu")
    session = engine.open(problem, tree, engine.devices(1)[0], ub=cutoff)
    session.load(WorkUnit.whole(problem.n_jobs))
    expected = explore_to_end(session, cutoff).counters
    session.close()
    assert expected.decomposed > 20_000
    folder, path = tmp_path / "run", tmp_path / "c.json.gz"
    limit = random.Random(str(tmp_path)).randrange(1, expected.decomposed // 2)
    options = {**QUIET, "engine": "cpu"}
    stopped = dpbb.solve(
        shop, cutoff=cutoff, node_limit=limit, checkpoint=str(folder),
        certificate=str(path), **options,
    )  # fmt: skip
    assert stopped.termination in ("node_limit", "exhausted")
    result = stopped
    if stopped.termination == "node_limit":
        result = dpbb.resume(folder, workers=2, **options)
    assert (result.decomposed, result.leaves) == (expected.decomposed, expected.leaves)
    found = verify(path, engine="cpu")
    assert found.verdict == "proved again", found.summary()
