"""``dpbb solve`` on its embedded cluster and on an existing one."""

from __future__ import annotations

import json
import sys

import pytest

from dpbb.result import Result
from dpbb.text.labels import Names
from tests.unit.result.test_result import KEYS

pytestmark = pytest.mark.cluster

TREE = ("--heuristics", "neh")
"""A first schedule that leaves the proof to the tree."""


def test_json_is_one_object_and_all_else_is_on_stderr(dpbb, tmp_path):
    script, told = tmp_path / "tell.py", tmp_path / "told"
    code = f"import os; open({str(told)!r}, 'w').write(os.environ['DPBB_STATE'])"
    script.write_text(code)
    tell = f"{sys.executable} {script}"
    ran = dpbb("solve", "ta002", "--json", "--on-end", tell, *TREE)
    assert told.read_text().startswith("optimal, ")
    assert ran.code == 0
    values = json.loads(ran.out)
    assert values.keys() >= KEYS
    assert (values["status"], values["termination"]) == ("optimal", "exhausted")
    assert (values["makespan"], values["lower_bound"]) == (1359, 1359)
    assert (values["engine"], values["instance"]) == ("cpu", "ta002")
    assert Result.from_json(ran.out).makespan == 1359
    for text in ("engine cpu", "dashboard http://127.0.0.1:", "BestBound", "\nH "):
        assert text in ran.err


def test_summary_says_how_the_proof_was_obtained(dpbb, tmp_path):
    ran = dpbb("solve", "ta002", "--quiet", "--output", tmp_path / "s.csv", *TREE)
    assert (ran.code, ran.err) == (0, "")
    assert "optimal, as the tree is exhausted: no schedule is better" in ran.out
    rows = (tmp_path / "s.csv").read_text().splitlines()
    assert rows[0] == "position,job,machine,start,end"
    assert len(rows) == 1 + 20 * 5
    assert rows[-1].endswith(",1359")


@pytest.mark.parametrize(
    ("engine", "rule"), [("cpu", "minmin"), ("reference", "minbranch")]
)
def test_cutoff_explores_the_golden_tree(dpbb, engine, rule):
    """No heuristic, no schedule, exact counts: nothing is below the cutoff."""
    tree = ("ta003", "--cutoff", 1081, "--branching", rule, "--engine", engine)
    ran = dpbb("solve", *tree, "--json", "-q")
    values = json.loads(ran.out)
    assert (ran.code, values["decomposed"], values["leaves"]) == (0, 28, 0)
    assert (values["status"], values["lower_bound"]) == ("infeasible_cutoff", 1081)
    assert (values["makespan"], values["permutation"]) == (None, None)
    assert values["trajectory"] == []


def test_upper_bound_leaves_heuristics_on(dpbb):
    met = json.loads(dpbb("solve", "ta002", "--upper-bound", 1359, "--json", "-q").out)
    assert (met["status"], met["makespan"]) == ("optimal", 1359)
    assert met["trajectory"]
    ran = dpbb("solve", "ta002", "--upper-bound", 1358, "--json", "-q", *TREE)
    assert ran.code == 0
    unmet = json.loads(ran.out)
    assert (unmet["status"], unmet["lower_bound"]) == ("infeasible_cutoff", 1358)
    assert (unmet["makespan"], unmet["permutation"]) == (None, None)


def test_limits_end_with_their_exit_codes(dpbb):
    ran = dpbb("solve", "ta056", "--time-limit", 2, "--json", "-q")
    values = json.loads(ran.out)
    assert (ran.code, values["status"]) == (3, "feasible")
    assert values["termination"] == "time_limit"
    assert values["lower_bound"] < values["makespan"]
    ran = dpbb("solve", "ta056", "--cutoff", 3679, "--node-limit", 100_000, "-q")
    assert ran.code == 4
    assert "unknown, as the search ended early (node_limit)" in ran.out


