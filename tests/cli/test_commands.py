"""Commands that explore nothing: help, info, evaluate, engines, bench."""

from __future__ import annotations

import json

import pytest

import dpbb as package
from dpbb import cli
from dpbb.options import OPTIONS


@pytest.fixture
def shop(tmp_path):
    file = tmp_path / "shop.csv"
    file.write_text("job,cut,weld\ndoor,3,2\nframe,1,4\npanel,2,2\n")
    return file


def test_version(dpbb):
    assert dpbb("--version").out.strip() == package.__version__


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_its_help(dpbb, name):
    ran = dpbb(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"usage: dpbb {name}" in ran.out


def test_help_alone_has_every_command(dpbb):
    ran = dpbb("help")
    assert (ran.code, ran.err) == (0, "")
    assert all(f"\n    {name}" in ran.out for name in cli.COMMANDS)


def test_help_of_solve_has_every_option_and_the_exit_codes(dpbb):
    ran = dpbb("solve", "--help")
    words = " ".join(ran.out.split())
    for row in OPTIONS.values():
        assert row.flag in words
        assert row.help.replace("%", "%%").split(";")[0] in words
    assert "130 interrupted twice" in words


def test_info_as_json(dpbb, shop):
    facts = json.loads(dpbb("info", shop, "--json").out)
    assert (facts["n_jobs"], facts["n_machines"]) == (3, 2)
    assert facts["best_known_makespan"] is None
    assert len(facts["digest"]) == 64
    assert facts["lb1_root"] <= facts["lb1_children"] <= 9


def test_evaluate_prints_makespan_and_schedule(dpbb, shop, tmp_path):
    ran = dpbb("evaluate", shop, "1,0 2", "--output", tmp_path / "out.csv")
    assert ran.code == 0
    assert ran.out.startswith("makespan 9\n")
    assert ran.out.splitlines()[1].split() == ["job", "cut", "weld"]
    assert ran.out.splitlines()[2].split() == ["frame", "0-1", "1-5"]
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == "0,frame,cut,0,1"
    assert dpbb("evaluate", shop, "frame,door, panel").out == ran.out
    picture = "--output", tmp_path / "a.svg"
    assert dpbb("evaluate", shop, "1,0 2", *picture).code == 0
    assert "first job (frame)" in (tmp_path / "a.svg").read_text()
    dated = dpbb(
        "evaluate", shop, "1,0 2", "--origin", "2026-05-04T06:00", "--unit", "h"
    )
    assert dated.out.startswith("makespan 9 h (until 2026-05-04 15:00)\n")


def test_evaluate_knows_set_ups_buffers_lags_and_ovens(dpbb, shop, tmp_path):
    setups, lags = tmp_path / "setups.csv", tmp_path / "lags.csv"
    setups.write_text("from,door,frame,panel\ndoor,0,9,9\nframe,2,0,9\npanel,9,9,0\n")
    lags.write_text("job,cut\ndoor,3\nframe,0\npanel,0\n")
    for flags, options in (
        (("--setups", setups), {"setups": setups}),
        (
            ("--setups", setups, "--not-anticipatory"),
            {"setups": setups, "anticipatory": False},
        ),
        (("--lags", lags, "--unlimited", "weld"), {"lags": lags, "unlimited": [1]}),
        (("--buffers", "0"), {"blocking": True}),
    ):
        ran = dpbb("evaluate", shop, "frame,door,panel", *flags, "--json")
        expected = package.FlowShop(shop, **options).evaluate([1, 0, 2])
        assert json.loads(ran.out)["makespan"] == expected


def test_evaluate_takes_files_and_jobs_that_count_from_1(dpbb, shop, tmp_path):
    order = tmp_path / "order.txt"
    order.write_text("2 1 3\n")
    ran = dpbb("evaluate", shop, order, "--one-based", "--json")
    values = json.loads(ran.out)
    assert (values["makespan"], values["permutation"]) == (9, [1, 0, 2])
    assert values["end"][2] == [6, 9]


def test_engines_says_which_and_why_not(dpbb):
    found = {row["engine"]: row for row in json.loads(dpbb("engines", "--json").out)}
    assert found["cpu"]["reason"] is None
    assert found["cpu"]["devices"][0]["threads"] >= 1
    assert found["reference"]["reason"] is None
    assert (found["gpu"]["reason"] is None) == bool(found["gpu"]["devices"])
    text = dpbb("engines").out
    assert text.splitlines()[0].startswith("gpu")
    assert "thread(s)" in text


def test_data_check_reads_all_and_compares(dpbb, tmp_path, monkeypatch):
    (tmp_path / "VFR3_2_1.txt").write_text("3 2\n0 1 1 2\n0 3 1 4\n0 5 1 6\n")
    (tmp_path / "VFR10_5_1_Gap.txt").write_text("10 5\n" + "0 1 1 1 2 1 3 1 4 1\n" * 10)
    ran = dpbb("data", "check", tmp_path)
    assert ran.code == 1
    assert ran.out.startswith("0 of 480 VRF instances")
    assert "1 more of such names" in ran.out
    assert "expected the times of VFR10_5_1, got those of none" in ran.out
    assert "missing: 479 (VFR100_20_1, " in ran.out
    monkeypatch.setenv("DPBB_DATA", str(tmp_path))
    found = json.loads(dpbb("data", "check", "--json").out)
    assert found["right"] == ["VFR3_2_1"]
    assert list(found["wrong"]) == ["VFR10_5_1"]
    assert dpbb("data", "check", tmp_path / "none").code == 2
    (tmp_path / "VFR10_5_1_Gap.txt").unlink()
    (tmp_path / "broken.zip").write_bytes(b"no archive")
    ran = dpbb("data", "check")
    assert ran.code == 1  # all others are read
    assert "broken.zip: expected a ZIP archive" in ran.out
    assert json.loads(dpbb("data", "check", "--json").out)["right"] == ["VFR3_2_1"]
