"""A process of dpbb's own executes no file that lies in the working directory."""

import sys

import pytest

from dpbb.cluster.local import process
from dpbb.estimation.background import encode, estimate_apart
from dpbb.estimation.roots import RootSample
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions
from dpbb.own_process import command_of
from dpbb.tree.work_unit import WorkUnit
from tests.processes import run


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A working directory full of files that leave a trace when they are executed."""
    folder = tmp_path / "trap"
    folder.mkdir()
    for name in ("html", "json", "base64", "tempfile", "socket", "runpy", "dpbb"):
        (folder / f"{name}.py").write_text(
            f"open({str(tmp_path / 'trace')!r}, 'a').write({name!r})\n"
        )
    monkeypatch.chdir(folder)
    return tmp_path / "trace"


def test_the_process_of_estimates(trap):
    problem = FlowShopProblem(taillard_instance("ta014"))
    roots = RootSample.of(WorkUnit.from_paths(20, [(v,) for v in range(20)]))
    request = encode(problem, TreeOptions(), 1377, roots, 0.05, 0)
    assert estimate_apart(request, lambda: True).nodes > 1
    assert not trap.exists()


def test_the_workers_of_the_embedded_cluster(trap):
    worker = process.launch()
    worker.stdin.close()
    assert worker.wait(60) == 0
    assert not trap.exists()


def test_arguments_and_paths_are_passed_on(tmp_path):
    (tmp_path / "shown.py").write_text("import sys, json; print(sys.argv[1:])\n")
    (tmp_path / "json.py").write_text("1 / 0\n")
    ran = run(*command_of("shown", "a", "b", paths=[str(tmp_path)]))
    assert ran.stdout.strip() == "['a', 'b']"
    assert ran.args[0] == sys.executable
