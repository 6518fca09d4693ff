"""The checker's own costs and bounds of shops with features: node for node."""

from __future__ import annotations

import gzip
import json
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

import dpbb
from dpbb.flowshop.shop import OBJECTIVES
from dpbb.problem import with_ends
from dpbb.proof import checker
from tests.models import HERE
from tests.processes import run
from tests.quick import one_in

PROGRAM = Path(checker.__file__)
N, M = 5, 3
SHOPS = (
    "plain", "release", "blocking", "buffers", "setups", "not anticipatory", "lags",
    "unlimited",
)  # fmt: skip


def shop_of(objective, feature, seed, n=N):
    """A random shop, with zeros and ties."""
    rng = np.random.default_rng(seed)
    given = {
        "plain": {},
        "release": {"release": rng.integers(0, 20, n).tolist()},
        "blocking": {"blocking": True},
        "buffers": {"buffers": [1, 0]},
        "setups": {"setups": rng.integers(0, 9, (n + 1, n, M))},
        "not anticipatory": {
            "setups": rng.integers(0, 9, (n, n)), "anticipatory": False,
        },
        "lags": {"lags": rng.integers(0, 9, (n, M - 1))},
        "unlimited": {"unlimited": [seed % M]},
    }[feature]  # fmt: skip
    kind = OBJECTIVES[objective]
    if kind.dated:
        given["due"] = rng.integers(0, 45, n).tolist()
    if kind.weighted:
        given["weights"] = rng.integers(0, 5, n).tolist()
    return dpbb.FlowShop(rng.integers(0, 9, (n, M)), objective=objective, **given)


def certified(shop, path, **options):
    dpbb.solve(shop, certificate=str(path), **HERE, **options)
    with gzip.open(path, "rt") as file:
        return json.load(file)


def checked(certificate):
    """Return the verdict of plain Python."""
    args = Namespace(
        instance=None, seed=1, threads=1, nodes=10**6, draws=5, all=False
    )  # fmt: skip
    try:
        return checker.check(certificate, args, fast=False)
    except checker.Failed as error:
        return checker.FALSE, str(error)


@pytest.mark.parametrize(("objective", "feature"), one_in(2, OBJECTIVES, SHOPS))
def test_trees_are_the_same(tmp_path, objective, feature):
    for seed in range(3):
        shop = shop_of(objective, feature, seed)
        path = tmp_path / f"{seed}.json.gz"
        best = dpbb.solve(shop, **HERE).makespan
        # one bound from the start: counts are exact
        certificate = certified(shop, path, cutoff=best)
        assert certificate["totals"]["decomposed"] >= 0
        assert checked(certificate)[0] == checker.PROVED
        part = certificate["units"][0]
        certificate = certified(shop, path, upper_bound=best + 1, all_optima=True)
        assert checked(certificate)[0] == checker.PROVED, part


@pytest.mark.parametrize("feature", SHOPS)
@pytest.mark.parametrize("objective", ["makespan", "max-tardiness", "total-tardiness"])
def test_given_ends_stay(tmp_path, objective, feature):
    shop = with_ends(shop_of(objective, feature, 5), [3], [0, 2])
    certificate = certified(shop, tmp_path / "x.json.gz")
    assert checked(certificate)[0] == checker.PROVED
    if (objective, feature) == ("makespan", "plain"):  # by the bound of the root
        found = dpbb.verify(str(tmp_path / "x.json.gz"), engine="reference")
        assert found.verdict == checker.PROVED
    order = certificate["result"]["permutation"]
    order[0], order[1] = order[1], order[0]
    verdict, text = checked(certificate)
    assert verdict == checker.FALSE
    assert "given jobs are not at the ends" in str(text)


