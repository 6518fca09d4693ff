from __future__ import annotations

import inspect
from pathlib import Path

import jedi
import numpy as np
import pytest

import dpbb
from dpbb.errors import OptionError
from dpbb.estimation.result import USED_OPTIONS
from dpbb.options import OPTIONS, EngineName, SolveOptions


def test_every_option_has_its_own_flag_and_says_what_is_allowed():
    rows = OPTIONS.values()
    assert len({row.flag for row in rows}) == len(rows) > 20
    assert all(row.help and row.kind.allowed for row in rows)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("engine", "tpu", "engine: expected one of auto, cpu, .*, got 'tpu'"),
        ("threads", 0, "threads: expected a whole number from 1 to 1024, got 0"),
        ("threads", True, "threads: expected a whole number from 1 to 1024, got True"),
        ("time_limit_s", 10**400, "time_limit_s: expected a number > 0 that a float"),
        ("scheduler", "foo", r"scheduler: .* such as tcp://host:8786, got 'foo'"),
        ("checkpoint", Path, "checkpoint: expected a path or fsspec URL"),
        ("bound", "", "bound: expected the name of a bound, got ''"),
        ("cutoff", 2**63, r"cutoff: expected a whole number >= 0 and <= 2\*\*62"),
        ("initial", [0, 0], "initial: expected every job once, got job 0 again"),
        ("initial", [1, 2], r"initial: expected jobs 0 to 1 .* subtract 1 from each"),
        ("time_limit_s", float("nan"), "time_limit_s: expected a number > 0, got nan"),
        ("gap_limit", 1, "gap_limit: expected a number >= 0 and < 1, got 1"),
        ("heuristics", None, "heuristics: expected auto, none or the name of"),
        ("tuning", 3, "tuning: expected a Tuning, or some of its values by name"),
        ("tuning", {"slize_s": 5}, "slize_s: .*did you mean slice_s"),
        ("tuning", {"slice_s": 5}, "slice_s: expected a number > 0 and <= 1, got 5"),
        ("tuning", {"block_size": 100}, "block_size: expected a multiple of 32"),
        ("all_optima", 1, "all_optima: expected true or false, got 1"),
        ("optima_file", "x", "optima_file: expected together with all_optima"),
    ],
)
def test_bad_value_is_refused_with_what_is_allowed(name, value, message):
    with pytest.raises(OptionError, match=f"^{message}"):
        SolveOptions(**{name: value})


def test_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(OptionError, match=r"time_limit: .*did you mean time_limit_s"):
        SolveOptions.from_mapping({"time_limit": 3})
    with pytest.raises(OptionError, match=r"^self: expected the name of an option"):
        SolveOptions.from_mapping({"self": 1})
    with pytest.raises(
        OptionError, match="xyzzy: expected the name of an option; all: "
    ):
        SolveOptions().replace(xyzzy=1)


def test_contradicting_options_are_refused():
    with pytest.raises(OptionError, match="upper_bound, cutoff: expected at most one"):
        SolveOptions(upper_bound=5, cutoff=5)
    with pytest.raises(OptionError, match="workers: expected without scheduler"):
        SolveOptions(scheduler="tcp://host:1", workers=2)


def test_what_python_does_not_print_is_refused():
    with pytest.raises(OptionError, match=r"threads: .* type int that cannot be"):
        SolveOptions(threads=10**5000)


@pytest.mark.parametrize(
    "address",
    ["tcp://host:8786", "host:8786", "tls://[::1]:8786", "wss://h:443/dask", "s.json",
     "inproc://10.0.0.1/7/1"],
)  # fmt: skip
def test_addresses_of_dask_are_taken(address):
    assert SolveOptions(scheduler=address).scheduler == address


def test_values_become_their_final_types():
    options = SolveOptions(
        engine="cpu", threads=np.int64(3), initial=np.array([1, 0]), time_limit_s=2
    )
    assert options.engine is EngineName.CPU
    assert type(options.threads) is int
    assert options.initial == (1, 0)
    assert type(options.time_limit_s) is float


def test_mapping_round_trip_keeps_every_option():
    options = SolveOptions(
        branching="minbranch", initial=(2, 0, 1), all_optima=True,
        tuning={"branching_ub": 7, "root_order": (1, 2, 0), "balance": "steal"},
    )  # fmt: skip
    assert SolveOptions.from_mapping(options.to_mapping()) == options


@pytest.mark.parametrize(
    ("text", "value"),
    [("90", 90), ("90s", 90), ("30m", 1800), ("1.5h", 5400), (".5m", 30), ("1e3", 1e3)],
)
def test_the_command_line_takes_minutes_and_hours(text, value):
    row = OPTIONS["time_limit_s"]
    assert row.kind.parse(text, row.flag) == value
    with pytest.raises(OptionError, match="expected a number > 0"):
        row.kind.parse(f"-{text}", row.flag)
    with pytest.raises(OptionError, match="also 30m or 2h, got '1h"):
        row.kind.parse(f"1h{text}", row.flag)


@pytest.mark.parametrize("name", ["solve", "submit", "resume", "SolveOptions"])
def test_every_option_is_completed(name):
    function = getattr(dpbb, name)
    assert inspect.signature(function).parameters.keys() >= OPTIONS.keys()
    typed = jedi.Interpreter(f"dpbb.{name}(time_l", [{"dpbb": dpbb}])
    assert "time_limit_s=" in [one.name for one in typed.complete()]


def test_an_estimate_has_its_own():
    parameters = inspect.signature(dpbb.estimate).parameters
    assert parameters.keys() >= set(USED_OPTIONS)
    assert "time_limit_s" not in parameters
