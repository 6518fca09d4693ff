"""Bad input: exit code 2 and a message with what was expected and what came."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from dpbb.errors import ClusterError, InstanceError, OptionError

SHOP = "job,cut,weld\ndoor,3,2\nframe,1,4\n"

FILES = {
    "shop.csv": SHOP, "neg.csv": SHOP + "panel,2,-2\n", "bad.json": "{",
    "deep.json": "[" * 200_000, "empty.txt": "", "x.toml": "[solve]\nthreds = 2\n",
    "big.toml": f"[solve]\nthreads = 0x1{5000 * '0'}\n",
    "long.toml": f"[solve]\ntime_limit_s = 1{400 * '0'}\n",
    "s.csv": "position,job,machine,start,end\n0,0,0,3,1\n",
    "log.json": '{"run_id": "a"}\n',
    "rows.json": '{"rows": [{"gpus": 0, "nodes_per_s": 1}]}',
    "norows.json": '{"rows": []}', "optima.json": "[1]", "cert.json": "{}",
    "sol.txt": "1 2 x\n", "sol.json": "{", "one.txt": "0 1\n", "ones.txt": 225 * "0 ",
    "sequence.txt": 15 * "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 ", "empty.npy": "",
    "list.txt": "ta001\nnope\n", "sched.csv": "name,perm\n",
    "sched2.csv": "name,permutation\nta001,1 x\n", "camp/records/ta001.json": "{}",
    "camp3/records/ta001.json": "", "five.json": "5",
}  # fmt: skip

CASES = (Path(__file__).parents[1] / "data/bad_input.txt").read_text().splitlines()[1:]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.split(" | ")[1][:50])
def test_bad_input_has_its_exit_code_and_is_named(dpbb, tmp_path, monkeypatch, case):
    """Nothing is explored, and nothing is left behind."""
    code, words, said = case.split(" | ")
    monkeypatch.chdir(tmp_path)
    for folder in ("emptydir", "camp/records", "camp2/records", "camp3/records"):
        (tmp_path / folder).mkdir(parents=True)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "bin").write_bytes(b"\xff\xfe\x00")
    before = {path: path.stat().st_size for path in tmp_path.rglob("*")}
    ran = dpbb(*shlex.split(words))
    assert (ran.code, ran.out) == (int(code), "")
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert {path: path.stat().st_size for path in tmp_path.rglob("*")} == before


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
@pytest.mark.parametrize(
    "words",
    [
        ("info", "/dev/zero"),
        ("evaluate", "ta001", "/dev/zero"),
        ("solve", "ta001", "--initial", "/dev/zero"),
        ("campaign", "ta001", "-o", "{}", "--schedules", "/dev/zero"),
        ("jobshop", "evaluate", "ta01", "/dev/zero"),
    ],
)
def test_what_never_ends_is_not_read(dpbb, tmp_path, words):
    ran = dpbb(*(word.format(tmp_path / "out") for word in words))
    assert ran.code == 2
    assert "/dev/zero" in ran.err
    assert "a pipe or device" in ran.err


def test_missing_engine_is_an_error_not_bad_input(dpbb, monkeypatch):
    monkeypatch.setattr(
        "dpbb.engines.gpu.engine.GpuEngine.availability", lambda _: "broken driver"
    )
    ran = dpbb("solve", "ta001", "--engine", "gpu")
    assert (ran.code, ran.err) == (
        1,
        "dpbb: error: engine 'gpu' cannot run this here: no gpu: broken driver\n",
    )


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("address", "code"), [("tcp://127.0.0.1:9", 5), ("http://host:80", 1)]
)
def test_missing_scheduler_is_an_error_with_its_address(
    dpbb, monkeypatch, address, code
):
    """5: one may answer there when it is called again."""
    monkeypatch.setattr("dpbb.cluster.client.connect.CONNECT_S", 0.3)
    ran = dpbb("solve", "ta002", "--scheduler", address, "-q", "--heuristics", "neh")
    assert ran.code == code
    assert f"expected a Dask scheduler at {address}" in ran.err


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (None, 5, "No such file"),
        ("", 1, "no scheduler file: Expecting value"),
        ("{}", 1, "a file without an address"),
    ],
)
def test_bad_scheduler_file_is_an_error(dpbb, tmp_path, content, code, message):
    """Dask itself would wait until there is such a file."""
    file = tmp_path / "scheduler.json"
    if content is not None:
        file.write_text(content)
    ran = dpbb("solve", "ta002", "--scheduler", file, "-q", "--heuristics", "neh")
    assert ran.code == code
    assert f"expected a Dask scheduler at {file} (tls" in ran.err
    assert message in ran.err


# -- the same from Python --------------------------------------------------------------


def test_errors_are_also_the_builtin_ones():
    """``except ValueError`` around a solve takes bad input of every kind."""
    assert issubclass(InstanceError, ValueError)
    assert issubclass(OptionError, ValueError)
    assert not issubclass(ClusterError, ValueError)
