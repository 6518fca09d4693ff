"""Formats are what they were: the files of ``tests/data/formats`` are read.

``shop.txt`` is the 11 x 5 shop of ``certificate.json`` and of ``open-all-optima``, a
run with MinBranch, the jobs' order reversed and the reference engine; ``open-flowshop``
is one of ta056 below a cutoff, ``result.json`` the result of it when it was stopped.
Whoever changes a format raises its schema, and writes them anew.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import dpbb
from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.coordination.messages import FullReport, Lease, Order, OrderKind, Report
from dpbb.coordination.wire import encode
from dpbb.engines.base import Candidate
from dpbb.options import BranchingRule
from dpbb.result import Status, Termination
from dpbb.tree.work_unit import WorkUnit

DATA = Path(__file__).parents[1] / "data" / "formats"

pytestmark = pytest.mark.cluster


@pytest.fixture
def folder(tmp_path):
    """A copy: a run that goes on writes into the folder that it came from."""
    return shutil.copytree(DATA, tmp_path / "formats")


def test_a_checkpoint_goes_on_to_the_end(folder):
    """A solve from the start finds this optimum, and as many permutations of it."""
    source = str(folder / "open-all-optima")
    saved = load_checkpoint(source)
    assert saved.totals.nodes == 8_383
    assert saved.spec.tree.branching is BranchingRule.MINBRANCH
    assert saved.spec.tree.root_order == tuple(range(10, -1, -1))
    assert saved.spec.engine == "reference"
    result = dpbb.resume(source, engine="cpu", progress="none")
    assert result.status is Status.OPTIMAL
    assert (result.makespan, result.n_optima) == (525, 15_004)
    assert len(set(result.optima)) == 15_004
    lines = (folder / "shop.txt").read_text().splitlines()[1:]
    times = [[int(word) for word in line.split()] for line in lines]
    best = result.optima[:100]
    assert {dpbb.evaluate(times, order).makespan for order in best} == {525}


def test_a_checkpoint_of_the_cpu_engine_goes_on(folder):
    source = str(folder / "open-flowshop")
    saved = load_checkpoint(source)
    assert saved.spec.problem.digest == dpbb.read_instance("ta056").digest
    assert (saved.cutoff, saved.totals.decomposed) == (3666, 3_463_224)
    result = dpbb.resume(source, node_limit=4_000_000, engine="cpu", progress="none")
    assert result.decomposed >= 4_000_000
    assert result.termination is Termination.NODE_LIMIT
    assert result.instance == "ta056"
    assert result.certificate is None


def test_a_result_is_read():
    result = dpbb.Result.from_json((DATA / "result.json").read_text("utf-8"))
    assert (result.instance, result.status) == ("ta056", Status.UNKNOWN)
    assert (result.decomposed, result.options.cutoff) == (3_463_224, 3666)


def test_a_certificate_is_verified():
    found = dpbb.verify(DATA / "certificate.json")
    assert found.verdict == "proved again"


MESSAGES = {
    "lease": Lease("run/1.2", WorkUnit.from_paths(5, [(0, 1), (0, 2, 1)]), 99),
    "order": Order(OrderKind.DONATE, 98, 64, 1.5, 60.0),
    "report": Report(
        lease="run/1.2",
        seq=3,
        decomposed=7,
        leaves=1,
        open_roots=1,
        least_lb=90,
        best=Candidate(97, np.arange(5)),
        explore_s=0.25,
        energy_j=12.5,
        full=FullReport(
            closed=np.array([0, 0, 3, 2**40, 0, 0]),
            remaining=WorkUnit.from_paths(5, [(0, 2, 1)]),
            last=True,
        ),
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_are_as_they_were(name):
    """Workers of one version talk to a scheduler of it alone; a file shows the form."""
    assert encode(MESSAGES[name]) == (DATA / f"{name}.msgpack").read_bytes()
