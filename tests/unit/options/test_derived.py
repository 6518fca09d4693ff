"""What is written from the options table, and the types that users' code sees."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from dpbb.options import OPTIONS, RunOptions, SolveOptions

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def maker():
    """Return ``docs/make_options.py`` as a module."""
    path = ROOT / "docs/make_options.py"
    found = importlib.util.spec_from_file_location("make_options", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_types_and_the_reference_follow_from_the_table(maker):
    """If not: run ``python docs/make_options.py``."""
    assert maker.DERIVED.read_text(encoding="utf-8") == maker.derived()
    page = maker.PAGE.read_text(encoding="utf-8")
    assert page == maker.page()
    assert all(f"| `{name}`<br>" in page for name in OPTIONS)


def test_options_reach_the_run():
    """With their own defaults, which are those of the table, and their own values."""
    assert RunOptions() == RunOptions.of(SolveOptions())
    found = RunOptions.of(SolveOptions(node_limit=7, all_optima=True))
    assert found == RunOptions(node_limit=7, all_optima=True)


def test_types_of_the_options_are_types():
    """As a name that is nowhere defined would only be found by a checker."""
    hints = get_type_hints(SolveOptions)
    assert list(hints) == list(OPTIONS)


GOOD = """
import numpy as np
import dpbb
from dpbb.options import EngineName

result: dpbb.Result = dpbb.solve(
    "ta001", time_limit_s=3, engine="cpu", initial=np.arange(20),
    tuning={"root_order": [1, 0]}, progress="none", checkpoint=None,
)
options = dpbb.SolveOptions(engine=EngineName.CPU, progress="plain", threads=2)
options = options.replace(tuning=dpbb.Tuning(balance="steal"))
run: dpbb.Run
with dpbb.submit([[1, 2], [3, 4]], options=options, gap_limit=0.5) as run:
    snapshot: dpbb.Snapshot = run.snapshot()
    again: dpbb.Result = run.result()
result = dpbb.resume("folder", upper_bound=7, progress="json")
estimate: dpbb.Estimate = dpbb.estimate("ta001", branching="maxsum", threads=1)
makespan: int = dpbb.evaluate([[1, 2], [3, 4]], [1, 0]).makespan


async def prove(client: object) -> dpbb.Result:
    result = await dpbb.asynchronous(dpbb.solve)("ta001", client=client, node_limit=3)
    run = await dpbb.asynchronous(dpbb.submit)("ta001", client=client)
    run = await dpbb.asynchronous(dpbb.attach)("3f", client)
    snapshots = await dpbb.asynchronous(dpbb.runs)(client)
    assert snapshots[0].run_id == run.run_id
    result = await dpbb.asynchronous(run.result)(timeout=3)
    return await dpbb.asynchronous(dpbb.resume)("x", client=client) or result
"""

BAD = """
import dpbb

dpbb.solve("ta001", time_limt_s=3)
dpbb.solve("ta001", engine="cpuu")
dpbb.solve("ta001", time_limit_s="3")
dpbb.solve("ta001", initial="0 1 2")
dpbb.solve("ta001", progress="loud")
dpbb.submit("ta001", balance="steal")
dpbb.resume("folder", treads=3)
dpbb.estimate("ta001", time_limit_s=3)
dpbb.SolveOptions(branching="best")
dpbb.SolveOptions().replace(thread=2)
dpbb.solve("ta001").makspan
dpbb.attach("3f", None).snapshott()
dpbb.attach("3f", None).result().makspan
dpbb.attach("3f", None).snapshot().values
dpbb.asynchronous(dpbb.solve)("ta001", engin="cpu")
"""


def test_a_checker_takes_what_is_right_and_refuses_what_is_not(tmp_path):
    """Every wrong line of a user's files has its error, and only those.

    What the checker knows of dpbb from its last run here is used, with the options of
    that run: then it takes a second.
    """
    pytest.importorskip("mypy")
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    known = ["--config-file", ROOT / "pyproject.toml"]
    known += ["--cache-dir", ROOT / ".mypy_cache"]
    found = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "mypy", *known, "good.py", "bad.py"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert found.returncode == 1, found.stdout
    errors = {
        tuple(line.split(":")[:2])
        for line in found.stdout.splitlines()
        if ": error:" in line
    }
    wrong = {n for n, line in enumerate(BAD.splitlines(), 1) if "dpbb." in line}
    assert errors == {("bad.py", str(n)) for n in wrong}
