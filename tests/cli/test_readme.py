"""Every snippet of the README and of the tutorials runs as it is pasted."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from textwrap import indent

import pytest

from tests.processes import free_port, run
from tests.quick import some_slow

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.M | re.S)
PAGES = ("own-shop", "optimal"), ("proof", "proved again"), ("workstation", "status")

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]


def snippets(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


# 3 is the exit code of a search that a limit ended: its schedule is not proved
PROLOGUE = """\
set -o pipefail
trap 'code=$?; [ $code = 3 ] || { echo "exit code $code: $BASH_COMMAND"; exit 1; }' ERR
"""


def test_python_runs_as_pasted(tmp_path):
    """One session: what a snippet defines is there for those that follow."""
    program = "\n".join(snippets("python"))
    guarded = "if __name__ == '__main__':\n" + indent(program, "    ")
    (tmp_path / "session.py").write_text(guarded, encoding="utf-8")
    assert "optimal" in run(sys.executable, "session.py", cwd=tmp_path).stdout
    assert (tmp_path / "schedule.csv").is_file()


@pytest.mark.slow(ci=True)
@pytest.mark.skipif(os.name != "posix" or not shutil.which("bash"), reason="no bash")
def test_commands_run_as_pasted(tmp_path):
    """One shell, but for what installs dpbb and tests it.

    A cluster has a free port, and what takes as long as it is told has two seconds.
    """
    (tmp_path / "shop.csv").write_text(*snippets("text"), encoding="utf-8")
    commands = [text for text in snippets("bash") if "pip install" not in text]
    port = str(free_port())
    script = PROLOGUE + "\n".join(commands).replace("8786", port)
    script = script.replace("dask scheduler", f"dask scheduler --port {port}")
    script = re.sub(r"(--time|--time-limit|sleep) \d+", r"\1 2", script)
    with (tmp_path / "log").open("w") as log:  # a pipe ends with its last writer
        shell = subprocess.Popen(  # noqa: S603
            ["bash", "-c", script],  # noqa: S607
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            code = shell.wait(timeout=500)
        except subprocess.TimeoutExpired:
            code = run("ps", "-fs", str(shell.pid)).stdout
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
    said = (tmp_path / "log").read_text(encoding="utf-8")
    assert code == 0, said
    assert (tmp_path / "gantt.png").is_file()
    assert said.count("proved again") == 2  # by verify and by the checker


@pytest.mark.skipif(os.name != "posix" or not shutil.which("bash"), reason="no bash")
@pytest.mark.parametrize(("page", "said"), some_slow(PAGES, PAGES[1:]))
def test_a_tutorial_runs_as_pasted(page, said, tmp_path):
    """Blocks that are marked so, in one shell; Python is one program."""
    text = (ROOT / f"docs/{page}.md").read_text("utf-8")
    blocks = re.findall(r"^```{\.(\w+) \.run}\n(.*?)^```$", text, re.M | re.S)
    assert blocks
    cells = "".join(block for language, block in blocks if language == "python")
    guarded = f"if __name__ == '__main__':\n    pass\n{indent(cells, '    ')}"
    (tmp_path / "cells.py").write_text(guarded, encoding="utf-8")
    commands = [block for language, block in blocks if language == "bash"]
    told = "".join(commands) + f"{sys.executable} cells.py"
    assert said in run("bash", "-ec", told, cwd=tmp_path, timeout=900).stdout
