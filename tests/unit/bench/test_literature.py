"""The literature's tables: what is measured, what is read, what is beside what."""

import json
from dataclasses import replace
from types import SimpleNamespace

from dpbb.bench import literature, multigpu
from dpbb.campaign import report
from dpbb.campaign.folder import CampaignFolder, Record
from dpbb.cli import main


def test_whole_trees_and_first_seconds_are_told_apart(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(literature, "TREES", {"ta016": 1397, "ta021": 2297})
    file = tmp_path / "rows.json"
    arguments = ["--part", "engines", "--threads", "2", "--json", str(file)]
    few = ["--trees", "ta016", "ta021", "--limit-s", "0.3", "--repeat", "2"]
    assert main(["bench", "literature", *arguments, *few]) == 0
    rows = json.loads(file.read_text())["engines"]
    assert [(row["tree"], row["how"], row["complete"]) for row in rows] == [
        ("ta016", "one core", True), ("ta016", "2 threads", True),
        ("ta021", "one core", False), ("ta021", "2 threads", False),
    ]  # fmt: skip
    assert [row["nodes"] for row in rows[:2]] == [1586, 1586]
    assert [len(row["seconds"]) for row in rows] == [2, 2, 1, 1]
    assert rows[0]["ratio"] == rows[2]["ratio"] == 1
    said = capsys.readouterr().out
    assert "published (K = 16,384)" in said
    assert literature.TIES in said
    assert said.count("(part)") == 2


def test_whole_solves_are_of_the_second_table(monkeypatch, capsys, tmp_path):
    asked = []

    def measure(gpus, instances, args, before):
        asked.append((gpus, args.engine, args.data, [*instances.values()]))
        counts = {"nodes": 7 + gpus, "units": 1, "donations": 0, "repetition": 0}
        times = dict.fromkeys(("wall_s", "nodes_per_s", "loop_s", "process_s"), 1.0)
        shares = dict.fromkeys(("efficiency", "in_engine"), 1.0)
        about = {"tree": "t", "instance": "i", "digest": "d", "ub": 9, "engine": "gpu"}
        known = {"complete": True, "exact": None, "gpus": gpus, "seats": gpus}
        return [
            multigpu.Measurement(
                **about, **counts, **times, **shares, **known, energy_j=None
            )
        ]

    def gpus_here(name):
        return SimpleNamespace(devices=lambda: [None] * 5)

    monkeypatch.setattr(literature, "get_engine", gpus_here)
    monkeypatch.setattr(multigpu, "_measure_cluster", measure)
    monkeypatch.setattr(multigpu, "read_instance", lambda name, data_dir: name)
    file = tmp_path / "rows.json"
    arguments = ["--part", "scaling", "--gpus", "1", "2", "--data", "here"]
    # two numbers of nodes for one tree
    assert main(["bench", "literature", *arguments, "--json", str(file)]) == 1
    names = ["VFR30_15_2", "VFR30_15_5", "VFR30_15_9"]
    assert asked == [(gpus, "gpu", "here", names) for gpus in (1, 2)]
    assert [row["gpus"] for row in json.loads(file.read_text())["scaling"]] == [1, 2]
    assert "27:23 h" in capsys.readouterr().out
    asked.clear()
    assert main(["bench", "literature", "--part", "scaling"]) == 1
    assert [gpus for gpus, *_ in asked] == [1, 2, 4]


def test_without_a_gpu_nothing_is_scaled(capsys):
    assert main(["bench", "literature", "--part", "scaling"]) == 0
    assert "no GPU to measure" in capsys.readouterr().out


def test_records_of_campaigns_are_beside_what_was_published(tmp_path, capsys):
    folder = CampaignFolder(tmp_path / "c")
    record = Record(
        source="ta090", instance="ta090", digest="d", n_jobs=100, n_machines=20,
        status="optimal", makespan=6404, lower_bound=6404, decomposed=4_000_000,
        permutation=tuple(range(100)),
        seconds=15.2, gpu_seconds=7.2, engine="gpu", proof="uncut_beam", attempts=1,
    )  # fmt: skip
    folder.save(record)
    left = {"instance": "ta101", "digest": "e", "status": "feasible"}
    folder.save(replace(record, **left, lower_bound=6000))
    cutoff = {"instance": "ta109", "digest": "k", "status": "infeasible_cutoff"}
    below = replace(record, **cutoff, makespan=None, permutation=None)
    folder.save(replace(below, lower_bound=11146))
    large = {"instance": "VFR100_20_1", "digest": "g", "source": "VFR100_20_1"}
    folder.save(replace(record, **large))
    folder.save(replace(record, instance="ta107", digest="h", makespan=1))
    arguments = ["--part", "closed", "--campaigns", str(folder.path)]
    assert main(["bench", "literature", *arguments]) == 0
    said = capsys.readouterr().out
    published = "| ta090 | 6404 | 128 | 78 | 3 | 1.68e+11 |"
    assert f"{published} 6,404 | 15.2 | 0.002 | 4e+06 | gpu | uncut_beam |" in said
    assert "2.25e+11 | >= 6,000 |" in said
    assert "1e+10 | >= 11,146 |" in said
    assert said.count("not tried") == 8
    assert "ta107-h.json: " in said
    assert "its lower bound 6404 is above its makespan 1; not counted" in said
    assert f"{literature.PUBLISHED_VFR}; here" in said
    assert "| 100x20 |         1 |      1 |" in said
    table = tmp_path / "report.csv"
    table.write_text(report.as_csv([record, below]))
    assert main(["bench", "literature", *arguments[:3], str(table)]) == 0
    said = capsys.readouterr().out
    assert f"{published} 6,404 | 15.2 | 0.002 | 4e+06 | gpu | uncut_beam |" in said
    assert "1e+10 | >= 6,404 |" in said
    table.write_text("instance,size\na,1x1\n")
    assert main(["bench", "literature", *arguments[:3], str(table)]) == 2


def test_bad_numbers_are_refused(capsys):
    assert main(["bench", "literature", "--limit-s", "-1"]) == 2
    assert "--limit-s: expected above 0, got -1.0" in capsys.readouterr().err
    assert main(["bench", "literature", "--threads", "-3"]) == 2
    assert "--threads: expected above 0, got -3" in capsys.readouterr().err


def test_what_is_no_folder_of_a_campaign_is_refused_and_not_made(tmp_path, capsys):
    other = tmp_path / "other"
    arguments = ["--part", "closed", "--campaigns", str(other)]
    assert main(["bench", "literature", *arguments]) == 2
    said = f"--campaigns: expected the folder of a campaign, got {other}"
    assert said in capsys.readouterr().err
    assert not other.exists()


def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    tmp_path, capsys
):
    for file, said in (
        (tmp_path / "no/x.json", "--json: expected a file that can be written"),
        (tmp_path / "runs", "--json: expected another file than"),
    ):
        arguments = ["--runs", str(tmp_path / "runs"), "--json", str(file)]
        assert main(["bench", "heuristics", *arguments]) == 2
        out, err = capsys.readouterr()
        assert said in err
        assert not out
