"""A test that hangs ends, wherever it does."""

import os
import sys
from pathlib import Path

import pytest

from tests.processes import run

ROOT = Path(__file__).parents[2]

STUBBORN = """
import threading, pytest

def hang():
    while True:  # catches what pytest-timeout raises
        try:
            threading.Event().wait()
        except BaseException:
            pass

@pytest.fixture
def fixture():
    if {where!r} == "setup":
        hang()
    yield
    if {where!r}.startswith("teardown"):
        hang()

def test_it(fixture):
    if {where!r} == "call":
        hang()
    if {where!r} == "teardown of what failed":
        assert False
"""


@pytest.mark.parametrize("where", ["setup", "call", "teardown of what failed"])
def test_its_process_is_ended_and_tells_where(tmp_path, where):
    file = tmp_path / "test_hanging.py"
    file.write_text(STUBBORN.format(where=where))
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-q"]
    command += ["-c", os.devnull, "--rootdir", str(tmp_path), "--timeout", "1"]
    done = run(*command, file, code=1, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert "Timeout (0:00:02)!" in done.stderr
    assert "in test_it" in done.stderr or "in fixture" in done.stderr
