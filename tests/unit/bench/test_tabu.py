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
    for part, arm in (("grid", ""), ("carveout", "(carveout=7)")):
        for seed, seconds in ((1, 4.0), (2, 6.0)):
            for way, share in (("none", 1), ("prefix", 0.8), ("both", 0.5 / seed)):
                bench.rows.append(
                    tabu.Row(
                        *(part, "40x900", seed, way, 10, 1, "gpu", arm),
                        *(seconds * share, 1e9, 5, 5),
                    )
                )
    bench._print()
    out = capsys.readouterr().out
    micro = "| 500,000.0 (600,000.0) | 400,000.0 (480,000.0) | 175,000.0 (200,000.0) "
    assert out.count(f"| 40x900 | 10 | 1 {micro}| - | 1.25 (1.25) | 1.31 | 3.00 ") == 2
    assert "| 1e+09 | - | usual |\n" in out
    assert "| 1e+09 | - | (carveout=7) |\n" in out


def test_the_paper_s_shared_memory_is_compared_with_all_seeds():
    args = tabu.argparse.ArgumentParser()
    tabu.add_arguments(args)
    bench = tabu.Bench(args.parse_args(["--seeds", "1", "2", "--ways", "none"]))
    bench.device = "a GPU"
    bench._carveouts()
    rows = [row for row, _, _ in bench.planned]
    assert {(row.size, row.seed) for row in rows} == {
        (size, seed) for size in tabu.CARVED_SIZES for seed in (1, 2)
    }
    kinds = {(row.searches, row.arm) for row in rows}
    assert len(kinds) == 6  # one and many, as usual and two shares
    assert len(rows) == 24


def test_cores_are_compared_seed_by_seed():
    args = tabu.argparse.ArgumentParser()
    tabu.add_arguments(args)
    bench = tabu.Bench(args.parse_args([]))

    def row(part, seed, searches, rate):
        device = "cpu 16" if part == "cpu" else "gpu"
        bench.rows.append(
            tabu.Row(
                *(part, "40x900", seed, "both", 10, searches, device, ""),
                *(1.0, rate, 5, 5),
            )
        )

    for seed in (1, 2):
        row("cpu", seed, 1, 1e6 * seed)
        row("grid", seed, 1, 2e7)
        row("grid", seed, 1, 1e7)  # with fewer generations
        row("batch", seed, 264, 4e8)
    row("grid", 3, 1, 1e9)  # no such seed on cores
    assert list(bench._against_cores()) == [
        "40x900 both on cpu 16: 1.5e+06 (1e+06) neighbours/s (10 generations); GPU: "
        "15 (10) times that with 1 searches, 300 (200) times that with 264 searches"
    ]
