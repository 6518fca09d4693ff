"""The tables in ``results``: what they say is what schedules and certificates show."""

from __future__ import annotations

import csv
import importlib.util
import math
import subprocess
import sys
from pathlib import Path

import pytest

from dpbb.campaign.folder import CampaignFolder, doubt_of
from dpbb.campaign.table import OURS, checked, problem_of, read_table
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.proof.verify import verify

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
TABLES = {
    name: {row.instance: row for row in read_table(RESULTS / f"{name}.json")}
    for name in ("makespan", "blocking", "total-completion")
}
FOLDERS = ".", "ta", "blocking", "total-completion"
CLOSED = sorted(RESULTS.glob("certificates/*"))


def test_pages_are_those_of_the_tables():
    """If not: run ``python docs/make_table.py``."""
    path = ROOT / "docs/make_table.py"
    found = importlib.util.spec_from_file_location("make_table", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    for name, text in module.pages().items():
        assert (RESULTS / name).read_text(encoding="utf-8") == text


def test_there_is_a_row_of_each_instance_and_little_room_is_taken():
    assert [len(rows) for rows in TABLES.values()] == [600, 120, 120]
    sizes = [path.stat().st_size for path in RESULTS.rglob("*") if path.is_file()]
    assert sum(sizes) <= 10e6


@pytest.mark.parametrize("name", TABLES)
def test_bounds_schedules_and_certificates_hold(name):
    """Without their files, of VRF those that a certificate has are evaluated."""
    rows = [*TABLES[name].values()]
    assert checked(rows, RESULTS / f"{name}.json", None)[0] == []
    ours = [f for row in rows for f in row.lb_data if f.solver == OURS]
    assert all(f.file and f.certificate == "yes" for f in ours)


@pytest.mark.data
def test_vrf_schedules_hold(shared):
    rows = [row for row in TABLES["makespan"].values() if row.family == "vrf"]
    folder = str(shared / "data")
    doubts, count = checked(rows, RESULTS / "makespan.json", folder)
    assert doubts == []
    assert "of 480 with schedules 480 were evaluated" in count


def figures(row, side):
    """Values of others, refuted ones too, by what is said of them."""
    return {f.value for f in (*getattr(row, side), *row.refuted) if f.solver != OURS}


@pytest.mark.data
def test_figures_of_others_are_those_of_their_sources(shared):
    text = (shared / "data/pfsp_bounds.csv").read_text(encoding="utf-8")
    for line in csv.DictReader(text.splitlines(), delimiter=";"):
        row = TABLES["makespan"][line["name"]]
        assert {int(line["lb"])} <= figures(row, "lb_data") <= {
            int(line["lb"]), int(line["lb2_root"])
        }  # fmt: skip
        theirs = [f for f in row.ub_data if f.solver != OURS]
        order = tuple(map(int, line["permutation_1based"].split()))
        left_out = order * (row.upper_bound < int(line["ub"]))  # ours says more
        shown = [(f.value, f.schedule or left_out) for f in theirs]
        assert shown == [(int(line["ub"]), order)]
        assert all(f.source for f in (*theirs, *row.refuted))
    text = (shared / "data/variants_best_known.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in csv.DictReader(lines):
        name = line["problem"].removesuffix("-makespan").removesuffix("-time")
        row = TABLES[name][line["instance"]]
        lower = {math.ceil(float(line["lb"]))} if line["lb"] else set()
        if name == "blocking" and row.status == "open":  # than with buffers, at least
            lower.add(TABLES["makespan"][line["instance"]].lower_bound)
        assert figures(row, "lb_data") == lower
        assert figures(row, "ub_data") == {int(line["ub"])}


def test_every_certificate_is_in_a_table_with_its_verdict():
    named = {
        figure.file: figure.verdict
        for rows in TABLES.values()
        for row in rows.values()
        for figure in row.lb_data
        if figure.file
    }
    there = [*RESULTS.glob("certificates/*"), *RESULTS.glob("*/certificates/*")]
    assert {path.relative_to(RESULTS).as_posix() for path in there} == {*named}
    assert {*named.values()} <= {*checker.EXIT, ""}


@pytest.mark.parametrize("folder", FOLDERS)
def test_records_hold_and_say_no_more_than_the_tables(folder):
    rows = TABLES.get(folder, TABLES["makespan"])
    records = CampaignFolder(RESULTS / folder).records().values()
    assert records
    for record in records:
        row = rows[record.instance]
        problem = problem_of(row, RESULTS)
        assert doubt_of(record, RESULTS / folder, problem=problem) == ""
        assert record.cost >= row.upper_bound
        if record.certificate:
            assert record.lower_bound <= row.lower_bound


@pytest.mark.parametrize("folder", ["bounds", "."])
def test_books_add_up(folder):
    for file in (RESULTS / folder / "certificates").iterdir():
        assert all(check.ok for check in verify(file, draws=0).checks), file


@pytest.mark.slow
@pytest.mark.parametrize("file", CLOSED, ids=lambda path: path.name)
def test_both_checkers_find_nothing_false(file):
    """Of books, and a few parts of one: ``docs/table.md`` says how to do more."""
    found = verify(file, nodes=400_000, draws=4 if file is CLOSED[0] else 0)
    assert all(check.ok for check in found.checks)
    assert found.verdict in checker.EXIT
    program = [sys.executable, checker.__file__, file, "--draws=0", "--nodes=400000"]
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
