"""``dpbb estimate``."""

from __future__ import annotations

import json


def test_estimate_as_json(dpbb):
    ran = dpbb(
        *("estimate", "ta005", "--upper-bound", 1235, "--samples", 1000000, "--json"),
        *("--branching", "minbranch", "--threads", 1, "--engine", "cpu", "--seed", 3),
    )
    values = json.loads(ran.out)
    assert values["exact"] is True
    assert (values["decomposed"], values["leaves"]) == (11_570, 266)
    assert values["seed"] == 3
    assert values["times"][0]["what"] == "cpu engine, 1 thread"


def test_estimate_of_a_file_makes_an_upper_bound(dpbb, tmp_path):
    shop = tmp_path / "shop.csv"
    shop.write_text("job,cut,weld\ndoor,3,2\nframe,1,4\npanel,2,2\n")
    values = json.loads(dpbb("estimate", shop, "--json").out)
    assert values["upper_bound"] == 9  # by Johnson's rule
    assert values["source"].startswith("by ")
    given = json.loads(dpbb("estimate", shop, "--upper-bound", 11, "--json").out)
    assert (given["upper_bound"], given["source"]) == (11, "")


def refuse(name):
    raise ValueError(f"{name} is no JSON")


def test_a_tree_beyond_all_numbers_is_told_as_such(dpbb):
    asked = ("estimate", "ta091", "--upper-bound", 10900, "--samples", 4)
    ran = dpbb(*asked)
    assert (ran.code, ran.err) == (0, "")
    assert "nodes        more than 10^300" in ran.out
    assert "WARNING      not reliable: there are more nodes than 10^300" in ran.out
    assert "inf" not in ran.out
    assert "nan" not in ran.out
    values = json.loads(dpbb(*asked, "--json").out, parse_constant=refuse)
    assert values["reliable"] is False
    assert 1 <= values["low"] <= values["nodes"] <= values["high"] <= 1e300
