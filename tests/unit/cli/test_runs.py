"""The rows of ``dpbb list``."""

import argparse
from contextlib import nullcontext
from dataclasses import replace

import pytest

from dpbb.cli import runs
from tests.unit.progress.fakes import SNAPSHOT


def test_a_long_name_does_not_make_wide_rows():
    name = "shop_" * 26 + "v17"
    row = runs._row(replace(SNAPSHOT, instance=name))
    assert len(row[1]) == runs.NAME_WIDTH
    assert row[1].startswith("shop_")
    assert row[1].endswith("v17")
    assert runs._row(SNAPSHOT)[1] == "ta021"
    assert runs._row(replace(SNAPSHOT, instance="a\x1b[31mb"))[1] == "a?[31mb"


@pytest.mark.parametrize("waits_for", ["", "workers"])
def test_what_a_run_waits_for_is_shown(monkeypatch, capsys, waits_for):
    snapshots = [SNAPSHOT, replace(SNAPSHOT, run_id="second", waits_for=waits_for)]
    monkeypatch.setattr(runs, "connected", lambda _args: nullcontext())
    monkeypatch.setattr("dpbb.api.runs", lambda _client: snapshots)
    assert runs.run_list(argparse.Namespace(json=False)) == 0
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.endswith("workers  waiting for" if waits_for else "workers")
    assert second.endswith(waits_for)
    assert not first.endswith("workers")