def test_equal_jobs_are_those_that_may_be_exchanged(tmp_path):
    times, setups = [[3, 2], [3, 2], [4, 1], [3, 2]], np.arange(16).reshape(4, 4) % 5
    setups[1], setups[:, 1] = setups[0], setups[:, 0]
    setups[0, 1] = setups[1, 0] = 2
    np.fill_diagonal(setups, 0)
    shop = dpbb.FlowShop(times, setups=setups, objective="total-completion")
    certificate = certified(shop, tmp_path / "x.json.gz")
    assert certificate["tree"]["rule_version"] == 2
    assert checked(certificate)[0] == checker.PROVED


def test_what_is_not_known_here_is_not_refuted(tmp_path):
    shop = shop_of("makespan", "blocking", 1).with_bound("matching")
    certificate = certified(shop, tmp_path / "x.json.gz", cutoff=20)
    with pytest.raises(checker.Unchecked, match="not known here"):
        checked(certificate)
    wide = dpbb.FlowShop(np.ones((2, 101), int), objective="total-completion")
    certificate = certified(wide, tmp_path / "y.json.gz")
    assert checked(certificate)[0] == checker.PROVED
    del certificate["tree"]
    with pytest.raises(checker.Unchecked, match="no tree"):
        checked(certificate)


def test_it_says_which_problem_is_proved(tmp_path, capsys):
    shop = shop_of("max-tardiness", "setups", 1)
    checked(certified(shop, tmp_path / "x.json.gz"))
    assert "problem  'max-tardiness' with due, setups;" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("where", "what", "why"),
    [
        (("instance", "dates", "due", 0), 999, "digest"),
        (("instance", "setups", 0, 1, 0), 0, "digest"),
        (("instance", "setups"), [[[1]]], "expected setups of a shop"),
        (("instance", "objective"), "makespan", "expected dates"),
        (("instance", "anticipatory"), True, "anticipatory false"),
        (("instance", "lags"), [[0, 0]] * N, "do not go together"),
        (("instance", "strange"), 1, "unknown entries"),
        (("tree", "branching"), "minmin", "from the front"),
        (("totals", "decomposed"), 7, "not the totals"),
        (("result", "makespan"), 0, "costs"),
        (("result", "objective"), "makespan", "expected total tardiness"),
    ],
)
def test_what_was_changed_does_not_hold(tmp_path, where, what, why):
    shop = shop_of("total-tardiness", "setups", 4)
    certificate = certified(shop, tmp_path / "x.json.gz")
    assert checked(certificate)[0] == checker.PROVED
    *path, last = where
    inner = certificate
    for key in path:
        inner = inner[key]
    inner[last] = what
    verdict, text = checked(certificate)
    assert verdict == checker.FALSE
    assert why in str(text)


def test_the_program_says_what_it_needs_and_compiles_it(tmp_path):
    path = tmp_path / "x.json.gz"
    certified(shop_of("weighted-tardiness", "release", 1, n=7), path)
    alone = tmp_path / "checker.py"
    alone.write_text(PROGRAM.read_text())
    command = sys.executable, "-I", alone, path
    assert f"needs {tmp_path / 'check_shops.py'}" in run(*command, code=3).stdout
    other = PROGRAM.with_name("check_shops.py").read_text()
    (tmp_path / "check_shops.py").write_text(other)
    assert "proved again" in run(*command).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("objective", "feature"),
    [
        ("makespan", "setups"),
        ("max-tardiness", "blocking"),
        ("weighted-late-jobs", "lags"),
    ],
)
def test_compiled_it_finds_the_same(tmp_path, objective, feature):
    certificate = certified(shop_of(objective, feature, 2, n=8), tmp_path / "x.json.gz")
    shop = checker.check_instance(certificate)
    whole = checker.parts_of(certificate["units"], len(shop.times))
    jobs = [(whole[0], whole[0].ubs[1], 10**9)]
    trees = (checker.Tree(shop, certificate["tree"], fast=fast) for fast in (0, 1))
    found = [[*tree.explore_all(jobs)] for tree in trees]
    assert found[0] == found[1]
