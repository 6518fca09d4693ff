"""``dpbb estimate``."""

from __future__ import annotations

import json


def test_estimate_as_json(dpbb):
    ran = dpbb(
        *("estimate", "ta005", "--upper-bound", 1235, "--json", "--seconds", 60),
        *("--branching", "minbranch", "--threads", 1, "--engine", "cpu"),
    )
    values = json.loads(ran.out)
    assert values["exact"] is True
    assert (values["decomposed"], values["leaves"]) == (11_570, 266)
    assert values["times"][0]["what"] == "cpu engine, 1 thread"
