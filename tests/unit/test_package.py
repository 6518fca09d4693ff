from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import dpbb
from tests.processes import run

HEAVY = ("numpy", "numba", "distributed", "dask", "bokeh", "cupy", "pandas", "rich")
PROBE = """
import sys
before = set(sys.modules)
import {module}
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""


@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        *((name, set()) for name in ("dpbb", "dpbb.cli", "dpbb.__main__")),
        ("dpbb.engines, dpbb.jobshop, dpbb.flowshop.heuristics", {"numpy"}),
        ("dpbb.engines.gpu.session", {"numpy"}),  # a worker's: Numba takes a second
    ],
)
def test_import_loads_no_solver(module, allowed):
    """It is quick because it imports nothing heavy: no clock needed."""
    probe = PROBE.replace("{module}", module)
    loaded = run(sys.executable, "-c", probe).stdout.split()
    assert "dpbb" in loaded
    assert set(HEAVY) & set(loaded) == allowed


def test_every_public_name_is_there():
    for name in dpbb.__all__:
        assert getattr(dpbb, name).__name__ == name
    assert set(dpbb.__all__) <= set(dir(dpbb))
    assert not {"Any", "logging"} & set(dir(dpbb))


def test_modules_that_the_reference_names_need_no_import_of_their_own():
    probe = "import dpbb; dpbb.errors.OptionError, dpbb.problem.Problem"
    probe += "; dpbb.problems.register, dpbb.progress.Progress, dpbb.plotting.gantt"
    run(sys.executable, "-c", f"{probe}; dpbb.heuristics.OwnHeuristic")


def test_job_shops_are_imported_when_they_are_asked_for():
    probe = "import dpbb; print(dpbb.jobshop.load('ta01').n_operations)"
    assert run(sys.executable, "-c", probe).stdout == "225\n"


def test_import_installs_no_log_handler():
    probe = "import logging, dpbb; print(*logging.getLogger('dpbb').handlers)"
    assert run(sys.executable, "-c", probe).stdout == "<NullHandler (NOTSET)>\n"


def test_no_module_imports_a_part_of_numba_before_numba():
    """Else two threads fail that import Numba at a time, such as a starting worker's.

    Of the two, one holds the part and waits for Numba, the other the reverse; Python
    then lets one of them go on with half of it.
    """
    first = {}
    for file in Path(dpbb.__file__).parent.rglob("*.py"):
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        found = [one for one in nodes if isinstance(one, ast.Import | ast.ImportFrom)]
        for node in sorted(found, key=lambda one: one.lineno):
            names = [one.name for one in node.names]
            names = [str(node.module)] if isinstance(node, ast.ImportFrom) else names
            for name in names:
                if name.partition(".")[0] == "numba":
                    first.setdefault(str(file), name)
    assert len(first) > 5
    assert {file: name for file, name in first.items() if name != "numba"} == {}


def test_a_system_without_locks_of_files_is_refused_at_once():
    """Windows: one sentence, not an error from the depth of some command."""
    code = "import sys; sys.modules['fcntl'] = None; import dpbb"
    last = run(sys.executable, "-c", code, code=1).stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: dpbb runs on Linux and macOS")
