"""Which cluster a call uses: the same answer everywhere, and never a nested one."""

import os
import sys
from subprocess import PIPE, run

import dask
import pytest
from distributed import Client, LocalCluster, get_client, worker_client

import dpbb as package
from dpbb.cluster.client.connect import VARIABLES, placed, which_cluster
from dpbb.errors import OptionError
from dpbb.options import SolveOptions
from dpbb.progress import Progress
from tests.cluster.support import local_cluster

pytestmark = pytest.mark.cluster

SHOP = [[3, 2, 4], [1, 4, 2], [2, 2, 5], [4, 1, 1], [2, 5, 3], [1, 1, 6]]
QUICK = {"heuristics": "neh", "engine": "cpu", "strategy": "incumbent"}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


class Notes(Progress):
    """Takes the lines about clusters."""

    def __init__(self):
        self.lines = []

    def note(self, text):
        if text.startswith("cluster"):
            self.lines.append(text)


def solved(**how):
    """Explore a small tree; the lines about its cluster."""
    notes = Notes()
    result = package.solve("ta016", cutoff=1397, progress=notes, **QUICK, **how)
    assert result.decomposed == 1_586
    return notes.lines


def test_distributed_may_be_half_imported_by_another_thread():
    code = """
import sys, threading
from dpbb.cluster.client.connect import which_cluster
threading.Thread(target=lambda: __import__("distributed")).start()
while "distributed" not in sys.modules:
    pass
print(which_cluster().address)
"""
    command = [sys.executable, "-c", code]
    found = run(command, stdout=PIPE, text=True, check=True)  # noqa: S603
    assert found.stdout == "None\n"


def test_what_is_named_comes_before_the_current_client_and_the_variables(monkeypatch):
    first, second = "tcp://127.0.0.1:1", "tcp://127.0.0.1:2"
    assert which_cluster().address is None
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", second)
    assert str(which_cluster()) == f"{second}: ${VARIABLES[1]}"
    monkeypatch.setenv("DPBB_SCHEDULER", first)
    assert str(which_cluster()) == f"{first}: ${VARIABLES[0]}"
    _, options, line = placed(None, SolveOptions(scheduler=second))
    assert (options.scheduler, line) == (second, "")
    with dask.config.set({"scheduler-address": second}):
        assert which_cluster().address == first
        monkeypatch.delenv("DPBB_SCHEDULER")
        monkeypatch.delenv("DASK_SCHEDULER_ADDRESS")
        assert which_cluster().address == second
    assert which_cluster().address is None
    monkeypatch.setenv("DPBB_SCHEDULER", first)
    with local_cluster() as (cluster, client):
        assert which_cluster().address == first  # it is not Dask's current one
        assert placed(client, SolveOptions())[0] is client
        with client.as_current():
            found = which_cluster()
            assert (found.client, found.address) == (client, cluster.scheduler_address)
            _, options, line = placed(None, SolveOptions(workers=1))
            assert (options.scheduler, options.workers) == (None, 1)
            assert cluster.scheduler_address in line
    monkeypatch.setenv("DPBB_SCHEDULER", "nowhere")
    with pytest.raises(OptionError, match="DPBB_SCHEDULER: expected the address"):
        which_cluster()


def test_a_file_of_dask_names_it(tmp_path):
    """In a process that has not loaded Dask, and loads it for nothing else."""
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, comment in (one, ""), (other, "# "):
        folder.mkdir()
        text = f"{comment}scheduler-address: tcp://127.0.0.1:3\n"
        (folder / "own.yaml").write_text(text)
    code = (
        "import sys; from dpbb.cluster.client.connect import *; "
        "print(which_cluster().address, 'dask' in sys.modules)"
    )
    for folder, found in (
        (one, "tcp://127.0.0.1:3 True"),
        (other, "None False"),
        (tmp_path / "no", "None False"),
    ):
        environment = os.environ | {"DASK_CONFIG": str(folder)}
        ran = run(  # noqa: S603
            [sys.executable, "-c", code], env=environment, stdout=PIPE, text=True
        )
        assert ran.stdout == f"{found}\n"


def test_solve_uses_the_current_client_and_says_so():
    with local_cluster() as (cluster, client), client.as_current():
        (line,) = solved()
        assert cluster.scheduler_address in line
        assert "dpbb" in cluster.scheduler.extensions
        assert package.heuristic(SHOP, "neh", iterations=1).makespan
        (line,) = solved(workers=0)
        assert "workers" in line


def in_a_task():
    """Solve, within a task, without a word on where."""
    import dpbb
    from dpbb.cluster.local import embedded

    def nested(*_args, **_how):
        raise AssertionError("a cluster in a cluster")

    before, embedded.embedded_cluster = embedded.embedded_cluster, nested
    try:
        lines = solved()
        with pytest.raises(OptionError, match="within a Dask task"):
            dpbb.solve("ta016", cutoff=1397, checkpoint="nothing", **QUICK)
        with pytest.raises(OptionError, match="Dask task"):
            dpbb.submit("ta016", **QUICK)
        return lines
    finally:
        embedded.embedded_cluster = before


def with_the_workers_client():
    with worker_client() as client:
        return solved(client=client)


def with_its_client():
    """The only thread would wait for a task that waits for it."""
    return solved(client=get_client())


@pytest.mark.parametrize("processes", [False, True])
def test_within_a_task_no_cluster_is_started(processes, monkeypatch):
    monkeypatch.setenv(VARIABLES[0], "tcp://127.0.0.1:1")  # as deployments do
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": processes}
    options["dashboard_address"] = "127.0.0.1:0"
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        (line,) = client.submit(in_a_task, pure=False).result(100)
        assert "this process" in line
        for task in with_the_workers_client, with_its_client:
            assert client.submit(task, pure=False).result(100) == []
