"""What earlier versions wrote is still read: the folders of ``tests/data``.

Each is named by the commit that wrote it. ``shop.txt`` holds the 11 x 5 shop of the
certificate and of ``open-all-optima``, a run with MinBranch, the jobs' order reversed
and the reference engine; ``open-flowshop`` holds one of ta056 below a cutoff, and
``open-own-problem`` one of a problem of ``examples/08_own_problem.py``.
"""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest

import dpbb
from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.errors import CheckpointError
from dpbb.options import BranchingRule
from dpbb.result import Status, Termination

DATA = Path(__file__).parents[1] / "data"
OWN_PROBLEM = Path(__file__).parents[2] / "examples" / "08_own_problem.py"
COMMITS = ("a9da344",)

pytestmark = pytest.mark.cluster

every_commit = pytest.mark.parametrize("commit", COMMITS)


@pytest.fixture
def old(commit, tmp_path):
    """A copy: a run that goes on writes into the folder that it came from."""
    return shutil.copytree(DATA / commit, tmp_path / commit)


@every_commit
def test_a_checkpoint_goes_on_to_the_end(old):
    """A solve from the start finds this optimum, and as many permutations of it."""
    folder = str(old / "open-all-optima")
    saved = load_checkpoint(folder)
    assert saved.counters.nodes == 4_548
    assert saved.spec.tree.branching is BranchingRule.MINBRANCH
    assert saved.spec.tree.root_order == tuple(range(10, -1, -1))
    assert saved.spec.engine == "reference"
    result = dpbb.resume(folder, engine="cpu", progress="none")
    assert result.status is Status.OPTIMAL
    assert (result.makespan, result.n_optima) == (525, 15_004)
    assert len(set(result.optima)) == 15_004
    times = read_shop(old)
    assert {dpbb.evaluate(times, order).makespan for order in result.optima[:100]} == {
        525
    }


@every_commit
def test_a_checkpoint_of_the_cpu_engine_goes_on(old):
    folder = str(old / "open-flowshop")
    saved = load_checkpoint(folder)
    assert saved.spec.problem.digest == dpbb.read_instance("ta056").digest
    assert (saved.cutoff, saved.counters.decomposed) == (3666, 3_025_473)
    result = dpbb.resume(folder, node_limit=4_000_000, engine="cpu", progress="none")
    assert result.decomposed >= 4_000_000
    assert result.termination is Termination.NODE_LIMIT
    assert result.instance == "ta056"
    assert result.certificate is None


def test_a_checkpoint_of_schema_2_goes_on(tmp_path):
    """Of commit d842817, the last one that did not compress sections."""
    source = DATA / "d842817" / "open-flowshop"
    folder = shutil.copytree(source, tmp_path / "open")
    saved = load_checkpoint(str(folder))
    assert (saved.cutoff, saved.counters.decomposed) == (3666, 1_454_241)
    assert saved.covered_s == saved.totals.seconds
    result = dpbb.resume(folder, node_limit=2_000_000, engine="cpu", progress="none")
    assert result.decomposed >= 2_000_000
    assert load_checkpoint(str(folder)).counters.decomposed == result.decomposed


@every_commit
def test_a_checkpoint_of_an_own_problem_goes_on_with_the_problem(old):
    """Written before ``encode``, it holds the digest alone; a cutoff fixes the tree."""
    folder = str(old / "open-own-problem")
    with pytest.raises(CheckpointError, match="flowshop-total-completion-time"):
        dpbb.resume(folder)
    times = np.random.default_rng(8).integers(1, 30, (10, 3))
    problem = runpy.run_path(str(OWN_PROBLEM))["TotalCompletionTime"](times)
    saved = load_checkpoint(folder, problem)
    assert saved.counters.decomposed == 743
    result = dpbb.resume(folder, problem=problem, node_limit=None, progress="none")
    assert result.status is Status.OPTIMAL
    assert (result.objective, result.makespan) == ("total completion time", 1008)
    assert (result.decomposed, result.leaves, result.n_optima) == (1037, 3, 3)


@every_commit
def test_a_result_is_read(old):
    text = (old / "stopped.result.json").read_text("utf-8")
    result = dpbb.Result.from_json(text)
    assert (result.instance, result.status) == ("ta056", Status.UNKNOWN)
    assert (result.decomposed, result.options.cutoff) == (3_025_473, 3666)


def read_shop(folder):
    lines = (folder / "shop.txt").read_text().splitlines()[1:]
    return [[int(word) for word in line.split()] for line in lines]
