import json
from dataclasses import replace

import pytest

from dpbb.campaign.folder import CampaignFolder
from dpbb.campaign.sets import read_schedules
from dpbb.campaign.table import read_table, row_of
from dpbb.cli import main
from dpbb.flowshop.family import read_problem
from dpbb.proof.certificate import Certificate
from tests.unit.campaign.test_checking import CONTENT, GOOD, ORDER, OTHERS, VALUE

SHOP, LOWER = read_problem("ta001", blocking=True), "certificates/lower.json.gz"


@pytest.fixture
def folder(tmp_path):
    folder = CampaignFolder(tmp_path / "run")
    folder.save(GOOD)
    (folder.path / "certificates").mkdir()
    Certificate(CONTENT).write(folder.path / GOOD.certificate)
    Certificate(OTHERS["lower"]).write(folder.path / LOWER)
    return folder


def report(*words):
    return main(["report", *map(str, words)])


def test_a_table_is_in_the_form_of_bks_json(folder, tmp_path):
    file = tmp_path / "bks.json"
    assert report(folder.path, "--write", file) == 0
    (row,) = json.loads(file.read_text())
    names = "instance", "size", "family", "status", "lower_bound", "upper_bound"
    assert [row[name] for name in names] == [
        *("ta001", "20 x 5", "ta", "closed", VALUE, VALUE)
    ]  # fmt: skip
    for side, more in (("lb_data", {"file"}), ("ub_data", {"schedule"})):
        ours, published = row[side]
        form = {"value", "date", "solver", "hardware", "time", "certificate"}
        assert {*published} == form | {"source"}
        assert {*ours} == form | {"nodes"} | more
        assert (ours["certificate"], published["certificate"]) == ("yes", "no")
    assert row["lb_data"][0]["file"] == f"run/{GOOD.certificate}"
    assert row["ub_data"][0]["schedule"] == [job + 1 for job in ORDER]


def test_a_lower_bound_is_what_its_certificate_shows(folder):
    record = replace(GOOD, status="feasible", certificate=LOWER)
    found = row_of(record, folder.path).lb_data
    assert {figure.value for figure in found if figure.file} == {VALUE - 1}


def test_another_report_reads_it_back_and_checks_all(folder, tmp_path, capsys):
    file, other = tmp_path / "bks.json", tmp_path / "there" / "bks.json"
    report(folder.path, "--write", file)
    capsys.readouterr()
    other.parent.mkdir()
    assert report(file, "--write", other) == 0
    assert capsys.readouterr().err == ""
    (row,) = read_table(other)
    assert row.lb_data[0].file == f"../run/{GOOD.certificate}"
    assert report(other, file, folder.path, "--write", other) == 0
    assert read_table(other) == [row]
    (known,) = read_schedules(file).values()
    assert known.permutation == ORDER
    right = json.loads(file.read_text())
    for path, value, doubt in (
        (("ub_data", 0, "value"), VALUE - 1, "upper_bound is"),
        (("ub_data", 0, "schedule"), [1] * 20, "its permutation is none of 20"),
        (("lb_data", 0, "value"), VALUE - 1, f"has the lower bound {VALUE}"),
        (("lb_data", 0, "file"), "none.json.gz", "is not there"),
        (("lb_data", 0, "file"), f"run/{LOWER}", f"has the lower bound {VALUE - 1}"),
        (("status",), "open", "its figures have closed"),
    ):
        wrong = json.loads(file.read_text())
        part = wrong[0]
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = value
        file.write_text(json.dumps(wrong))
        assert report(file) == 1
        assert doubt in capsys.readouterr().err
        file.write_text(json.dumps(right))
    of_others = {
        "instance": "ta30js", "size": "20 x 20", "type": "jobshop", "family": "ta",
        "family_long": "Taillard 1993", "status": "open",
        "lower_bound": 1562, "upper_bound": 1584,
        "lb_data": [{"value": 1562, "date": "2026-06-01", "solver": "OptalCP"}],
        "ub_data": [{"value": 1584, "date": "2002-01-01", "solver": "NS2002"}],
    }  # fmt: skip
    for side in "lb_data", "ub_data":
        of_others[side][0] |= {"hardware": None, "time": None, "certificate": "no"}
    file.write_text(json.dumps([*right, of_others]))
    assert report(file) == 0
    assert "2 instances, 1 closed; of 1 with sch" in capsys.readouterr().out
    for wrong in ([{}], [of_others | {"size": "20"}]):
        file.write_text(json.dumps(wrong))
        assert report(file) == 2
        assert f"{file}: expected a table of bounds, got" in capsys.readouterr().err


def test_what_a_schedule_refutes_is_no_lower_bound(folder, tmp_path):
    """Nor is one of ours without a certificate; problems have rows of their own."""
    shop = replace(
        GOOD, digest=SHOP.digest, features="no buffers", makespan=SHOP.evaluate(ORDER),
        best_lower=None, best_upper=None, status="feasible", certificate=None,
    )  # fmt: skip
    folder.save(replace(GOOD, best_lower=VALUE + 5))
    folder.save(shop)
    file = tmp_path / "bks.json"
    assert report(folder.path, "--write", file) == 0
    first, second = sorted(read_table(file), key=lambda row: row.features)
    assert [figure.value for figure in first.refuted] == [VALUE + 5]
    assert (first.lower_bound, first.status) == (VALUE, "closed")
    assert (second.lower_bound, second.status) == (None, "open")
    assert second.upper_bound == shop.makespan > VALUE
    assert report(file) == 0
