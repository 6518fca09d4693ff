"""The suite of heuristics: its table, its file, what it finds wrong."""

import json

import pytest

from dpbb.bench import heuristics
from dpbb.cli import main
from dpbb.flowshop import read_instance


def bench(*arguments):
    return main(["bench", "heuristics", *map(str, arguments)])


def test_it_goes_on_from_its_file_and_writes_table_and_plot(tmp_path, capsys):
    runs, table, plot = (tmp_path / name for name in ("r.jsonl", "t.json", "p.svg"))
    small = ("--classes", "20x5", "--members", 1, "--limits", 0.2, "--threads", 1)
    assert bench(*small, "--methods", "ig", "--runs", runs) == 0
    assert "1 runs, 0 made before" in capsys.readouterr().out
    with runs.open("a") as file:
        file.write('{"instance": "ta0')  # as a run that is killed while it writes
    more = ("--methods", "ig", "beam", "--seeds", 2, "--runs", runs)
    assert bench(*small, *more, "--json", table, "--plot", plot) == 0
    out = capsys.readouterr().out
    assert "4 runs, 1 made before" in out
    lines = [json.loads(line) for line in runs.read_text().splitlines()]
    names = {(line["instance"], line["method"], line["seed"]) for line in lines}
    assert len(lines) == len(names) == 4
    assert {line["instance"] for line in lines} == {"ta001"}
    rows = {row["method"]: row for row in json.loads(table.read_text())["table"]}
    for method, row in rows.items():
        values = [line["value"] for line in lines if line["method"] == method]
        assert (row["class"], row["instances"], row["seeds"]) == ("20x5", 1, 2)
        mean = sum(values) / 2
        assert row["arpd"] == pytest.approx(100 * (mean / 1278 - 1), abs=1e-3)
    assert plot.read_text().lstrip().startswith("<?xml")


def test_a_line_that_was_changed_is_found_out(tmp_path, capsys):
    runs = tmp_path / "runs.jsonl"
    small = ("--classes", "20x5", "--members", 1, "--limits", 0.1, "--threads", 1)
    assert bench(*small, "--runs", runs) == 0
    line = json.loads(runs.read_text())
    worse = [line["trajectory"][0], line["trajectory"][0]]
    runs.write_text(json.dumps({**line, "value": 1270, "trajectory": worse}) + "\n")
    capsys.readouterr()
    assert bench(*small, "--runs", runs) == 1
    out = capsys.readouterr().out
    assert "1270 is said of a schedule of 1278" in out
    assert "not every incumbent is better" in out
    runs.write_text("{}\n" + runs.read_text())
    assert bench(*small, "--runs", runs) == 2
    assert f"got {runs}, line 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--classes", "50x21"), "--classes: expected 20x5, 20x10"),
        (("--limits", "0"), "--limits: expected seconds above 0, got 0"),
        (("--seeds", "0"), "--seeds: expected at least 1, got 0"),
        (("--threads", "100000"), "threads in all, as many CPUs as there are, got 1 x"),
    ],
)
def test_bad_input_is_refused(arguments, message, capsys):
    assert bench(*arguments) == 2
    assert message in capsys.readouterr().err


def test_what_would_end_too_late_is_left_out(capsys):
    assert bench("--limits", 50, "--budget-s", 10, "--threads", 1) == 0
    assert "40 runs left out by --budget-s" in capsys.readouterr().out


@pytest.mark.parametrize("name", heuristics.TAILLARD)
def test_classes_are_of_the_size_they_say(name):
    for member in (1, 10):
        shop = read_instance(heuristics.member_of(name, member))
        assert f"{shop.n_jobs}x{shop.n_machines}" == name
