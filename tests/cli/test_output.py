"""Where commands write: nothing is lost, left behind or removed that was not theirs."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dpbb.errors import EngineUnavailable
from tests.processes import run

NOTHING_BELOW = ("solve", "ta001", "--cutoff", "1000", "-q")
"""Ends without a schedule."""

FULL = Path("/dev/full")

needs_full = pytest.mark.skipif(not FULL.exists(), reason="needs a /dev/full")


def kind(path):
    return stat.S_IFMT(path.lstat().st_mode)


@pytest.fixture
def device(tmp_path):
    path = tmp_path / "nul"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.open("w").close()
    except OSError as error:
        pytest.skip(f"needs a device node: {error}")
    return path


@pytest.mark.cluster
def test_what_was_there_stays_when_there_is_no_schedule(dpbb, tmp_path):
    empty, link = tmp_path / "empty", tmp_path / "link"
    empty.touch()
    link.symlink_to(empty)
    for path in (empty, link):
        ran = dpbb(*NOTHING_BELOW, "--output", path)
        assert (ran.code, ran.err) == (0, f"dpbb: no schedule to write to {path}\n")
    assert kind(link) == stat.S_IFLNK
    assert empty.read_bytes() == b""


@pytest.mark.cluster
def test_a_device_stays(dpbb, device):
    assert dpbb(*NOTHING_BELOW, "--output", device).code == 0
    assert kind(device) == stat.S_IFCHR
    order = " ".join(map(str, range(20)))
    assert dpbb("evaluate", "ta001", order, "--output", device).code == 0
    assert kind(device) == stat.S_IFCHR


@pytest.mark.parametrize(
    ("error", "code"), [(EngineUnavailable("no gpu"), 1), (KeyboardInterrupt(), 130)]
)
def test_nothing_is_left_by_a_failed_solve(dpbb, tmp_path, monkeypatch, error, code):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("dpbb.api.solve", fail)
    assert dpbb("solve", "ta001", "-q", "--output", tmp_path / "s.csv").code == code
    assert not list(tmp_path.iterdir())


@pytest.mark.cluster
@needs_full
def test_the_result_is_shown_though_its_schedule_cannot_be_written(dpbb):
    ran = dpbb("solve", "ta001", "-q", "--json", "--output", FULL)
    assert ran.code == 1
    assert ran.err == (
        "dpbb: error: /dev/full: cannot be written: No space left on device\n"
    )
    assert json.loads(ran.out)["makespan"] == 1278


@needs_full
@pytest.mark.parametrize(
    "arguments",
    [
        ("info", "ta001"),
        ("evaluate", "ta120", " ".join(map(str, range(500))), "--json"),  # > a buffer
    ],
    ids=lambda arguments: arguments[0],
)
def test_full_disk_under_standard_output_is_told(arguments):
    with FULL.open("w") as full:
        where = {"capture_output": False, "stdout": full, "stderr": subprocess.PIPE}
        done = run(sys.executable, "-m", "dpbb", *arguments, code=1, **where)
    said = "dpbb: error: standard output: cannot be written: No space left on device\n"
    assert done.stderr == said


def test_a_heuristic_at_work_is_not_torn_down():
    code = """
import atexit, threading
import dpbb.__main__ as program
wait = threading.Event().wait
threading.Thread(target=wait, daemon=True, name="dpbb-heuristics").start()
program.main = lambda: print("done", end="") or 7
atexit.register(print, "torn down")
program.run()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)  # noqa: S603
    assert (done.returncode, done.stdout) == (7, "done")


def test_closed_standard_output_is_no_error():
    assert run("sh", "-c", f"{sys.executable} -m dpbb info ta001 >&-").stderr == ""


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_letters_that_a_terminal_lacks_are_no_error(tmp_path, encoding):
    shop = tmp_path / "shop.json"
    shop.write_text(json.dumps({"times": [[3, 4], [1, 2]], "jobs": ["Вал", "Öse"]}))
    told = run(
        *(sys.executable, "-m", "dpbb", "heuristic", shop, "--json"),
        env={**os.environ, "PYTHONIOENCODING": encoding},
    ).stdout
    assert sorted(json.loads(told)["names"]["jobs"]) == ["Öse", "Вал"]


READERS = {
    "jobs": ("evaluate", "shop.csv", "jobs", "--output"),
    "result": ("evaluate", "shop.csv", "result", "--output"),
    "initial": ("solve", "shop.csv", "--initial", "initial", "--output"),
    "order": ("solve", "shop.csv", "--tuning", "root_order=order", "--certificate"),
    "config": ("solve", "shop.csv", "--config", "config", "--output"),
    "start": ("heuristic", "shop.csv", "--initial", "start", "--output"),
    "shop.csv": ("submit", "shop.csv", "--scheduler", "tcp://h:1", "--certificate"),
    "named": ("solve", "shop.csv", "--config", "names", "--output"),
    "VFR10_5_1_Gap.txt": ("solve", "VFR10_5_1", "--data", ".", "--certificate"),
    "plan.html": ("plot", "plan.html", "--output"),
    "toml": ("submit", "shop.csv", "--config", "toml", "--certificate"),
}
"""What is read, and the command that does."""


@pytest.mark.parametrize("file", READERS)
def test_what_is_read_is_not_written_over(dpbb, tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    Path("shop.csv").write_text("3,2\n1,4\n2,2\n")
    texts = {
        "result": '{"permutation": [0, 1, 2]}',
        "shop.csv": "3,2\n1,4\n2,2\n",
        "config": "[solve]\nworkers = 0\n",
        "plan.html": '[{"gpus": 1, "nodes_per_s": 1}]',
        "VFR10_5_1_Gap.txt": "10 5\n" + 10 * "0 1 1 2 2 3 3 4 4 5\n",
        "toml": '[solve]\nscheduler = "tcp://h:1"\n',
    }
    text = texts.get(file, "0,1,2")
    Path(file).write_text(text)
    Path("names").write_text('[solve]\ninitial = "named"\n')
    ran = dpbb(*READERS[file], f"./{file}")
    assert (ran.code, Path(file).read_text()) == (2, text)
    assert f"{READERS[file][-1]}: expected another file than {file}" in ran.err


def test_what_standard_input_is_redirected_from_is_not_written_over(tmp_path):
    shop, text = tmp_path / "shop.csv", "3,2\n1,4\n2,2\n"
    shop.write_text(text)
    command = [sys.executable, "-m", "dpbb", "evaluate", "-", "0,1,2"]
    for output, code in ((shop, 2), (tmp_path / "plan.csv", 0)):
        with shop.open() as file:
            done = run(*command, "--output", output, stdin=file, code=code)
        assert shop.read_text() == text
        assert bool(code) == ("--output: expected another file" in done.stderr)
    assert output.exists()


def test_a_report_is_not_written_over_records(dpbb, tmp_path):
    record = tmp_path / "done/records/ta001.json"
    record.parent.mkdir(parents=True)
    record.write_text("{}")
    out = tmp_path / "done/out.csv"
    for files, message in (
        ([record], "expected another file than those in"),
        ([record.with_name("new.json")], "expected another file than those in"),
        ([out, out], "expected another file than"),
        ([tmp_path / "no/out.csv"], "expected a file that can be written, got"),
    ):
        written = [word for file in files for word in ("--write", file)]
        ran = dpbb("report", tmp_path / "done", *written)
        assert ran.code == 2
        assert f"--write: {message}" in ran.err
    assert record.read_text() == "{}"
    assert not out.exists()
