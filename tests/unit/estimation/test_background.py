"""Estimates in a process of their own."""

from __future__ import annotations

import sys
import time

import numpy as np
import psutil
import pytest

from dpbb.errors import DpbbError
from dpbb.estimation import background
from dpbb.estimation.roots import RootSample
from dpbb.flowshop import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import BranchingRule, TreeOptions
from dpbb.tree.work_unit import WorkUnit
from tests.cluster.support import wait_until


@pytest.fixture(autouse=True)
def in_a_hurry():
    """Compiled before."""
    background.answer(request(seconds=1e-6))


def request(seconds=0.1, **tree):
    problem = FlowShopProblem(taillard_instance("ta014"))
    paths = [(v,) for v in range(20)]
    roots = RootSample.of(WorkUnit.from_paths(20, paths))
    return background.encode(problem, TreeOptions(**tree), 1377, roots, seconds, 0)


def test_the_process_answers_what_this_one_does():
    found = background.estimate_apart(request(seconds=1e-6), lambda: True)
    here = background.answer(request(seconds=1e-6))
    assert found == here
    assert 16_114 / 5 < found.nodes < 16_114 * 5
    assert found.low <= found.nodes <= found.high


def test_a_request_that_is_longer_than_a_pipe_arrives(monkeypatch):
    """Of many roots it is; the process reads long after the first look at it."""
    monkeypatch.setattr(background, "LOOK_S", 0.01)
    problem = FlowShopProblem(taillard_instance("ta111"))
    ub = problem.root_bound + 1
    paths = [(v, w) for v in range(60) for w in range(60)]
    roots = RootSample.of(WorkUnit.from_paths(500, paths))
    long = background.encode(problem, TreeOptions(), ub, roots, 1e-6, 0)
    assert len(long) > 65_536
    end = time.monotonic() + 60
    found = background.estimate_apart(long, lambda: time.monotonic() < end)
    assert found is not None
    assert found == background.answer(long)


def test_the_options_of_the_tree_travel():
    rules = {"branching": BranchingRule.MINBRANCH, "branching_ub": 1377}
    order = tuple(np.random.default_rng(0).permutation(20).tolist())
    found = background.answer(request(seconds=30, root_order=order, **rules))
    # 19,285 decomposed and 16 leaves, of which the tree's root is not below a child
    assert found.nodes == pytest.approx(19_300, rel=0.1)


def test_what_is_not_wanted_any_more_ends_at_once():
    asked = []

    def is_wanted():
        asked.append(True)
        return len(asked) < 2

    assert background.estimate_apart(request(seconds=600), is_wanted) is None
    assert len(asked) == 2


def test_a_process_that_fails_says_why():
    with pytest.raises(DpbbError, match=r"the estimate ended with 1: \w"):
        background.estimate_apart(b"nonsense", lambda: True)


@pytest.mark.skipif(sys.platform == "win32", reason="processes keep their parent there")
def test_the_process_ends_with_a_killed_one_that_waits_for_it(tmp_path):
    """An estimate of minutes would be nobody's."""
    problem = FlowShopProblem(taillard_instance("ta056"))
    roots = RootSample.of(WorkUnit.from_paths(50, [(v,) for v in range(50)]))
    long = background.encode(problem, TreeOptions(), 3679, roots, 1000, 0)
    (tmp_path / "request").write_bytes(long)
    asks = (
        "import pathlib, sys; from dpbb.estimation import background;"
        "request = pathlib.Path(sys.argv[1]).read_bytes();"
        "background.estimate_apart(request, lambda: True)"
    )
    command = [sys.executable, "-c", asks, str(tmp_path / "request")]
    asker = psutil.Popen(command)
    wait_until(asker.children)
    (child,) = asker.children()
    asker.kill()
    asker.wait()
    wait_until(lambda: not child.is_running() or child.status() == "zombie", 30)
