"""Certificates of real runs hold; every change of one is found, by both checkers."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpbb
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.proof.verify import verify
from tests.unit.proof.conftest import SHOP, deal, run_certificate

FAST = {"engine": "reference", "verbosity": "quiet", "report_interval_s": 0.05}

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def original(folder):
    """Certificate of a run of two seats with donations, explored textbook-slowly."""
    path = folder / "run.json.gz"
    result = dpbb.solve(
        "ta014", cutoff=1377, engine="cpu", workers=2, report_interval_s=0.05,
        certificate=str(path), verbosity="quiet",
    )  # fmt: skip
    assert (result.decomposed, result.leaves) == (16_114, 13)
    return Certificate.read(path).content


def alone(content, tmp_path, *options):
    """Run the checker of one file, as somebody without dpbb does."""
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(content))
    return subprocess.run(  # noqa: S603
        [sys.executable, "-I", checker.__file__, path, "--seed", "1", *options],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("name", ["original", "optimal"])
def test_it_holds(name, request, tmp_path):
    content = request.getfixturevalue(name)
    found = verify(Certificate(content), engine="reference")
    assert found.verdict == checker.PROVED, found.summary()
    ran = alone(content, tmp_path, "--nodes", "30000")
    assert ran.returncode == 0, ran.stdout
    assert "proved again: the whole tree" in ran.stdout


def test_over_a_resume(tmp_path):
    """The books of all parts of a run are one."""
    folder, path = tmp_path / "run", tmp_path / "c.json.gz"
    options = {"engine": "cpu", "report_interval_s": 0.05, "verbosity": "quiet"}
    dpbb.solve(
        "ta028", cutoff=2200, node_limit=1_000_000, threads=1, checkpoint=str(folder),
        certificate=str(path), **options,
    )  # fmt: skip
    assert not path.exists()  # nothing is proved yet
    result = dpbb.resume(folder, workers=2, certificate=str(path), **options)
    assert result.decomposed == 14_523_872
    found = verify(path)
    assert found.verdict == checker.PROVED, found.summary()


def test_units_for_which_there_is_no_room_count_in_the_one_above(tmp_path, monkeypatch):
    monkeypatch.setattr("dpbb.coordination.journal.LISTED_BYTES", 1)
    path = tmp_path / "c.json.gz"
    dpbb.solve(
        "ta028", cutoff=2200, engine="cpu", workers=2, report_interval_s=0.05,
        certificate=str(path), verbosity="quiet",
    )  # fmt: skip
    content = Certificate.read(path).content
    assert len(content["units"]) == 1
    found = verify(path, nodes=1_000_000)
    assert found.verdict == checker.TOO_LITTLE, found.summary()
    found = verify(path)
    assert found.verdict == checker.PROVED, found.summary()
    content["units"][0][1] += 1
    assert not verify(Certificate(content)).ok


def test_the_checker_refuses_other_kinds_by_name(own, tmp_path):
    ran = alone(own, tmp_path)
    assert ran.returncode == checker.EXIT[checker.TOO_LITTLE]
    assert "expected a problem of kind flowshop-makespan, got 'own-shop'" in ran.stdout


def test_a_certificate_of_an_own_problem_holds(own, known_here):
    """Its subtrees are explored again by the reference engine, its cost is named."""
    found = verify(Certificate(own))
    assert found.ok, found.summary()
    assert "by reference" in found.checks[-1].found
    assert f"optimal, length {own['result']['makespan']}, lower" in found.summary()
    assert "makespan" not in found.summary()


def test_of_an_unknown_kind_the_books_alone_are_checked(own):
    found = verify(Certificate(own))
    assert not found.ok
    assert [check.ok for check in found.checks] == [True, True]
    assert found.verdict == checker.TOO_LITTLE
    own = copy.deepcopy(own)
    own["totals"]["decomposed"] += 1
    assert [check.ok for check in verify(Certificate(own)).checks] == [True, False]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda own: own["tree"].update(n_jobs=6), "expected jobs and trivial UB"),
        (lambda own: own["tree"].update(bound="lb9"), "got 'lb9'"),
        (lambda own: own["result"]["permutation"].reverse(), "the schedule costs"),
        (lambda own: own["instance"].update(digest="0"), "it is another one"),
        (lambda own: own["instance"].pop("rows"), "decoded, got KeyError"),
    ],
)
def test_every_change_of_it_is_found(change, message, own, known_here):
    content = copy.deepcopy(own)
    change(content)
    found = verify(Certificate(content))
    assert not found.ok
    assert message in found.checks[-1].found


def test_a_solve_without_a_proof_says_that_it_has_no_certificate(tmp_path, capsys):
    path = tmp_path / "proof.json.gz"
    dpbb.solve(SHOP, gap_limit=0.9, certificate=str(path), progress="plain")
    assert "no proof (gap_limit)" in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a /dev/full")
def test_the_result_is_not_lost_with_its_certificate():
    with pytest.raises(dpbb.UnwrittenError, match="/dev/full: cannot be") as raised:
        dpbb.solve(SHOP, heuristics="none", certificate="/dev/full", **FAST)
    result = raised.value.result
    assert result.status == "optimal"
    assert result.certificate is not None


@pytest.fixture(scope="module")
def equal(tmp_path_factory):
    """Certificate of a shop with three kinds of jobs, three of each, in any order."""
    rng = np.random.default_rng(8)
    times = np.repeat(rng.integers(1, 60, (3, 5)), 3, axis=0)
    rng.shuffle(times)
    folder = tmp_path_factory.mktemp("equal")
    content = run_certificate(folder, times, heuristics="none")
    assert content["schema"] == checker.SCHEMA
    return content


def test_a_tree_without_copies_of_equal_jobs_is_proved_again(equal, both):
    assert equal["tree"]["rule_version"] == 2
    assert both(equal)[0] == checker.PROVED
    assert both(deal(equal, equal["result"]["ub"]))[0] == checker.PROVED


def test_older_trees_of_equal_jobs_hold(equal, both):
    old = copy.deepcopy(equal)
    old["tree"]["rule_version"] = 1
    assert both(deal(old, equal["result"]["ub"]))[0] == checker.PROVED
    assert both(old)[0] == checker.FALSE  # it has not so many nodes


def without_equal_jobs(content):
    content["instance"]["times"] = SHOP.tolist()
    content["instance"]["digest"] = checker.digest_of(SHOP.tolist())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["tree"].update(root_order=None), "equal jobs side by side"),
        (lambda c: c["tree"]["root_order"].sort(), "equal jobs side by side"),
        (without_equal_jobs, "equal jobs side by side"),
        (lambda c: c["result"].update(all_optima=True), "not with all optima"),
    ],
)
def test_rules_for_equal_jobs_are_refused_where_they_are_not_for(
    change, message, equal, both
):
    content = copy.deepcopy(equal)
    change(content)
    verdict, text = both(content)
    assert verdict == checker.FALSE
    assert text.count(message) == 2, text
