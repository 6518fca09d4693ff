"""What the folder ``results`` says was closed is what its certificates say."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpbb.campaign.checking import doubt_of
from dpbb.campaign.folder import CampaignFolder
from dpbb.flowshop.best_known import best_known_of_digest
from dpbb.flowshop.family import read_problem
from dpbb.problems import decoded
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.proof.verify import verify
from dpbb.result import Status

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
RECORDS = list(CampaignFolder(RESULTS).records().values())
CLOSED = [record for record in RECORDS if record.proved]


@pytest.fixture(scope="module")
def make():
    """Return ``docs/make_closed.py`` as a module."""
    path = ROOT / "docs/make_closed.py"
    found = importlib.util.spec_from_file_location("make_closed", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_tables_are_those_of_the_records(make):
    """If not: run ``python docs/make_closed.py``."""
    for name, table in make.TABLES.items():
        assert (RESULTS / name).read_text(encoding="utf-8") == table()


def test_certificates_that_tables_and_news_name_are_there(make):
    named = [row["certificate"] for name in make.TAILLARD for row in make.rows_of(name)]
    lines = make.news().splitlines()
    for line in lines:
        file = line.partition("; certificate ")[2]
        assert file or "lower bound" not in line or line.endswith("not certified")
        named.append(file)
    for file in filter(None, named):
        assert (RESULTS / file).is_file()
    assert len({line.partition(":")[0] for line in lines}) == len(lines)


@pytest.mark.parametrize(
    ("folder", "how"),
    [
        ("blocking", {"blocking": True}),
        ("total-completion", {"objective": "total-completion"}),
    ],
)
def test_other_problems_cost_what_is_said(folder, how):
    found = CampaignFolder(RESULTS / folder).records().values()
    assert [record.proved for record in found] == [True] * 30
    for record in found:
        problem = read_problem(record.instance, **how)
        assert doubt_of(record, RESULTS / folder, problem=problem) == ""


def test_what_explored_as_much_as_its_estimate_comes_last(make):
    rows = [line.split("|") for line in make.open_ones(1e3).splitlines()[4:]]
    last = [row[6].strip().startswith(">") for row in rows]
    assert any(last)
    assert last == sorted(last)


def test_bounds_are_better_and_their_books_add_up(make):
    found = make.records(make.BOUNDS)
    assert found
    for record in found:
        file = make.BOUNDS / record.certificate
        checked = verify(file, draws=0)
        assert all(check.ok for check in checked.checks)
        assert (checked.digest, checked.lower_bound) == (
            record.digest, record.lower_bound
        )  # fmt: skip
        assert record.best_lower < record.lower_bound <= record.best_upper
        assert f"lower bound {record.lower_bound}" in record.news
        assert best_known_of_digest(record.digest).name == record.instance
    there = {file.name for file in (make.BOUNDS / "certificates").iterdir()}
    assert there == {Path(record.certificate).name for record in found}


def test_certificates_are_those_of_what_was_closed():
    named = {record.certificate for record in CLOSED}
    there = {f"certificates/{one.name}" for one in RESULTS.glob("certificates/*")}
    assert there == named


@pytest.mark.parametrize("record", CLOSED, ids=lambda one: one.instance)
def test_a_record_claims_what_its_schedule_and_its_certificate_show(record):
    content = Certificate.read(RESULTS / record.certificate).content
    problem = decoded({"kind": checker.KIND, **content["instance"]})
    assert problem.digest == record.digest
    assert best_known_of_digest(record.digest).name == record.instance
    order = np.array(record.permutation, np.intp)
    assert problem.evaluate(order) == record.makespan == record.lower_bound
    claim = content["result"]
    assert (claim["status"], claim["lower_bound"]) == (record.status, record.makespan)
    if record.status != Status.OPTIMAL:
        assert record.known_from
    nodes, of_all = content["totals"]["decomposed"], record.totals.decomposed
    assert nodes <= of_all if record.strategy == "from-below" else nodes == of_all


@pytest.mark.slow
@pytest.mark.parametrize("record", CLOSED, ids=lambda one: one.instance)
def test_both_checkers_find_nothing_false(record):
    """Of books, and a few parts of one: ``docs/closed.md`` says how to do more."""
    file = RESULTS / record.certificate
    found = verify(file, nodes=400_000, draws=4 if record is CLOSED[0] else 0)
    assert all(check.ok for check in found.checks)
    assert found.verdict in checker.EXIT
    program = [sys.executable, checker.__file__, file, "--draws", "0"]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=300)  # noqa: S603
    assert ended.returncode in checker.EXIT.values(), ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(RESULTS.glob("finer/*")), ids=lambda p: p.name)
def test_finer_books_are_those_of_the_same_claim_and_tree(path):
    """With units at one bound, the largest of which an audit can explore again."""
    fine = Certificate.read(path).content
    run = Certificate.read(RESULTS / "certificates" / path.name).content
    for name in ("instance", "tree", "result", "totals"):
        assert fine[name] == run[name]
    checker.check_form(fine)
    checker.check_instance(fine)
    assert all(part.exact for part in checker.check_books(fine))
    assert max(sum(row[1:3]) for row in fine["units"]) < 2e9


def test_records_of_taillards_instances_hold():
    folder = CampaignFolder(RESULTS / "ta")
    records = folder.records().values()
    assert len(records) == 98
    for record in records:
        assert record.proved
        assert record.makespan == record.lower_bound
        assert (folder.path / record.certificate).is_file()
        assert not doubt_of(record, folder.path)
