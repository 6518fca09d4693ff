"""The strategy from below: what each tree proves, and what interrupts the way up."""

from __future__ import annotations

import numpy as np
import pytest

import dpbb
from dpbb.coordination import from_below
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopProblem, read_instance
from dpbb.flowshop.makespan import makespan
from dpbb.problem import root_bound
from dpbb.progress import Progress
from dpbb.proof.checker import PROVED
from dpbb.result import Proof, Result, Status, Termination
from dpbb.solving import start
from tests.cluster.support import HUGE
from tests.oracle import best_orders

pytestmark = pytest.mark.cluster

BELOW = {"strategy": "from-below", "verbosity": "quiet", "threads": 1}
NEH = {"heuristics": "neh", **BELOW}


class Notes(Progress):
    def __init__(self):
        self.texts, self.last = [], None

    def finish(self, snapshot):
        self.last = snapshot

    def note(self, text):
        self.texts.append(text)


@pytest.mark.parametrize(("name", "optimum"), [("ta003", 1081), ("ta014", 1377)])
def test_every_step_is_proved_and_the_last_is_the_optimum(
    client, tmp_path, name, optimum
):
    """Each bound has the tree of its cutoff, and a certificate that holds."""
    how = {**NEH, "client": client}
    path = tmp_path / "proof-{bound}.json.gz"
    result = dpbb.solve(name, certificate=str(path), **how)
    assert (result.status, result.makespan) == (Status.OPTIMAL, optimum)
    assert makespan(read_instance(name).times, result.permutation) == optimum
    values = [bound.value for bound in result.bounds]
    assert values == sorted(set(values))
    assert values[-1] == optimum
    assert len(values) > 2
    assert [b.seconds for b in result.bounds] == sorted(
        b.seconds for b in result.bounds
    )
    assert result.decomposed == sum(bound.decomposed for bound in result.bounds)
    for bound in result.bounds:
        verified = dpbb.verify(str(path).format(bound=bound.value))
        assert verified.verdict == PROVED, verified.summary()
        if bound.value < optimum:
            one = dpbb.solve(name, client=client, cutoff=bound.value, verbosity="quiet")
            assert one.status is Status.INFEASIBLE_CUTOFF
            assert one.decomposed == bound.decomposed
    again = Result.from_json(result.to_json())
    assert again.bounds == result.bounds
    assert f"nothing is below {optimum:,} was" in result.summary()


@pytest.mark.parametrize("seed", range(2))
def test_small_shops_end_at_the_optimum_of_all_permutations(client, seed):
    times = np.random.default_rng(seed).integers(1, 30, (7, 4))
    problem = FlowShopProblem(read_instance(times))
    result = dpbb.solve(problem, client=client, engine="reference", **NEH)
    assert result.status is Status.OPTIMAL
    assert result.makespan == best_orders(times)[0]
    # with a schedule that is known to be optimal, and that nobody gives away
    known = dpbb.solve(
        problem, **{**BELOW, "heuristics": "none"}, client=client, engine="reference",
        upper_bound=result.makespan,
    )  # fmt: skip
    assert known.status is Status.INFEASIBLE_CUTOFF
    assert known.lower_bound == result.makespan


def test_a_limit_leaves_what_is_proved(client, tmp_path):
    """Out of time the bound stands, and so does the certificate of its tree."""
    name, _ = HUGE
    path = tmp_path / "proof.json.gz"
    result = dpbb.solve(
        name, client=client, certificate=str(path), time_limit_s=2.5, **NEH
    )
    root = root_bound(FlowShopProblem(read_instance(name)))
    assert (result.status, result.termination) == (
        Status.FEASIBLE,
        Termination.TIME_LIMIT,
    )
    assert result.bounds
    assert result.lower_bound >= result.bounds[-1].value > root
    if result.lower_bound == result.bounds[-1].value:
        assert result.proof is Proof.CUTOFF_EXHAUSTED
    verified = dpbb.verify(path, draws=0)
    assert verified.lower_bound == result.bounds[-1].value
    assert {c.name: c.ok for c in verified.checks}["every leaf is closed once"]


def test_a_tree_that_is_too_large_is_given_up_and_the_step_halved(client, monkeypatch):
    monkeypatch.setattr(from_below, "FREE_NODES", 100_000)
    monkeypatch.setattr(from_below, "next_width", lambda *_: 64)
    notes = Notes()
    result = dpbb.solve(
        HUGE[0], client=client, node_limit=12_000_000, progress=notes, **NEH
    )
    assert result.termination is Termination.NODE_LIMIT
    assert any("half the step" in note for note in notes.texts), notes.texts
    assert result.decomposed > sum(bound.decomposed for bound in result.bounds)
    assert notes.last.decomposed == result.decomposed
    values = [bound.value for bound in result.bounds]
    assert values == sorted(set(values))
    assert result.lower_bound >= values[-1]


def test_a_run_goes_on_from_its_folder_and_from_between_two_trees(client, tmp_path):
    folder = tmp_path / "folder"
    how = {**NEH, "client": client}
    whole = dpbb.solve("ta014", **how)
    part = dpbb.solve(
        "ta014", checkpoint=str(folder), certificate=str(tmp_path / "c.gz"),
        should_stop=lambda: len(list(folder.glob("checkpoint-*.dpbb"))) >= 3, **how,
    )  # fmt: skip
    assert part.termination is Termination.STOPPED
    seen = part.bounds
    assert seen
    with pytest.raises(OptionError, match="strategy: expected from-below, as the run"):
        dpbb.resume(folder, client=client, strategy="incumbent")
    with pytest.raises(OptionError, match="checkpoint: expected a run of one tree"):
        dpbb.submit("ta014", client=client, strategy="auto", checkpoint=str(folder))
    result = dpbb.resume(folder, client=client, verbosity="quiet", threads=1)
    assert (result.status, result.makespan) == (Status.OPTIMAL, 1377)
    # nodes of the last tree depend on when its schedule is found
    trees = [(bound.value, bound.decomposed) for bound in result.bounds]
    others = [(bound.value, bound.decomposed) for bound in whole.bounds]
    assert (trees[:-1], trees[-1][0]) == (others[:-1], others[-1][0])
    assert trees[: len(seen)] == [(bound.value, bound.decomposed) for bound in seen]
    assert result.decomposed == sum(bound.decomposed for bound in result.bounds)
    verified = dpbb.verify(tmp_path / "c.gz")
    assert verified.verdict == PROVED, verified.summary()


@pytest.mark.parametrize(
    ("patience", "chosen"), [(0.0, "from-below"), (1e30, "incumbent")]
)
def test_auto_decides_by_the_estimate_and_says_so(
    client, monkeypatch, patience, chosen
):
    monkeypatch.setattr(start, "PATIENCE_S", patience)
    monkeypatch.setattr(start, "ESTIMATE_S", 0.2)
    notes = Notes()
    how = {**NEH, "strategy": "auto"}
    result = dpbb.solve("ta014", client=client, progress=notes, **how)
    assert (result.status, result.makespan) == (Status.OPTIMAL, 1377)
    assert bool(result.bounds) == (chosen == "from-below")
    (said,) = [note for note in notes.texts if note.startswith("strategy")]
    assert said.startswith(f"strategy {chosen}: the tree below ")
    assert " is estimated to take at least " in said
