"""Runs that are left to themselves: submit, list, attach, stop, save, resume."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from distributed import Client

import dpbb as package
from dpbb.cluster.client.connect import VARIABLES
from tests.cluster.support import local_cluster, permutations_of, wait_until
from tests.processes import dask_processes

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def cluster():
    """A cluster that outlives the commands."""
    with local_cluster(threads=2) as (cluster, _):
        yield cluster


@pytest.fixture
def address(cluster, monkeypatch):
    """Its address, which the commands take from the environment."""
    monkeypatch.setenv("DPBB_SCHEDULER", cluster.scheduler_address)
    return cluster.scheduler_address


def submit(dpbb, *options):
    ran = dpbb("submit", *options, "--json", "--quiet")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["run_id"]


def explored(client, run_id):
    """Whether a run has reported nodes."""
    return any(run.run_id == run_id and run.decomposed for run in package.runs(client))


def test_a_run_goes_on_without_its_client(dpbb, address):
    """Submitted, listed, attached to: the full result, as if solved here."""
    run_id = submit(dpbb, "ta016", "--cutoff", "1397", "--engine", "cpu")
    ran = dpbb("attach", run_id[:8], "--json")
    assert ran.code == 0
    result = json.loads(ran.out)
    assert result["status"] == "infeasible_cutoff"
    assert (result["decomposed"], result["leaves"]) == (1_586, 0)
    assert result["instance"] == "ta016"
    assert result["options"]["cutoff"] == 1397
    # who asks later is told the same time
    later = json.loads(dpbb("attach", run_id, "--json").out)
    assert later["seconds"] >= later["tree_seconds"] == result["tree_seconds"] > 0
    listed = dpbb("list").out.splitlines()
    assert listed[0].split()[:3] == ["run", "instance", "state"]
    row = next(line for line in listed if line.startswith(run_id))
    assert row.split()[1:6] == ["ta016", "nothing", "below", "1,397,", "proved"]
    rows = [json.loads(line) for line in dpbb("list", "--json").out.splitlines()]
    assert run_id in {row["run_id"] for row in rows}


def test_stop_and_save_and_resume(dpbb, address, tmp_path):
    folder, file = tmp_path / "run", tmp_path / "saved.dpbb"
    run_id = submit(
        dpbb, "ta056", "--cutoff", "3679", "--engine", "cpu", "--checkpoint", folder
    )
    with Client(address) as client:
        wait_until(lambda: explored(client, run_id))
    ran = dpbb("save", run_id, file)
    assert (ran.code, file.exists()) == (0, True), ran.err
    ran = dpbb("save", run_id)
    assert "checkpoint-000001.dpbb in" in ran.out
    ran = dpbb("save", run_id, tmp_path / "nothing" / "saved.dpbb")
    assert ran.code == 2
    assert "nothing/saved.dpbb: No such file or directory" in ran.err
    assert not (tmp_path / "nothing").exists()
    ran = dpbb("stop", run_id, "--json")
    stopped = json.loads(ran.out)
    assert stopped["termination"] == "stopped"
    assert dpbb("save", run_id, file).code == 1
    ran = dpbb("resume", file, "--time-limit", "1", "--json", "--quiet")
    assert ran.code == 4
    assert json.loads(ran.out)["seconds"] > 1
    ran = dpbb("resume", folder, "--branching", "front")
    assert (ran.code, "branching: expected minmin" in ran.err) == (2, True)


def test_stop_says_that_the_state_was_not_saved(dpbb, address, tmp_path):
    """What was found is there all the same; where nothing can go on is an error."""
    folder = tmp_path / "run"
    run_id = submit(
        dpbb, "ta056", "--cutoff", "3679", "--engine", "cpu", "--checkpoint", folder
    )
    with Client(address) as client:
        wait_until(lambda: explored(client, run_id))
    shutil.rmtree(folder)
    folder.write_text("in the way")
    ran = dpbb("stop", run_id, "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["termination"] == "stopped"
    assert str(folder) in ran.err


@pytest.mark.slow
def test_a_scheduler_that_dies_is_an_error_without_a_traceback(dpbb):
    with dask_processes(0) as processes:
        wait_until(lambda: dpbb("list", "--scheduler", processes.address).code == 0)
        tree = ("ta056", "--cutoff", "3679", "--engine", "cpu")
        run_id = submit(dpbb, *tree, "--scheduler", processes.address)
        command = ["attach", run_id, "--scheduler", processes.address]
        attached = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "dpbb", *command, "--progress", "plain"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert attached.stderr.readline()  # it waits for a worker, and says so
        processes.end(processes.scheduler)
        _, err = attached.communicate(timeout=60)
    assert attached.returncode == 5
    last = err.splitlines()[-1]
    assert last.startswith("dpbb: error: ")
    assert processes.address in last
    assert "Traceback" not in err


def test_every_command_uses_the_variable(dpbb, cluster, monkeypatch, tmp_path):
    """And says which cluster it is, where there could be another one."""
    name = VARIABLES[-1]
    monkeypatch.setenv(name, cluster.scheduler_address)
    tree = ("ta016", "--cutoff", "1397", "--engine", "cpu")
    line = f"cluster {cluster.scheduler_address}: ${name}"
    plain, run = ("--progress", "plain"), tmp_path / "run"
    for words in (
        ("solve", *tree, *plain, "--checkpoint", run),
        ("resume", run, *plain),
        ("campaign", *tree, "-o", tmp_path / "campaign"),
        ("heuristic", "ta016", "--iterations", "1", *plain),
    ):
        ran = dpbb(*words)
        assert (ran.code, line in ran.err) == (0, True), ran.err
    run_id = submit(dpbb, *tree)
    assert json.loads(dpbb("attach", run_id, "--json").out)["decomposed"] == 1_586


SHOP = "2,3\n1,4\n3,1\n2,2\n4,1\n1,1\n3,3\n"
"""Processing times of 7 jobs on 2 machines; hundreds of orders are optimal."""


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text(SHOP)
    return path


def test_all_optima_are_there_for_whoever_comes_later(dpbb, address, shop, tmp_path):
    """Also after others have read them."""
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    run_id = submit(dpbb, shop, "--all-optima", "--engine", "cpu")
    results = [
        json.loads(dpbb("attach", run_id, "--json", *options, "-q").out)
        for options in ((), ("--optima-file", first), ("--optima-file", second), ())
    ]
    listed = {" ".join(map(str, jobs)) for jobs in results[0]["optima"]}
    assert len(listed) == results[0]["n_optima"] > 100
    assert results[0]["n_optima_listed"] == len(listed)
    assert permutations_of(first) == permutations_of(second) == listed
    assert results[1]["n_optima_written"] == len(listed)
    assert results[1]["options"]["optima_file"] == str(first)
    assert results[3]["optima"] == results[0]["optima"]
    ran = dpbb("attach", run_id, "--optima-file", first, "-q")
    assert f"optima       {len(listed)}; all of them in {first}\n" in ran.out


def test_attach_writes_the_certificate(dpbb, address, tmp_path, monkeypatch):
    """Where the run was told to have it, or where attach is told."""
    monkeypatch.chdir(tmp_path)
    options = ("ta016", "--cutoff", "1397", "--engine", "cpu", "--certificate", "a.gz")
    run_id = submit(dpbb, *options)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    ran = dpbb("attach", run_id, "-q")
    assert (ran.code, list(elsewhere.iterdir())) == (0, [])
    assert f"certificate {tmp_path / 'a.gz'}" in ran.err
    assert dpbb("verify", tmp_path / "a.gz").code == 0
    assert dpbb("attach", run_id, "-q", "--certificate", "b.gz").code == 0
    assert dpbb("verify", elsewhere / "b.gz").code == 0
