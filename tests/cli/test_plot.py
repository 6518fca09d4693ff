"""``dpbb plot``: every kind of file, and what is none."""

from __future__ import annotations

import json

import pytest

from dpbb.cli.plot import read_plotted
from dpbb.coordination.format import to_bytes
from dpbb.progress import snapshot_json
from tests.unit.plotting.samples import INSTANCE, checkpoint, result, snapshot

PNG = b"\x89PNG"


@pytest.fixture
def files(tmp_path):
    """A file of every kind that can be plotted."""
    contents = {
        "result.json": result().to_json(),
        "run.log": "".join(snapshot_json(snapshot(at)) + "\n" for at in (0.0, 1.0)),
        "gpus.json": json.dumps(
            {"rows": [{"gpus": n, "nodes_per_s": n / 2, "tree": "x"} for n in (1, 2)]}
        ),
        "shop.csv": "\n".join(",".join(map(str, row)) for row in INSTANCE.times),
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "run.dpbb").write_bytes(to_bytes(checkpoint()))
    return tmp_path


def test_a_result_of_ones_own_shop_needs_no_instance(files, dpbb):
    file = files / "own.json"
    file.write_text(dpbb("solve", files / "shop.csv", "--json", "-q").out)
    (files / "shop.csv").unlink()
    assert len(json.loads(file.read_text())["schedule"]["end"]) == INSTANCE.n_jobs
    assert dpbb("plot", file, "--output", files / "own.png").code == 0
    assert (files / "own.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("result.json", ("gantt", "convergence")),
        ("run.log", ("convergence",)),
        ("run.dpbb", ("intervals", "convergence", "gantt")),
        ("gpus.json", ("speedup",)),
    ],
)
def test_every_kind_of_file_is_drawn(name, kinds, files, dpbb):
    assert read_plotted(str(files / name)).kinds == kinds
    for kind in (None, *kinds):
        picture = files / f"{kind}.png"
        chosen = () if kind is None else ("--kind", kind)
        ran = dpbb("plot", files / name, "--output", picture, *chosen)
        assert (ran.code, ran.err) == (0, "")
        assert picture.read_bytes().startswith(PNG)


def test_a_record_of_a_campaign_is_drawn(files, dpbb):
    given = ("campaign", files / "shop.csv", "-o", files / "all", "--workers", "1")
    assert dpbb(*given).code == 0
    (record,) = (files / "all" / "records").glob("*.json")
    drawn = read_plotted(str(record)).content
    assert (drawn.digest, drawn.status) == (INSTANCE.digest, "optimal")
    assert drawn.trajectory[-1].value == drawn.makespan
    command = ("plot", record, "--output", files / "plot.png")
    assert dpbb(*command, "--kind", "convergence").code == 0
    assert dpbb(*command).code == 0
    values = json.loads(record.read_text()) | {"status": "estimated"}
    record.write_text(json.dumps(values))
    assert "expected a record of a campaign that was tried" in dpbb(*command).err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seconds", "x"), ("lower_bound", 10**400), ("state", []),
        ("trajectory", [{"seconds": {}, "value": 1, "source": "a"}]),
    ],
)  # fmt: skip
def test_damaged_logs_are_refused(name, value, files, dpbb):
    file = files / "run.log"
    rows = [json.loads(row) for row in file.read_text().splitlines()]
    rows[-1][name] = value
    file.write_text("\n".join(map(json.dumps, rows)))
    ran = dpbb("plot", file, "--output", files / "plot.png")
    assert ran.code == 2
    assert "run.log, line 2: expected a row of dpbb solve --log-json" in ran.err
    assert f"$.{name}" in ran.err


@pytest.mark.parametrize(
    "content",
    [
        b"dpbb-checkpoint 2 x 3\n{}", b"[1]", b'{"rows": [{"gpus": 1}]}',
        b'[{"gpus": "x", "nodes_per_s": 1}]', b'[{"gpus": 1, "nodes_per_s": 1e400}]',
        b'{"status": "optimal"}',
    ],
)  # fmt: skip
def test_malformed_input_is_bad_input(content, dpbb, tmp_path):
    """Exit code 2, and no traceback."""
    (tmp_path / "file").write_bytes(content)
    ran = dpbb("plot", tmp_path / "file", "--output", tmp_path / "plot.png")
    assert ran.code == 2, ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "plot.png").exists()


def test_a_full_disk_leaves_no_picture_and_keeps_the_former_one(
    files, dpbb, monkeypatch
):
    def full(_file):
        raise OSError(28, "No space left on device")

    picture = files / "plot.png"
    before = set(files.iterdir())
    monkeypatch.setattr("os.fsync", full)
    ran = dpbb("plot", files / "result.json", "--output", picture)
    assert ran.code == 2
    assert "No space left" in ran.err
    assert set(files.iterdir()) == before
