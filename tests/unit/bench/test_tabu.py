"""The suite without a device: what it measures, writes and does not repeat."""

import json

from dpbb.bench import tabu
from dpbb.cli import main


def test_rows_are_measured_once_and_compared(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tabu, "PAPER", {"3x12": ("1", "1", "1")})
    monkeypatch.setattr(tabu, "CPU_S", 0.0)
    file = tmp_path / "tabu.json"
    command = ["bench", "tabu", "--sizes", "3x12", "--generations", "4"]
    command += ["--seeds", "1", "--json", str(file)]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "3x12 both on cpu" in out
    rows = json.loads(file.read_text())["rows"]
    assert [row["way"] for row in rows] == ["none", "prefix", "both", "insert"]
    assert len({row["moves"] for row in rows[:3]}) == 1
    rows[0]["moves"] += 1
    rows[0]["seconds"] = 77.0
    file.write_text(json.dumps({"rows": rows}))
    assert main(command) == 1  # the moves are not the same any more
    assert "WRONG: other moves" in capsys.readouterr().out
    assert json.loads(file.read_text())["rows"][0]["seconds"] == 77.0


def test_the_table_has_means_and_the_worst(capsys):
    args = tabu.argparse.ArgumentParser()
    tabu.add_arguments(args)
    bench = tabu.Bench(args.parse_args(["--seeds", "1", "2"]))
    for seed, seconds in ((1, 4.0), (2, 6.0)):
        for way, share in (("none", 1), ("prefix", 0.8), ("both", 0.5 / seed)):
            bench.rows.append(
                tabu.Row(
                    *("grid", "40x900", seed, way, 10, 1, "gpu", ""),
                    *(seconds * share, 1e9, 5, 5),
                )
            )
    bench._print()
    out = capsys.readouterr().out
    assert "| 40x900 | 10 | 1 | 500,000.0 | 400,000.0 | 175,000.0 | - " in out
    assert "| 1.25 (1.25) | 1.31 | 3.00 (2.00) |" in out
