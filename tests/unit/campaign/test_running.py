"""Campaigns over small shops: order, records, going on, limits."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import ANY

import numpy as np
import pytest

from dpbb.campaign import running
from dpbb.campaign.folder import CampaignFolder, read_all
from dpbb.campaign.report import as_markdown, classes
from dpbb.campaign.running import Campaign, problems_of
from dpbb.campaign.sets import KnownSchedule
from dpbb.cli import main
from dpbb.coordination.messages import Request
from dpbb.errors import DpbbError
from dpbb.flowshop.family import read_problem
from dpbb.options import RunOptions, SolveOptions, TreeOptions, Tuning
from dpbb.proof.certificate import Certificate
from dpbb.proof.verify import verify
from dpbb.result import Proof, Result, Status, Termination, Totals

pytestmark = pytest.mark.cluster


@pytest.fixture
def shops(tmp_path):
    """Files of three shops, the largest first."""
    files = []
    for n_jobs in (9, 8, 7):
        times = np.random.default_rng(n_jobs).integers(1, 30, (n_jobs, 4))
        files.append(tmp_path / f"shop{n_jobs}.csv")
        rows = [",".join(map(str, row)) for row in times]
        files[-1].write_text("\n".join([",".join("abcd"), *rows]))
    return [str(file) for file in files]


def campaign(tmp_path, lines=None, **how):
    options = SolveOptions(
        engine="reference", workers=1, threads=1, heuristics="neh",
        **{name: how.pop(name) for name in ("time_limit_s",) if name in how},
    )  # fmt: skip
    said = [] if lines is None else lines
    folder = CampaignFolder(tmp_path / "campaign")
    return Campaign(folder, options, estimate_s=0.05, on_line=said.append, **how)


def test_a_campaign_proves_all_and_has_then_nothing_to_do(tmp_path, shops):
    lines = []
    records = campaign(tmp_path, lines, side_by_side=2).run(problems_of(shops))
    assert all(record.proved for record in records)
    assert [r.estimated for r in records] == sorted(r.estimated for r in records)
    assert lines[3] == "3 instances, 0 of them with nothing to do"
    for record in records:
        assert record.checkpoint is None
        assert record.attempts == 1
        assert (record.options["scheduler"], record.options["workers"]) == (None, 1)
        if record.proof == "tree_exhausted":
            assert (tmp_path / "campaign" / record.certificate).is_file()
    lines.clear()
    assert campaign(tmp_path, lines).run(problems_of(shops)) == records
    assert lines == ["3 instances, 3 of them with nothing to do"]


def fake_result(seconds, status=Status.FEASIBLE):
    return Result(
        status=status, termination=Termination.TIME_LIMIT, proof=Proof.ROOT_BOUND,
        makespan=99, lower_bound=99 if status is Status.OPTIMAL else 1,
        permutation=tuple(range(7)), seconds=seconds,
    )  # fmt: skip


def saved_after(seconds, **request):
    """What of a checkpoint a campaign looks at."""
    spec = SimpleNamespace(
        tree=TreeOptions(), options=RunOptions(), request=Request(**request),
        certificate=True, tuning=Tuning(), problem=SimpleNamespace(digest=ANY),
    )  # fmt: skip
    return SimpleNamespace(totals=Totals(seconds=seconds), spec=spec)


def test_shops_without_buffers_are_proved_with_certificates(tmp_path, shops):
    (source,) = one = shops[-1:]
    (record,) = campaign(tmp_path).run(problems_of(one, blocking=True))
    assert record.proved
    found = verify(tmp_path / "campaign" / record.certificate, engine="reference")
    assert (found.verdict, found.makespan) == ("proved again", record.makespan)
    assert found.digest == read_problem(source, blocking=True).digest
    assert (record.objective, record.features) == ("makespan", "no buffers")
    how = {"objective": "total-completion", "buffers": "0,1,0"}
    lines = []
    (other,) = campaign(tmp_path, lines).run(problems_of(one, **how))
    assert "has records of others, too: makespan, no buffers" in lines[1]
    picture = str(tmp_path / "gantt.html")
    written = CampaignFolder(tmp_path / "campaign").by_file()
    for file in written:  # neither its table nor its features are at hand
        assert main(["plot", str(file), "--output", picture]) == 0
    assert other.features == "limited buffers 0,1,0"
    records, doubts = read_all([tmp_path / "campaign"])
    assert (len(records), doubts) == (2, [])
    assert [row[0] for row in classes(records)] == [
        "7x4, no buffers",
        "7x4, total completion time, limited buffers 0,1,0",
        "all",
    ]
    rows = re.sub(" +", " ", as_markdown(records))
    assert "| objective | features | status | cost |" in rows
    assert f"buffers 0,1,0 | optimal | {other.makespan:,} |" in rows
    certificate = Certificate.read(tmp_path / "campaign" / other.certificate).content
    assert certificate["instance"]["buffers"] == [0, 1, 0]
    assert certificate["result"]["objective"] == "total completion time"


def test_a_cost_of_0_is_the_best_there_is(tmp_path):
    due = tmp_path / "due.csv"
    due.write_text("cut,weld,due\n3,4,99\n2,2,99\n5,1,99\n")
    problems = problems_of([str(due)], objective="total-tardiness")
    (record,) = campaign(tmp_path).run(problems)
    assert (record.makespan, record.status, record.proved) == (0, "optimal", True)
    worse = replace(record, makespan=3, permutation=(2, 1, 0))
    assert worse.with_best_of(record).makespan == 0


def test_unfinished_ones_go_on_with_a_larger_limit(tmp_path, shops, monkeypatch):
    calls = []

    def solve(problem, *, options, **_):
        calls.append(("solve", options.time_limit_s))
        return fake_result(10.0)

    def resume(checkpoint, *, time_limit_s, **_):
        calls.append(("resume", time_limit_s))
        return fake_result(30.0, Status.OPTIMAL)

    monkeypatch.setattr(running.api, "solve", solve)
    monkeypatch.setattr(running.api, "resume", resume)
    one = shops[-1:]
    (first,) = campaign(tmp_path, time_limit_s=10.0).run(problems_of(one))
    assert (first.status, first.limit_s, first.attempts) == ("feasible", 10.0, 1)
    assert campaign(tmp_path, time_limit_s=10.0).run(problems_of(one)) == [first]
    assert calls == [("solve", 10.0)]
    monkeypatch.setattr(running, "load_checkpoint", lambda _path: saved_after(9.8))
    (last,) = campaign(tmp_path, time_limit_s=30.0).run(problems_of(one))
    assert (last.status, last.totals.seconds, last.attempts) == ("optimal", 30.0, 2)
    assert calls[1:] == [("resume", 20.0)]


@pytest.mark.parametrize(("seconds", "rest"), [(7.0, 3.0), (12.0, running.LEAST_S)])
def test_a_killed_attempt_counts_with_the_seconds_of_its_checkpoint(
    tmp_path, shops, monkeypatch, seconds, rest
):
    """It has left no record of the time that it took."""
    limits = []

    def resume(checkpoint, *, time_limit_s, **_):
        limits.append(time_limit_s)
        return fake_result(10.0, Status.OPTIMAL)

    monkeypatch.setattr(running.api, "resume", resume)
    monkeypatch.setattr(running, "load_checkpoint", lambda _path: saved_after(seconds))
    (record,) = campaign(tmp_path, time_limit_s=10.0).run(problems_of(shops[-1:]))
    assert limits == [rest]
    assert record.limit_s == 10.0


def test_an_unexpected_error_is_a_record_too(tmp_path, shops, monkeypatch):
    sampled = running.estimate

    def sample(problem, **how):
        if problem.n_jobs == 7:
            raise ZeroDivisionError("no nodes")
        return sampled(problem, **how)

    def solve(problem, **_):
        if problem.n_jobs == 8:
            raise KeyError("seat")
        return fake_result(1.0, Status.OPTIMAL)

    monkeypatch.setattr(running, "estimate", sample)
    monkeypatch.setattr(running.api, "solve", solve)
    lines = []
    record = campaign(tmp_path, lines)._estimated(shops[2], read_problem(shops[2]))
    assert record.error == "ZeroDivisionError: no nodes"
    assert lines == ["shop7          ZeroDivisionError: no nodes"]
    assert main(["campaign", shops[1], "-o", str(tmp_path / "campaign")]) == 1
    records = campaign(tmp_path).run(problems_of(shops))
    assert {r.n_jobs: (r.status, r.error) for r in records} == {
        7: ("optimal", ""), 8: ("error", "KeyError: 'seat'"), 9: ("optimal", "")
    }  # fmt: skip


def test_a_checkpoint_stays_until_there_is_a_record(tmp_path, shops, monkeypatch):
    one = shops[-1:]
    begun = campaign(tmp_path)
    label = begun.folder.label(begun._estimated(one[0], read_problem(one[0])))
    checkpoint = begun.folder.path / "checkpoints" / label
    record = begun.folder.path / "records" / f"{label}.json"

    def solve(*_args, **_how):
        checkpoint.mkdir(parents=True)
        record.unlink()
        record.mkdir()
        return fake_result(9.0, Status.OPTIMAL)

    monkeypatch.setattr(running.api, "solve", solve)
    with pytest.raises(DpbbError, match="cannot be written: Is a directory"):
        campaign(tmp_path).run(problems_of(one))
    assert checkpoint.is_dir()


def test_a_checkpoint_that_a_kill_left_beside_a_proof_goes(tmp_path, shops):
    """It is removed last: a kill before that leaves it to the next call."""
    record = campaign(tmp_path).run(problems_of(shops[2:]))[0]
    folder = CampaignFolder(tmp_path / "campaign")
    left = folder.path / "checkpoints" / folder.label(record)
    other = left.with_name("other")
    for path in (left, other):
        path.mkdir(parents=True)
        (path / "checkpoint-000001.dpbb").write_bytes(b"")
    assert campaign(tmp_path).run(problems_of(shops[2:])) == [record]
    assert not left.exists()
    assert other.exists()


@pytest.mark.parametrize("written", ["checkpoints/other", "/no", "memory://here"])
def test_a_checkpoint_is_in_the_folder_whatever_a_record_says(
    tmp_path, shops, monkeypatch, written
):
    one = shops[-1:]
    record = campaign(tmp_path)._estimated(one[0], read_problem(one[0]))
    CampaignFolder(tmp_path / "campaign").save(replace(record, checkpoint=written))
    asked = []

    def load(path):
        asked.append(Path(path))
        return saved_after(3.0)

    (tmp_path / "cwd/checkpoints/other").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setattr(running, "load_checkpoint", load)
    written = []

    def resume(_checkpoint, *, certificate, **_):
        written.append(certificate)
        return fake_result(9.0, Status.OPTIMAL)

    monkeypatch.setattr(running.api, "resume", resume)
    campaign(tmp_path).run(problems_of(one))
    (read,) = asked
    assert read.parent == tmp_path / "campaign" / "checkpoints"
    (path,) = map(Path, written)
    assert path.parent == tmp_path / "campaign" / "certificates"


def test_a_checkpoint_of_another_instance_is_none(tmp_path, shops, monkeypatch):
    one, lines = shops[-1:], []
    record = campaign(tmp_path)._estimated(one[0], read_problem(one[0]))
    CampaignFolder(tmp_path / "campaign").save(replace(record, checkpoint="other"))
    saved = saved_after(3.0)
    saved.spec.problem = read_problem(shops[0])
    monkeypatch.setattr(running, "load_checkpoint", lambda _path: saved)
    result = fake_result(9.0, Status.OPTIMAL)
    monkeypatch.setattr(running.api, "solve", lambda *_, **__: result)
    monkeypatch.setattr(running.api, "resume", None)
    (found,) = campaign(tmp_path, lines).run(problems_of(one))
    assert found.proved
    assert any("begins anew: expected it of this instance" in line for line in lines)


def test_nothing_below_a_cutoff_is_a_bound_and_no_optimum(tmp_path, shops):
    one, lines = shops[-1:], []
    (proved,) = campaign(tmp_path / "whole").run(problems_of(one))
    below = campaign(tmp_path, lines, time_limit_s=60.0)
    below.options = below.options.replace(cutoff=proved.makespan)
    (record,) = below.run(problems_of(one))
    assert (record.status, record.makespan) == ("infeasible_cutoff", None)
    assert (record.lower_bound, record.proved) == (proved.makespan, False)
    assert record.limit_s < 60.0
    assert classes([record])[-1][2] == 0
    assert (tmp_path / "campaign" / record.certificate).is_file()
    assert below.run(problems_of(one)) == [record]
    assert lines[-1] == "1 instances, 1 of them with nothing to do"
    (last,) = campaign(tmp_path, time_limit_s=60.0).run(problems_of(one))
    assert last.proved
    assert (last.status, last.makespan) == ("optimal", proved.makespan)


def test_a_bound_of_before_is_not_forgotten(tmp_path, shops, monkeypatch):
    """A schedule of its value that is found later closes the instance."""
    below = replace(
        fake_result(3.0), status=Status.INFEASIBLE_CUTOFF,
        makespan=None, permutation=None, lower_bound=98,
    )  # fmt: skip
    known = replace(fake_result(4.0), makespan=98)
    results = [below, fake_result(3.0), known]
    monkeypatch.setattr(running.api, "solve", lambda *_, **__: results.pop(0))
    one = shops[-1:]
    found = [campaign(tmp_path).run(problems_of(one))[0] for _ in range(3)]
    assert [(r.status, r.makespan, r.lower_bound) for r in found] == [
        ("infeasible_cutoff", None, 98), ("feasible", 99, 98), ("optimal", 98, 98)
    ]  # fmt: skip
    assert found[1].checkpoint is None  # none was written


def test_a_checkpoint_that_is_gone_is_named_and_its_nodes_stay(
    tmp_path, shops, monkeypatch
):
    results = [
        replace(fake_result(seconds, status), decomposed=5, energy_j=energy)
        for seconds, status, energy in (
            (3.0, Status.FEASIBLE, 2.0),
            (4.0, Status.FEASIBLE, None),
            (9.0, Status.OPTIMAL, 7.0),
        )
    ]
    limits = []

    def solve(*_, **how):
        if "options" in how:
            limits.append(how["options"].time_limit_s)
            saved = Path(how["options"].checkpoint, "checkpoint-000001.dpbb")
            saved.parent.mkdir()
            saved.write_bytes(b"")
        return results.pop(0)

    monkeypatch.setattr(running.api, "solve", solve)
    one, lines = shops[-1:], []
    (record,) = campaign(tmp_path, lines, time_limit_s=3.0).run(problems_of(one))
    shutil.rmtree(tmp_path / "campaign" / record.checkpoint)
    assert not any("begins anew" in line for line in lines)
    (record,) = campaign(tmp_path, lines, time_limit_s=7.0).run(problems_of(one))
    (line,) = [line for line in lines if "begins anew" in line]
    assert f"{tmp_path}/campaign/{record.checkpoint}" in line
    assert limits == [3.0, 4.0]
    took = record.totals
    assert (took.seconds, took.decomposed, took.energy_j) == (7.0, 10, 2.0)
    # the next goes on from the second, whose nodes its result has
    monkeypatch.setattr(running, "load_checkpoint", lambda _path: saved_after(4.0))
    monkeypatch.setattr(running.api, "resume", solve)
    (record,) = campaign(tmp_path).run(problems_of(one))
    took = record.totals
    assert (took.seconds, took.decomposed, took.energy_j) == (12.0, 10, 9.0)
    assert record.attempts == 3


def test_a_known_schedule_is_where_the_search_starts(tmp_path, shops):
    runs = campaign(tmp_path)
    runs.options = runs.options.replace(heuristics="none")
    order = (6, 5, 4, 3, 2, 1, 0)
    name = "shop7"
    runs.schedules = {name: KnownSchedule(order, "table, best.csv")}
    (record,) = runs.run(problems_of(shops[-1:]))
    assert (record.instance, record.known_from) == (name, "table, best.csv")
    assert record.trajectory[0][2] == "initial"
    assert record.options["initial"] == list(order)
    best = replace(record, trajectory=record.trajectory[:1])
    assert best.found_by == "table, best.csv"


def test_a_record_that_does_not_hold_is_not_taken_for_a_proof(tmp_path, shops):
    one = campaign(tmp_path)
    (record,) = one.run(problems_of(shops[2:]))
    one.folder.save(replace(record, makespan=1, lower_bound=1, certificate=None))
    match = f"expected a record that holds, .*makespan {record.makespan}, not 1"
    with pytest.raises(DpbbError, match=match):
        campaign(tmp_path).run(problems_of(shops[2:]))
