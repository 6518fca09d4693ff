"""The suite without a device: its table, its files, its findings."""

import json

import pytest

from dpbb.bench import jobshop_table
from dpbb.cli import main
from dpbb.jobshop import load


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([(225, 0.5), (300, 2)], "faster from 300 operations on, not yet at 225"),
        ([(225, 1.5), (300, 2.0)], "faster from the smallest size on, 225 operations"),
        ([(300, 0.2), (225, 0.1)], "never faster up to 300 operations"),
        ([(9, 2), (99, 0.1)], "not faster at the largest size, 99 operations"),
        ([(9, 0.5), (99, 2), (150, 0.5), (300, 3)], "faster from 300 operations on"),
        # of an H200: two sets of 100 operations, on both sides of 1
        (
            [
                *((50, 0.258), (75, 0.522), (100, 0.909), (100, 1.18), (150, 2.52)),
                *((200, 3.22), (225, 4.71), (1000, 27.1), (2000, 50.1)),
            ],
            "faster from 150 operations on, not yet at 100",
        ),
    ],
)
def test_a_crossover_is_named(points, said):
    assert jobshop_table.crossover(points).startswith(said)


def test_sets_are_of_the_size_they_say():
    for name, (_, operations) in jobshop_table.SETS.items():
        if name.startswith("ta"):
            for member in jobshop_table._members(name)[
                :: jobshop_table.SETS[name][0] - 1
            ]:
                assert load(member).n_operations == operations


def test_the_suite_writes_what_it_measures(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(jobshop_table, "SETS", {"ta01-10": (2, 225)})
    files = {name: tmp_path / f"out.{name}" for name in ("json", "csv", "png")}
    code = main(
        [
            *("bench", "jobshop", "--sizes", "10x10", "--sets", "ta01-10"),
            *("--solutions", "500", "--repeat", "1", "--json", str(files["json"])),
            *("--csv", str(files["csv"]), "--plot", str(files["png"])),
        ]
    )
    out = capsys.readouterr().out
    assert code == 0, out
    report = json.loads(files["json"].read_text())
    assert report["failures"] == []
    (row,) = report["table"]
    assert (row["operations"], row["instances"], row["exact"]) == (225, 2, True)
    assert row["cpu_cubic_ms"] > row["cpu_sweep_ms"] > 0
    assert {rate["exact"] for rate in report["rates"]} == {True}
    assert files["csv"].read_text().startswith("name,operations,instances")
    assert files["png"].read_bytes().startswith(b"\x89PNG")


def test_a_part_that_fails_loses_no_other(tmp_path, capsys, monkeypatch):
    def fails(self, name):
        raise RuntimeError("no luck")

    monkeypatch.setattr(jobshop_table.Table, "_set", fails)
    code = main(
        [
            *("bench", "jobshop", "--sizes", "10x10", "--sets", "ta01-10"),
            *("--solutions", "200", "--repeat", "1"),
        ]
    )
    out = capsys.readouterr().out
    assert code == 1
    assert "FAILED: set ta01-10: RuntimeError('no luck')" in out
    assert "cpu, sequence, 1 thread(s)" in out


def test_what_the_budget_leaves_out_is_told(capsys):
    assert main(["bench", "jobshop", "--budget-s", "0"]) == 0
    assert "left out, the time is over: set ta01-10" in capsys.readouterr().out
