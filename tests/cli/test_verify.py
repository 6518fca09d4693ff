from __future__ import annotations

import json
import sys

import pytest
from distributed import LocalCluster

from dpbb.proof.certificate import Certificate
from tests.processes import run

pytestmark = pytest.mark.cluster


def test_a_proof_is_certified_and_verified(dpbb, tmp_path):
    path = tmp_path / "ta016.json.gz"
    ran = dpbb("solve", "ta016", "--cutoff", "1397", "--certificate", path, "--quiet")
    assert ran.code == 0
    ran = dpbb("verify", path)
    assert ran.code == 0
    assert "verdict     proved again" in ran.out
    for engine in ("reference", "pool"):
        ran = dpbb("verify", path, "--engine", engine, "--json")
        found = json.loads(ran.out)
        assert found["ok"]
        assert f"by {engine}," in found["checks"][-1]["found"]

    program = tmp_path / "checker.py"
    program.write_text(dpbb("verify", "--print-checker").out)
    ran = run(sys.executable, "-I", program, path)
    assert "proved again: the whole tree" in ran.stdout

    assert "def prove(" in dpbb("verify", "--print-prover").out
    assert "def shop_of(" in dpbb("verify", "--print-check-shops").out

    ran = dpbb("verify", path, "--draws", "0")
    assert ran.code == 3
    assert "not checked enough" in ran.out
    ran = dpbb("verify", path, "--instance", "ta017")
    assert ran.code == 1
    assert "expected the digest of yours" in ran.out
    ran = dpbb("verify", path, "--instance", "VFR10_5_1", "--data", tmp_path / "none")
    assert ran.code == 2
    assert "VFR10_5_1" in ran.err


def test_several_certificates_are_counted_by_verdict(dpbb, tmp_path):
    good, damaged, none = (tmp_path / name for name in ("good.json", "bad", "none"))
    solved = dpbb("solve", "ta030", "--cutoff", "2100", "--certificate", good, "-q")
    assert solved.code == 0
    damaged.write_text("{")
    ran = dpbb("verify", good, damaged, good, none)
    assert ran.code == 2  # what is damaged is graver than what is proved
    *proved, last = ran.out.splitlines()
    assert proved == [f"proved again: {good}"] * 2
    assert last == "4 certificates: 2 proved again, 2 no certificate, or damaged"
    assert [str(path) in ran.err for path in (damaged, none)] == [True, True]

    content = Certificate.read(good).content
    content["totals"]["decomposed"] += 1
    Certificate(content).write(damaged)
    ran = dpbb("verify", good, damaged, "--json")
    assert ran.code == 1
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert [row["certificate"] for row in rows] == [str(good), str(damaged)]
    assert [row["ok"] for row in rows] == [True, False]
    ran = dpbb("verify", good, good, "--finer", tmp_path / "finer")
    assert ran.code == 2
    assert "--finer: expected one certificate with it, got 2" in ran.err


def test_the_whole_tree_is_explored_again_on_a_cluster(dpbb, tmp_path):
    path = tmp_path / "ta016.json.gz"
    dpbb("solve", "ta016", "--cutoff", "1397", "--certificate", path, "--quiet")
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with LocalCluster(dashboard_address=None, **options) as cluster:
        address = cluster.scheduler_address
        ran = dpbb("verify", path, "--all", "--scheduler", address)
        assert ran.code == 0, ran.out
        assert "by a cluster" in ran.out
        assert "verdict     proved again" in ran.out

        content = Certificate.read(path).content
        content["units"][-1][1] += 1
        content["totals"]["decomposed"] += 1
        Certificate(content).write(path)
        ran = dpbb("verify", path, "--all", "--scheduler", address)
        assert ran.code == 1
    assert dpbb("verify", path, "--scheduler", address).code == 2
