"""The rows of ``dpbb list``."""

from dataclasses import replace

from dpbb.cli import list_runs
from tests.unit.progress.fakes import SNAPSHOT


def test_a_long_name_does_not_make_wide_rows():
    name = "shop_" * 26 + "v17"
    row = list_runs._row(replace(SNAPSHOT, instance=name))
    assert len(row[1]) == list_runs.NAME_WIDTH
    assert row[1].startswith("shop_")
    assert row[1].endswith("v17")
    assert list_runs._row(SNAPSHOT)[1] == "ta021"
    assert list_runs._row(replace(SNAPSHOT, instance="a\x1b[31mb"))[1] == "a?[31mb"
