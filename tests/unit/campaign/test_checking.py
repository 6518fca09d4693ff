"""Records that were changed by hand, and what a report says of them."""

import csv
import errno
import json
from dataclasses import replace

import numpy as np
import pytest

from dpbb.campaign.folder import CampaignFolder, Record, doubt_of, read_all
from dpbb.campaign.report import classes
from dpbb.campaign.table import read_table
from dpbb.cli import main
from dpbb.flowshop.family import read_problem
from dpbb.options import TreeOptions
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate

PROBLEM = read_problem("ta001")
ORDER = (8, 2, 16, 5, 3, 10, 14, 4, 13, 18, 7, 12, 17, 15, 6, 0, 1, 9, 19, 11)
VALUE = PROBLEM.evaluate(np.array(ORDER))
GOOD = Record(
    source="ta001", instance="ta001", digest=PROBLEM.digest, n_jobs=20, n_machines=5,
    status="optimal", makespan=VALUE, permutation=ORDER, lower_bound=VALUE,
    best_lower=VALUE - 1, best_upper=VALUE + 1, attempts=1,
    certificate="certificates/ta001.json.gz",
)  # fmt: skip
CONTENT = {
    "format": checker.FORMAT,
    "schema": checker.SCHEMA,
    "instance": PROBLEM.encode() | {"name": "ta001", "digest": PROBLEM.digest},
    "result": {"status": "optimal", "makespan": VALUE, "permutation": [*ORDER]}
    | {"lower_bound": VALUE, "ub": VALUE, "all_optima": False},
    "tree": TreeOptions().to_json() | {"n_jobs": 20, "trivial_ub": 9999},
    "totals": {"decomposed": 0, "leaves": 0, "closed": []},
    "bounds": [],
    "units": [],
}
OTHERS = {
    "lower": CONTENT | {"result": CONTENT["result"] | {"lower_bound": VALUE - 1}},
    "upper": CONTENT | {"result": CONTENT["result"] | {"lower_bound": VALUE + 1}},
    "typed": CONTENT | {"result": CONTENT["result"] | {"lower_bound": "x"}},
}


NINE = {"makespan": 9, "lower_bound": 9}


def with_certificate(name):
    return {"certificate": f"certificates/{name}", "proof": "tree_exhausted"}


@pytest.fixture
def folder(tmp_path):
    folder = CampaignFolder(tmp_path)
    (tmp_path / "certificates").mkdir()
    Certificate(CONTENT).write(tmp_path / GOOD.certificate)
    for name, content in OTHERS.items():
        Certificate(content).write(tmp_path / f"certificates/{name}.json.gz")
    (tmp_path / "certificates/empty").write_bytes(b"")
    folder.save(GOOD)
    return folder


@pytest.mark.parametrize(
    ("changes", "doubt"),
    [
        ({}, ""),
        ({"digest": "f" * 64}, "its certificate certificates/ta001.json.gz is of an"),
        (with_certificate("ta001.json.gz"), ""),
        (with_certificate("empty"), "its certificate certificates/empty is none"),
        (with_certificate("typed.json.gz"), "its certificate certificates/typed.json."),
        (with_certificate("lower.json.gz"), "its certificate certificates/lower.json."),
        (with_certificate("upper.json.gz"), "its certificate certificates/upper.json."),
        ({"status": "estimated", "makespan": None, "permutation": None}, ""),
        ({"certificate": "certificates/x"}, "its certificate certificates/x is not th"),
        ({"makespan": None}, "it is optimal without a makespan"),
        ({"permutation": (*ORDER[:-1], 8)}, "its permutation is none of 20 jobs"),
        ({"lower_bound": VALUE - 1}, "it is optimal with makespan"),
        (
            {"status": "infeasible_cutoff", "lower_bound": VALUE + 1, "makespan": None}
            | {"permutation": None, "certificate": None},
            f"its lower bound {VALUE + 1} is above {VALUE}, which is known",
        ),
        (NINE | {"certificate": None}, f"its permutation has makespan {VALUE}, n"),
        ({"n_jobs": 2, "permutation": (0, 1)}, "its digest or size is not that of ta0"),
        ({"proof": "uncut_beam"}, "its proof is uncut_beam"),  # of older versions
    ],
)
def test_what_is_wrong_in_a_record_is_seen(folder, changes, doubt):
    found = doubt_of(replace(GOOD, **changes), folder.path)
    assert found.startswith(doubt)
    assert bool(found) == bool(doubt)


