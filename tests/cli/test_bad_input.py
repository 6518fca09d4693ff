"""Bad input: exit code 2 and a message with what was expected and what came."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpbb as package
from dpbb.errors import ClusterError, InstanceError, OptionError

SHOP = "job,cut,weld\ndoor,3,2\nframe,1,4\n"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
@pytest.mark.parametrize(
    "words",
    [
        ("info", "/dev/zero"),
        ("evaluate", "ta001", "/dev/zero"),
        ("solve", "ta001", "--initial", "/dev/zero"),
        ("solve", "ta001", "--config", "/dev/zero"),
        ("campaign", "ta001", "-o", "{}", "--schedules", "/dev/zero"),
        ("plot", "/dev/zero", "--output", "{}.png"),
        ("jobshop", "info", "/dev/zero"),
        ("jobshop", "evaluate", "ta01", "/dev/zero"),
    ],
)
def test_what_never_ends_is_not_read(dpbb, tmp_path, words):
    ran = dpbb(*(word.format(tmp_path / "out") for word in words))
    assert ran.code == 2
    assert "/dev/zero" in ran.err
    assert "a pipe or device" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("prove", "ta001"), "invalid choice: 'prove'"),
        (("solve",), "the following arguments are required: INSTANCE"),
        (("solve", "ta121"), "expected ta001 to ta120, got 'ta121'"),
        (("solve", "no/file"), "neither such a name nor an existing file"),
        (("solve", "ta001", "--index", "1"), "index: expected a file of several"),
        (("solve", "ta001", "--index", "x"), "argument --index: invalid int value"),
        (("solve", "VFR30_15_2", "--data", "no/folder"), "expected a folder of VRF"),
        (("info", "ta001", "--orientation", "up"), "orientation: expected 'jobs_rows'"),
        (("solve", "ta001", "--time-limt", "9"), "did you mean --time-limit"),
        (("solve", "ta001", "--quite"), "did you mean --quiet"),
        (("solve", "ta001", "--time-limt=9"), "did you mean --time-limit"),
        (("--quiet", "solve", "ta001"), "--quiet: expected the command first; see"),
        (("-q", "solve", "ta001"), "-q: expected the command first"),
        (("--verison", "solve", "ta001"), "did you mean --version"),
        (("bench", "-q", "gpu"), "-q: expected the command first; see dpbb bench -"),
        (
            ("bench", "cpu", "--json", "no/x.json"),
            "--json: expected a file that can be",
        ),
        (
            ("jobshop", "evaluate", "ta01", "x", "--outptu", "y"),
            "did you mean --output?); see dpbb jobshop evaluate --help",
        ),
        (("solve", "ta001", "ta002"), "ta002: expected a known argument"),
        (("solve", "ta001", "--threads"), "--threads: expected one argument"),
        (("solve", "ta001", "--threads", "0"), "--threads: expected a whole number"),
        (("solve", "ta001", "--engine", "tpu"), "--engine: expected one of auto, cpu"),
        (("solve", "ta001", "--cutoff", "9", "--upper-bound", "9"), "at most one of"),
        (("solve", "ta001", "--time-limit", "nan"), "expected a number > 0, got nan"),
        (
            ("solve", "ta001", "--heuristics", "luck"),
            "heuristics: expected one of auto",
        ),
        (("solve", "ta001", "--initial", "0 1 2"), "initial: expected 20 jobs, got 3"),
        (("solve", "ta001", "--front", " "), "--front: expected jobs, got ' '"),
        (("solve", "ta001", "--back", "20"), "back: expected jobs 0 to 19, got 20"),
        (
            ("estimate", "ta001", "--front", "x"),
            "front, position 0: expected the numbe",
        ),
        (("solve", "ta001", "--initial", ""), "or a readable file with them, got ''"),
        (
            (
                "solve",
                "ta001",
                "--tuning",
                f"root_order={' '.join(map(str, range(1, 21)))}",
            ),
            "jobs count from 0, subtract 1",
        ),
        (("solve", "ta001", "--optima-file", "x"), "expected together with all_optima"),
        (("solve", "ta001", "--config", "no.toml"), "expected a readable TOML file"),
        (("solve", "ta001", "--output", "no/dir/s.csv"), "--output: expected a file"),
        (("solve", "ta001", "--output", "s.doc"), "--output: expected a file ending"),
        (("resume", "x", "--output", "s.json"), "--output: expected a file ending in"),
        (("heuristic", "ta001", "--output", "s.gz"), "--output: expected a file endin"),
        (("evaluate", "ta001", "0", "--output", "s.x"), "--output: expected a file en"),
        (
            ("solve", "ta001", "--branching", "minbranch", "--heuristics", "none"),
            "branching_ub: expected a value, as minbranch compares bounds with it",
        ),
        (
            ("solve", "ta001", "--scheduler", "tcp://host:1", "--workers", "2"),
            "workers: expected without scheduler",
        ),
        (("solve", "ta001", "--scheduler", "host"), "such as tcp://host:8786, got"),
        (("list", "--scheduler", "host"), "--scheduler: expected the address of a"),
        (("evaluate", "ta001"), "the following arguments are required: PERMUTATION"),
        (("evaluate", "ta001", "0 1"), "permutation: expected 20 jobs, got 2"),
        (("evaluate", "ta001", "0 1 x"), "expected job numbers separated by commas"),
        (("bench", "tpu"), "invalid choice: 'tpu'"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_bad_arguments(dpbb, arguments, message):
    ran = dpbb(*arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("shop.csv", SHOP + "panel,2,-2\n", "line 4, cell 3: expected a whole number"),
        ("shop.json", "{", "line 1, column 2: expected JSON"),
        ("shop.xls", "", "expected a file ending in"),
    ],
)
def test_bad_files_are_named(dpbb, tmp_path, name, content, message):
    file = tmp_path / name
    file.write_text(content)
    ran = dpbb("solve", file)
    assert ran.code == 2
    assert ran.err.startswith(f"dpbb: error: {file}")
    assert message in ran.err


def test_bad_config_is_named(dpbb, tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("[solve]\nthreds = 2\n")
    ran = dpbb("solve", "ta001", "--config", file)
    assert (ran.code, "did you mean threads" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("threads = 0x1" + "0" * 5000, "threads: expected a whole number"),
        ("time_limit_s = 1" + "0" * 400, "time_limit_s: expected a number > 0"),
    ],
    ids=["threads", "time_limit_s"],
)
def test_huge_numbers_of_a_config_are_refused(dpbb, tmp_path, line, message):
    file = tmp_path / "run.toml"
    file.write_text(f"[solve]\n{line}\n")
    ran = dpbb("solve", "ta001", "--config", file)
    assert (ran.code, message in ran.err) == (2, True)


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


@pytest.mark.parametrize(
    ("instance", "message"),
    [
        (None, "expected a two-dimensional table of processing times, got None"),
        ([[1, -2]], "row 0, column 1: expected a whole number >= 0, got -2"),
        ("ta000", "expected ta001 to ta120, got 'ta000'"),
    ],
    ids=lambda value: None if isinstance(value, str) else repr(value)[:20],
)
@pytest.mark.parametrize("function", ["solve", "submit"])
def test_bad_instances(function, instance, message):
    with pytest.raises(InstanceError) as raised:
        getattr(package, function)(instance)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threads": 0}, "threads: expected a whole number from 1 to 1024, got 0"),
        ({"timelimit": 3}, "did you mean time_limit_s"),
        ({"initial": [0]}, "initial: expected 2 jobs, got 1"),
        ({"tuning": {"root_order": [0, 1, 2]}}, "root_order: expected 2 jobs, got 3"),
        ({"client": 3}, "client: expected a distributed.Client, got 3"),
        ({"options": {"threads": 1}}, "options: expected SolveOptions, got {'thr"),
    ],
)
@pytest.mark.parametrize("function", ["solve", "submit"])
def test_bad_keywords(function, arguments, message):
    with pytest.raises(OptionError) as raised:
        getattr(package, function)([[1, 2], [3, 4]], **arguments)
    assert message in str(raised.value)


def test_bad_orders():
    with pytest.raises(OptionError, match="permutation: expected 2 jobs, got 1"):
        package.evaluate([[1, 2], [3, 4]], [0])
    with pytest.raises(OptionError, match="expected a whole number at position 1"):
        package.evaluate([[1, 2], [3, 4]], [0, 1.0])


def test_unknown_attribute_of_the_package():
    with pytest.raises(AttributeError, match="has no attribute 'slove'"):
        package.slove  # noqa: B018


def test_errors_are_also_the_builtin_ones():
    """``except ValueError`` around a solve takes bad input of every kind."""
    assert issubclass(InstanceError, ValueError)
    assert issubclass(OptionError, ValueError)
    assert not issubclass(ClusterError, ValueError)


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("solve", "shop.csv", "--output", "shop.csv"), "--output"),
        (("solve", "shop.csv", "--certificate", "./shop.csv"), "--certificate"),
        (("solve", "shop.csv", "--output", "a", "--certificate", "a"), "--certificate"),
        (
            ("solve", "shop.csv", "--all-optima", "--optima-file", "shop.csv"),
            "--optima-file",
        ),
        (("solve", "shop.csv[0]", "--certificate", "shop.csv"), "--certificate"),
        (
            ("jobshop", "evaluate", "ft06", "shop.csv", "--output", "shop.csv"),
            "--output",
        ),
        (("heuristic", "shop.csv", "--output", "shop.csv"), "--output"),
        (("evaluate", "shop.csv", "door,frame", "--output", "shop.csv"), "--output"),
    ],
)
def test_no_file_that_is_read_is_written_to(
    arguments, option, dpbb, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.csv").write_text(SHOP)
    ran = dpbb(*arguments)
    assert ran.code == 2
    assert f"{option}: expected another file than" in ran.err
    assert (tmp_path / "shop.csv").read_text() == SHOP
