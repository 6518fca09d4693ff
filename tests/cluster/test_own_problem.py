"""A problem of an installed package, found by its entry point alone, everywhere."""

from __future__ import annotations

import importlib
import json
import os
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import dpbb
from dpbb import problems
from dpbb.cluster.storage.checkpoint_folder import CheckpointFolder, load_checkpoint
from dpbb.errors import CheckpointError
from dpbb.estimation.background import encode, estimate_apart
from dpbb.estimation.roots import RootSample
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import BranchingRule, TreeOptions
from dpbb.problem import StartSearch
from dpbb.result import Termination
from dpbb.solving.plan import Plan
from dpbb.solving.start import with_heuristics
from tests.oracle import makespan
from tests.processes import run
from tests.unit.coordination.world import World

pytestmark = pytest.mark.cluster

EXAMPLE = Path(__file__).parents[2] / "examples" / "08_own_problem.py"
REGISTERS = "register(TotalCompletionTime.name, decode)\n"
OBJECTIVE = "total completion time"
BEST, NODES, OPTIMA = 1008, (1037, 3), 3
"""Of the problem of ten jobs."""

OPTIONS = {
    "cutoff": BEST + 1,
    "all_optima": True,  # with a cutoff that ends at the optimum, the tree is fixed
    "report_interval_s": 0.05,
}


@pytest.fixture
def problem(tmp_path, monkeypatch):
    """Install the example as a package; its problem of ten jobs."""
    site = tmp_path / "site"
    info = site / "own_shop-1.0.dist-info"
    info.mkdir(parents=True)
    source = EXAMPLE.read_text()
    assert REGISTERS in source
    (site / "own_shop.py").write_text(source.replace(REGISTERS, ""))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-shop\n")
    (info / "entry_points.txt").write_text(
        "[dpbb.problems]\nflowshop-total-completion-time = own_shop:decode\n"
    )
    monkeypatch.syspath_prepend(site)
    paths = (str(site), os.environ.get("PYTHONPATH"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    problems._installed.cache_clear()
    own_shop = importlib.import_module("own_shop")
    # what another test has registered in this process
    monkeypatch.delitem(
        problems.DECODERS, own_shop.TotalCompletionTime.name, raising=False
    )

    times = np.random.default_rng(8).integers(1, 30, (10, 3))
    yield own_shop.TotalCompletionTime(times)
    problems._installed.cache_clear()
    del sys.modules["own_shop"]


def run_dpbb(*arguments):
    """Return what a command prints that ends well."""
    return run(sys.executable, "-m", "dpbb", *arguments).stdout


def test_commands_know_it(problem, tmp_path):
    """A run goes on, a certificate holds, an estimate is made: in other processes."""
    folder, proof = tmp_path / "run", tmp_path / "proof.json.gz"
    part = dpbb.solve(
        problem, node_limit=200, checkpoint=str(folder), certificate=str(proof),
        progress="none", **OPTIONS,
    )  # fmt: skip
    assert part.termination is Termination.NODE_LIMIT
    assert part.decomposed < NODES[0]
    saved = load_checkpoint(str(folder))
    assert saved.spec.problem.digest == problem.digest
    resumed = run_dpbb("resume", folder, "--certificate", proof, "--json", "-q")
    result = json.loads(resumed)
    assert (result["objective"], result["makespan"]) == (OBJECTIVE, BEST)
    assert (result["decomposed"], result["leaves"]) == NODES
    assert result["n_optima"] == OPTIMA
    verified = run_dpbb("verify", proof)
    assert f"optimal, {OBJECTIVE} {BEST}" in verified
    assert "proved again" in verified

    tree = TreeOptions(BranchingRule.FRONT)
    whole = RootSample(
        np.zeros(1, np.int64), np.zeros((1, 10), np.int64), np.ones(1, np.int64)
    )
    request = encode(problem, tree, BEST + 1, whole, seconds=0.2, seed=0)
    found = estimate_apart(request, lambda: True)
    assert found.low <= sum(NODES) <= found.high


SUBCLASS = """
import dataclasses

from dpbb.flowshop import FlowShopProblem
from dpbb.problem import NO_CHILD


@dataclasses.dataclass(frozen=True)
class Waiting(FlowShopProblem):
    pair: tuple[int, int] = (0, 1)

    def child_bounds(self, state, jobs, *, back):
        bounds = super().child_bounds(state, jobs, back=back).copy()
        first, then = self.pair[::-1] if back else self.pair
        if first in jobs:
            bounds[jobs == then] = NO_CHILD
        return bounds

"""

TIMES = np.random.default_rng(7).integers(1, 30, (7, 3)).tolist()


def best_waiting(first, then):
    return min(
        makespan(TIMES, order)
        for order in permutations(range(len(TIMES)))
        if order.index(first) < order.index(then)
    )


def test_a_subclass_goes_on_from_a_checkpoint_with_itself_alone(tmp_path, monkeypatch):
    (tmp_path / "waiting_shop.py").write_text(SUBCLASS)
    monkeypatch.syspath_prepend(tmp_path)
    paths = (str(tmp_path), os.environ.get("PYTHONPATH"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    kind = importlib.import_module("waiting_shop").Waiting
    shop = kind(FlowShopInstance("shop", TIMES), pair=(2, 0))
    folder, best = str(tmp_path / "run"), best_waiting(2, 0)
    options = dpbb.SolveOptions(cutoff=best + 30, all_optima=True)
    plan = with_heuristics(Plan(shop, "shop", options, 0.0), StartSearch())
    world = World(plan.spec(0.0, "reference"), ("a",))
    world.round()
    CheckpointFolder(folder, keep=1).write(world.coordinator.checkpoint(world.now))
    others = FlowShopProblem(shop.instance), kind(shop.instance, pair=(0, 2))
    for other in (None, *others):
        with pytest.raises(CheckpointError):
            dpbb.resume(folder, problem=other, verbosity="quiet")
    whole = dpbb.resume(folder, problem=shop, verbosity="quiet")
    assert (whole.status, whole.makespan) == (dpbb.Status.OPTIMAL, best)
    assert whole.n_optima == sum(
        makespan(TIMES, order) == best and order.index(2) < order.index(0)
        for order in permutations(range(len(TIMES)))
    )