def test_no_time_for_a_tree_gives_the_heuristics_schedule(dpbb):
    ran = dpbb("solve", "ta056", "--time-limit", "1e-3", "--json", "-q")
    values = json.loads(ran.out)
    assert (ran.code, values["termination"]) == (3, "time_limit")
    assert (values["decomposed"], values["proof"]) == (0, "root_bound")


def test_result_of_one_solve_starts_the_next(dpbb, tmp_path):
    file = tmp_path / "result.json"
    file.write_text(dpbb("solve", "ta002", "--json", "-q").out)
    ran = dpbb(
        "solve", "ta002", "--initial", file, "--heuristics", "none", "--json", "-q"
    )
    values = json.loads(ran.out)
    assert (values["status"], values["makespan"]) == ("optimal", 1359)
    assert [step["source"] for step in values["trajectory"]] == ["initial"]


def test_all_optima_go_to_a_file(dpbb, tmp_path):
    """Three equal jobs: all 3! orders are optimal."""
    shop, optima = tmp_path / "shop.csv", tmp_path / "optima.txt"
    shop.write_text("3,2\n3,2\n3,2\n")
    ran = dpbb("solve", shop, "--all-optima", "--optima-file", optima, "--json", "-q")
    values = json.loads(ran.out)
    assert (values["status"], values["n_optima"]) == ("optimal", 6)
    assert len(set(optima.read_text().splitlines())) == 6


def test_config_file_and_flags_are_one_table(dpbb, tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('[solve]\nthreads = 1\nseed = 7\nheuristics = "neh"\n')
    ran = dpbb("solve", "ta002", "--config", file, "--seed", 8, "--json", "-q")
    options = json.loads(ran.out)["options"]
    assert (options["threads"], options["seed"], options["heuristics"]) == (1, 8, "neh")


def test_log_json_has_a_snapshot_a_line(dpbb):
    ran = dpbb("solve", "ta002", "--log-json")
    last = json.loads(ran.err.splitlines()[-1])
    assert (last["state"], last["value"]) == ("finished", 1359)
    assert all(json.loads(line) for line in ran.err.splitlines())


def test_one_job_and_one_machine(dpbb, tmp_path):
    for name, text, makespan in (("job", "3,4\n", 7), ("zero", "0,0\n0,0\n", 0)):
        file = tmp_path / f"{name}.csv"
        file.write_text(text)
        ran = dpbb("solve", file, "--json", "-q")
        assert (ran.code, json.loads(ran.out)["makespan"]) == (0, makespan)
        ran = dpbb("solve", file, "--json", "-q", "--cutoff", makespan)
        assert json.loads(ran.out)["status"] == "infeasible_cutoff"


def test_names_stay_to_the_end(dpbb, tmp_path):
    shop = tmp_path / "shop.csv"
    shop.write_text("job,cut,weld\ndoor,3,2\nframe,1,4\npanel,2,2\n")
    table, saved, runs = (tmp_path / name for name in ("out.csv", "r.json", "runs"))
    solve = ("solve", shop, "-q", "--initial", "panel,door,frame", "--engine", "cpu")
    ran = dpbb(
        *solve, "--output", table, "--json", "--checkpoint", runs, "--cutoff", 10
    )
    assert ran.code == 0
    saved.write_text(ran.out)
    result = Result.from_json(ran.out)
    assert result.names == Names(("door", "frame", "panel"), ("cut", "weld"))
    assert result.schedule().names == result.names
    order = ", ".join(map(result.names.job, result.permutation))
    assert order in result.summary()
    assert table.read_text().splitlines()[1].split(",")[1:3] == [
        order.split(",")[0],
        "cut",
    ]
    again = dpbb("resume", runs, "-q")
    assert order in again.out
    assert dpbb("evaluate", shop, saved).out.startswith("makespan 9")
    wrong = dpbb("solve", shop, "-q", "--initial", "panel,dor,frame")
    assert wrong.code == 2
    assert "initial, position 1: expected one of the jobs door, frame, p" in wrong.err
