"""The suite of several GPUs, on fake ones."""

import json

import pytest

from dpbb.bench import multigpu
from dpbb.cli import main
from tests.fake_gpu import fake_host

pytestmark = pytest.mark.cluster


@pytest.fixture(autouse=True)
def two_gpus(monkeypatch):
    for name, value in fake_host("GPU-a", "GPU-b").items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.slow
def test_every_number_of_gpus_explores_the_same_tree(tmp_path, capsys):
    """Counts are compared with the known one, the speed with the first number's."""
    file = tmp_path / "rows.json"
    arguments = ["--trees", "ta028", "--gpus", "1", "2", "--json", str(file)]
    assert main(["bench", "multigpu", *arguments]) == 0
    one, two = json.loads(file.read_text())["rows"]
    assert (one["gpus"], two["gpus"]) == (one["seats"], two["seats"]) == (1, 2)
    assert one["exact"] is two["exact"] is True
    assert one["efficiency"] == 1
    assert two["efficiency"] == pytest.approx(
        two["nodes_per_s"] / one["nodes_per_s"] / 2
    )
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_a_wrong_count_is_told(monkeypatch):
    monkeypatch.setitem(multigpu.TREES, "ta028", ("ta028", 2195, 1))
    assert main(["bench", "multigpu", "--trees", "ta028", "--gpus", "1"]) == 1


def test_workers_of_cores_are_compared_with_one_process(tmp_path):
    file = tmp_path / "rows.json"
    arguments = ["--engine", "cpu", "--trees", "ta028", "--gpus", "1"]
    assert main(["bench", "multigpu", *arguments, "--json", str(file)]) == 0
    (row,) = json.loads(file.read_text())["rows"]
    assert row["exact"]
    assert row["over_raw"] > -1
