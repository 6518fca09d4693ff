"""Every option of ``dpbb resume``: from a flag, and from a TOML file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpbb import api
from dpbb.coordination.format import to_bytes
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import OPTIONS, BranchingRule, SolveOptions
from dpbb.problem import StartSearch
from dpbb.result import Termination
from dpbb.solving.plan import Plan
from dpbb.solving.results import result_without_tree
from dpbb.solving.start import with_heuristics
from tests.unit.coordination.world import TIMES, World

ORDER = (5, 4, 3, 2, 1, 0)

BEFORE = SolveOptions(
    all_optima=True, branching="minbranch", certificate="proof.json.gz",
    tuning={"branching_ub": 60, "root_order": ORDER}, heuristics="none", upper_bound=60,
)  # fmt: skip

VALUES = {
    "engine": "cpu", "threads": 2, "workers": 1, "scheduler": "tcp://127.0.0.1:9",
    "branching": "minbranch", "bound": "lb1", "upper_bound": 49,
    "strategy": "incumbent", "cutoff": None, "initial": ORDER, "time_limit_s": 60.0,
    "no_improvement_s": 50.0, "node_limit": 10**9, "gap_limit": 0.01,
    "heuristics": "neh", "heuristic_time_s": 1.0, "all_optima": True,
    "optima_file": "optima.txt", "report_interval_s": 2.0,
    "checkpoint_interval_s": 20.0, "checkpoint": "folder",
    "certificate": "other.json.gz", "seed": 7, "progress": "plain",
    "tuning": {"slice_s": 0.1, "checkpoint_keep": 5}, "verbosity": "quiet",
}  # fmt: skip
"""Of every option; a cutoff is refused."""


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Write a checkpoint of a run of an instance of six jobs, into this folder."""
    monkeypatch.chdir(tmp_path)
    problem = FlowShopProblem(FlowShopInstance("six", np.array(TIMES)))
    plan = with_heuristics(Plan(problem, "six", BEFORE, 0.0), StartSearch())
    world = World(plan.spec(0.0, "reference"), ("a",))
    for _ in range(6):
        world.round()
    path = tmp_path / "saved.dpbb"
    path.write_bytes(to_bytes(world.coordinator.checkpoint(world.now)))
    return path


@pytest.fixture
def resumed(monkeypatch):
    """Leave the exploration out; gives the plans that were to be explored."""
    plans = []

    def end(_call, plan):
        plans.append(plan)
        return result_without_tree(plan, Termination.STOPPED)

    monkeypatch.setattr(api, "solved", end)
    return plans


def as_flag(name, value):
    row = OPTIONS[name]
    if value is True:
        return [row.flag]
    if isinstance(value, dict):
        pairs = (f"{key}={part}" for key, part in value.items())
        return [word for pair in pairs for word in (row.flag, pair)]
    text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return [row.flag, text]


def as_toml(name, value):
    text = json.dumps(value).replace('":', '" =')
    return f"[solve]\n{name} = {text}\n"


def check(ran, calls, name, value):
    assert (ran.code, ran.err.count("Traceback")) == (4, 0), ran.err
    (call,) = calls
    if name == "tuning":  # what the tree depends on is as before
        expected = BEFORE.tuning.replace(heuristic_threads=0, **value)
        assert call.options.tuning == expected
    elif name != "progress":  # it is shown by the command itself
        expected = SolveOptions().to_mapping() | {name: value}
        assert call.options.to_mapping()[name] == (
            list(value) if isinstance(value, tuple) else expected[name]
        )
    assert call.options.all_optima
    assert call.options.branching is BranchingRule.MINBRANCH


def test_every_option_is_here():
    assert set(VALUES) == set(OPTIONS)


@pytest.mark.parametrize("name", [name for name in VALUES if name != "cutoff"])
def test_an_option_as_a_flag(dpbb, saved, resumed, name):
    ran = dpbb("resume", saved, *as_flag(name, VALUES[name]))
    check(ran, resumed, name, VALUES[name])


@pytest.mark.parametrize("name", ["threads", "upper_bound", "tuning"])
def test_an_option_of_a_toml_file(dpbb, saved, resumed, name):
    config = saved.parent / "config.toml"
    config.write_text(as_toml(name, VALUES[name]))
    ran = dpbb("resume", saved, "--config", config)
    check(ran, resumed, name, VALUES[name])


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--cutoff", "50", "cutoff: expected None"),
        ("--tuning", "branching_ub=59", "branching_ub: expected 60"),
        # it goes on with the reference engine
        ("--tuning", "pool_size=4096", "pool_size: expected engine pool"),
    ],
)
def test_another_tree_or_engine_is_refused(dpbb, saved, resumed, flag, value, said):
    ran = dpbb("resume", saved, flag, value)
    assert (ran.code, resumed) == (2, [])
    assert said in ran.err


@pytest.mark.parametrize("option", ["certificate", "optima_file"])
def test_a_file_that_could_not_be_written_is_refused(dpbb, saved, resumed, option):
    flag = f"--{option.replace('_', '-')}"
    ran = dpbb("resume", saved, flag, "missing/file")
    assert (ran.code, resumed) == (2, [])
    assert f"{flag}: expected a file that can be written, got missing" in ran.err
    with pytest.raises(OptionError, match=f"^{option}: expected a file that can be"):
        api.resume(saved, **{option: "missing/file"})


@pytest.mark.parametrize("flag", ["--output", "--certificate", "--optima-file"])
def test_a_checkpoint_is_not_written_over(dpbb, saved, resumed, flag):
    before = saved.read_bytes()
    ran = dpbb("resume", saved, flag, saved)
    assert (ran.code, resumed, saved.read_bytes()) == (2, [], before)
    wanted = "a file ending in" if flag == "--output" else f"another file than {saved}"
    assert f"{flag}: expected {wanted}" in ran.err


def test_nothing_is_written_into_a_folder_of_checkpoints(dpbb, tmp_path, resumed):
    (tmp_path / "run").mkdir()
    ran = dpbb("resume", tmp_path / "run", "--output", tmp_path / "run/x.csv")
    assert (ran.code, resumed) == (2, [])
    assert "--output: expected another file than those in" in ran.err


def test_the_files_of_a_run_that_goes_on_are_two(dpbb, saved, resumed, tmp_path):
    one = tmp_path / "one"
    ran = dpbb("resume", saved, "--certificate", one, "--optima-file", one)
    assert (ran.code, resumed) == (2, [])
    assert "--optima-file: expected another file than" in ran.err
    with pytest.raises(OptionError, match="optima_file: expected another file than"):
        api.resume(saved, certificate=one, optima_file=one)


def test_files_of_a_run_are_not_written_unless_they_are_given_again(
    dpbb, saved, resumed
):
    """A checkpoint may be anybody's, or of another machine."""
    check(dpbb("resume", saved), resumed, "certificate", None)


@pytest.mark.cluster
@pytest.mark.parametrize("style", ["plain", "none", "json"])
def test_a_run_goes_on_to_its_end_in_every_style(dpbb, saved, style):
    ran = dpbb("resume", saved, "--progress", style, "--engine", "reference", "--json")
    assert ran.code == 0, ran.err
    values = json.loads(ran.out)
    assert values["status"] == "optimal"
    assert bool(ran.err) == (style != "none")
    assert values["n_optima"] == len(values["optima"]) > 0