def test_a_report_writes_nothing_where_the_records_are(folder, tmp_path):
    (tmp_path / "campaign.lock").mkdir()  # not even a lock
    assert main(["report", str(tmp_path)]) == 0


def test_records_that_cannot_be_read_are_not_passed_over(
    folder, tmp_path, capsys, monkeypatch
):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("os.listdir", refuse)
    monkeypatch.setattr("os.scandir", refuse)
    assert main(["report", str(tmp_path)]) == 1
    said = f"dpbb: error: {tmp_path / 'records'}: Permission denied\n"
    assert capsys.readouterr().err == said


def test_what_can_be_written_of_a_report_is(folder, tmp_path, capsys):
    """Suffixes are looked at first; where nothing is proved nothing is drawn."""
    folder.save(replace(GOOD, status="feasible", lower_bound=9, certificate=None))
    files = [str(tmp_path / name) for name in ("a.csv", "b.png", "c.md", "d.doc")]
    words = ["report", str(tmp_path)]
    written = [word for name in files for word in ("--write", name)]
    assert main([*words, *written]) == 2
    out, err = capsys.readouterr()
    assert (out, "--write: expected a file ending in .csv" in err) == ("", True)
    assert not (tmp_path / "a.csv").exists()
    assert main([*words, *written[:-2]]) == 2
    assert "expected a proved instance to draw, got none" in capsys.readouterr().err
    there = [(tmp_path / name).exists() for name in ("a.csv", "b.png", "c.md")]
    assert there == [True, False, True]


def test_all_records_of_several_folders_are_reported(folder, tmp_path):
    """Certificates with their folders; a table has the best of both."""
    other, table = CampaignFolder(tmp_path / "other"), tmp_path / "all.csv"
    lower = replace(GOOD, status="feasible", lower_bound=9, certificate=None)
    other.save(lower)
    bounds = tmp_path / "bks.json"
    words = [str(tmp_path), str(other.path)]
    assert main(["report", *words, "--write", str(table), "--write", str(bounds)]) == 0
    rows = [*csv.DictReader(table.read_text().splitlines())]
    assert [(row["lower_bound"], row["certificate"]) for row in rows] == [
        (str(VALUE), str(tmp_path / GOOD.certificate)), ("9", "")
    ]  # fmt: skip
    assert classes(read_all([tmp_path, other.path])[0])[-1][1:3] == (1, 1)
    (row,) = read_table(bounds)
    assert (row.lower_bound, row.upper_bound) == (VALUE, VALUE)


def test_a_report_counts_no_record_that_does_not_hold(folder, tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 0
    assert f"- ta001: upper bound {VALUE} (was" in capsys.readouterr().out
    file = tmp_path / "records" / "ta001.json"
    values = json.loads(file.read_text())
    file.write_text(json.dumps(values | NINE | {"certificate": None}))
    table = tmp_path / "all.csv"
    assert main(["report", str(tmp_path), "--write", str(table)]) == 1
    out, err = capsys.readouterr()
    assert f"{file}: its permutation has makespan {VALUE}, not 9; not counted" in err
    assert "upper bound" not in out
    assert out.splitlines()[-1].split() == [
        *("|", "all", "|", "1", "|", "0", "|", "0", "|", "0", "|", "0", "|"),
        *("0", "|", "0", "|", "-", "|"),
    ]
    assert "ta001,20x5,makespan,,doubtful,9" in table.read_text()
