"""A tree begins anew with a bound that is faster by an estimate beside it."""

import json

import pytest

import dpbb
from dpbb.estimation.prospect import Prospect
from dpbb.proof.certificate import Certificate
from dpbb.proof.verify import verify
from dpbb.solving import bound_choice
from dpbb.solving.bound_choice import BoundChoice, obstacle
from dpbb.solving.call import Call
from dpbb.solving.plan import Plan
from tests.unit.solving.test_plan import ORDER, plan_of

CASCADE = "cascade:1-19:6-19,14-19"
TREE = {"instance": "ta029", "cutoff": 2237, "workers": 0, "verbosity": "quiet"}


@pytest.mark.parametrize(
    ("options", "engine", "detached", "why"),
    [
        ({"initial": ORDER}, "cpu", True, "nobody stays"),
        ({"initial": ORDER}, None, False, "costs of engine there"),
        ({"initial": ORDER}, "pool", False, "costs of engine pool"),
        ({}, "cpu", False, "an upper bound"),
        ({"initial": ORDER, "node_limit": 9}, "cpu", False, "a limit of nodes"),
        ({"initial": ORDER}, "cpu", False, None),
    ],
)
def test_where_there_is_no_choice(options, engine, detached, why):
    found = obstacle(plan_of(bound="auto", **options), engine=engine, detached=detached)
    assert found is None if why is None else found.startswith(why)


def answered(monkeypatch, found):
    """Let the estimate be there at once."""
    monkeypatch.setattr(bound_choice, "prospect_apart", lambda *_, **__: found)


def test_counts_are_those_of_the_bound_that_was_taken(monkeypatch, tmp_path):
    answered(monkeypatch, Prospect(CASCADE, 1e12, 1e6, 0.0))
    path = tmp_path / "proof.json"
    result = dpbb.solve(**TREE, bound="auto", certificate=str(path))
    explicit = dpbb.solve(**TREE, bound=CASCADE)
    assert result.termination is explicit.termination is dpbb.Termination.EXHAUSTED
    assert result.decomposed == explicit.decomposed
    assert result.leaves == explicit.leaves
    assert verify(path).ok
    assert CASCADE in json.dumps(Certificate.read(path).content)


def test_a_tree_goes_on_where_nothing_is_faster(monkeypatch):
    answered(monkeypatch, Prospect(CASCADE, 1e6, 1e6, 0.0))
    result = dpbb.solve(**TREE, bound="auto")
    assert (result.decomposed, result.leaves) == (13_440_016, 84)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "the end came before the estimate"),
        (Prospect(CASCADE, 1e6, 1e6, 0.0), "the best cascade may take 100% of"),
    ],
)
def test_what_was_taken_is_said_once(found, why, monkeypatch, capsys):
    answered(monkeypatch, found)
    tree = TREE | {"verbosity": "normal", "progress": "plain"}
    assert dpbb.solve(**tree, bound="auto").termination is dpbb.Termination.EXHAUSTED
    lines = "".join(capsys.readouterr()).splitlines()
    said = [line for line in lines if line.startswith("bound ")]
    assert len(said) == 1
    assert said[0].startswith(f"bound lb1: {why}")


def test_nothing_is_opened_when_the_time_is_over(monkeypatch):
    """What the first tree has explored is in the result all the same."""
    answered(monkeypatch, Prospect(CASCADE, 1e12, 1e6, 0.0))
    opened, open_run = [], Call.open
    monkeypatch.setattr(
        Call, "open", lambda *args: opened.append(args) or open_run(*args)
    )
    over = lambda plan, _now: None if plan.before is None else -1.0  # noqa: E731
    monkeypatch.setattr(Plan, "seconds_left", over)
    result = dpbb.solve(**TREE, bound="auto")
    assert len(opened) == 1
    assert result.termination is dpbb.Termination.TIME_LIMIT
    assert result.decomposed > 0
    assert result.engine == "cpu"


def test_an_estimate_that_fails_changes_nothing(monkeypatch, caplog):
    def fails(*_, **__):
        raise dpbb.errors.DpbbError("no estimate")

    monkeypatch.setattr(bound_choice, "prospect_apart", fails)
    choice = BoundChoice(plan_of(bound="auto", initial=ORDER), "cpu")
    choice.stop()
    assert choice.found is None
    assert "no estimate" in caplog.text
