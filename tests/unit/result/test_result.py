from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dpbb.errors import DpbbError, InvariantError
from dpbb.options import SolveOptions
from dpbb.result import Improvement, Proof, Result, Status, Termination
from dpbb.result.schedule import Schedule

OPERATIONS = Schedule((1, 0), np.array([[2, 5], [0, 2]]), np.array([[5, 6], [2, 5]]))
OPTIMAL = Result(
    status=Status.OPTIMAL, termination=Termination.EXHAUSTED,
    proof=Proof.TREE_EXHAUSTED, makespan=6, lower_bound=6, permutation=(1, 0),
    decomposed=1, leaves=2, seconds=0.5, tree_seconds=0.25, explore_seconds=0.125,
    engine="cpu", seats=("tcp://127.0.0.1:1/cpu0",), instance="tiny", digest="00ff",
    n_jobs=2, n_machines=2,
    trajectory=(Improvement(0.125, 7, "neh"), Improvement(0.25, 6, "cpu")),
    optima=((1, 0),), n_optima=1, units=1,
    options=SolveOptions(engine="cpu", all_optima=True, initial=(0, 1)),
    versions=(("python", "3.11"), ("dpbb", "0")), operations=OPERATIONS,
)  # fmt: skip
UNKNOWN = Result(
    status=Status.UNKNOWN, termination=Termination.TIME_LIMIT, proof=Proof.ROOT_BOUND,
    makespan=None, lower_bound=5, permutation=None,
)  # fmt: skip
KEYS = {
    "status", "termination", "makespan", "lower_bound", "permutation", "decomposed",
    "leaves", "seconds", "nodes_per_second", "engine", "instance",
}  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"permutation": None},
        {"makespan": None},
        {"lower_bound": 7},
        {"status": Status.FEASIBLE},
        {"status": Status.INFEASIBLE_CUTOFF},
        {"makespan": 7, "lower_bound": 7},  # not where the schedule ends
    ],
)
def test_contradicting_parts_are_refused(changes):
    """Never optimal without a permutation (law 6), never a bound above a makespan."""
    with pytest.raises(InvariantError):
        replace(OPTIMAL, **changes)


def test_gap_is_a_share_of_the_makespan():
    feasible = replace(OPTIMAL, status=Status.FEASIBLE, lower_bound=3)
    assert (OPTIMAL.gap, feasible.gap, UNKNOWN.gap) == (0.0, 0.5, None)


@pytest.mark.parametrize("result", [OPTIMAL, UNKNOWN], ids=["optimal", "unknown"])
def test_json_round_trip_keeps_everything(result):
    again = Result.from_json(result.to_json())
    assert again == result
    assert json.loads(result.to_json()).keys() >= KEYS
    if result.operations is not None:
        assert np.array_equal(again.schedule().start, OPERATIONS.start)
        assert np.array_equal(again.schedule().end, OPERATIONS.end)
        assert again.schedule().permutation == OPERATIONS.permutation


def test_json_without_the_schedule_is_equal_but_has_none():
    values = json.loads(OPTIMAL.to_json())
    del values["schedule"]
    again = Result.from_json(json.dumps(values))
    assert again == OPTIMAL
    with pytest.raises(DpbbError, match="status optimal saved without it"):
        again.schedule()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "of schema 1, got"),
        ('{"schema": 99}', "of schema 1, got: .* 99 - at `.*schema`"),
        ('{"schema": 1}', "missing required field `status`"),
        (UNKNOWN.to_json().replace('"unknown"', '"great"'), "'great' - at `.*status`"),
        ("[" * 100_000, "of schema 1, got"),
        ("\ud800", "of schema 1, got"),
        (OPTIMAL.to_json().replace("0.5", "NaN"), "of schema 1, got"),
        (OPTIMAL.to_json().replace("0.5", "1e999"), "of schema 1, got"),
    ],
)
def test_what_is_no_result_is_refused(text, message):
    with pytest.raises(DpbbError, match=message):
        Result.from_json(text)


def field(**changes):
    return json.dumps({**json.loads(OPTIMAL.to_json()), **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"versions": {"dpbb": 1}}, "versions"),
        ({"decomposed": 1.5}, "decomposed"),
        ({"seconds": -1}, "seconds"),
        ({"permutation": [0, 0]}, "permutation: .* got job 0 again"),
        ({"optima": [[0, 2, 1]]}, r"optima\[0\]: expected 2 jobs, got 3"),
        ({"trajectory": [{}]}, r"trajectory\[0\]"),
        ({"options": {"threads": 0}}, "threads: expected a whole number from 1"),
        ({"schedule": {"start": [[10**30]], "end": [[0]]}}, r"start\[0\]"),
        ({"schedule": {"start": [[0, 1]], "end": [[1, 2]]}}, "start: expected 2 rows"),
        ({"makespan": 5}, "lower bound 6 above makespan 5"),
    ],
)
def test_bad_field_of_a_result_is_named(changes, message):
    with pytest.raises(DpbbError, match=message):
        Result.from_json(field(**changes))


def test_schedule_is_refused_without_one():
    with pytest.raises(DpbbError, match=r"got one with status unknown$"):
        UNKNOWN.schedule()


def test_the_cost_is_called_what_the_problem_calls_it():
    other = replace(OPTIMAL, objective="total completion time")
    lines = str(other).splitlines()
    assert "total completion time 6" in lines
    assert "makespan" not in str(other)
    assert len({line.index(line.split("  ")[-1].strip()) for line in lines[:2]}) == 1
    again = Result.from_json(other.to_json())
    assert again.objective == "total completion time"
    values = json.loads(OPTIMAL.to_json())
    del values["objective"]  # results of before
    assert Result.from_json(json.dumps(values)).objective == "makespan"
