"""The tables of examples/papers, small, with an emulated GPU beside the cores."""

import importlib.util
from pathlib import Path

import pytest

from tests.quick import some_slow

PAPERS = Path(__file__).parents[2] / "examples" / "papers"

CALLS = [
    (
        "two-machine-bounds bounds --sizes 20x20 --pools 64 --repeat 1",
        ("one scalar core", "GPU, parents"),
    ),
    (
        "two-machine-bounds trees --trees ta021 --nodes 100 --pools 256 --threads 1 "
        "--repeat 1",
        ("1 threads", "GPU"),
    ),
    (
        "two-machine-bounds cascades --trees ta016 --engine reference --repeat 1",
        ("lb1", "lb2"),
    ),
    ("tabu-search --sizes 3x12 --generations 4 --seeds 1", ("3x12",)),
    (
        "peta-scale --trees ta016@1397 --repeat 1 --threads 1",
        ("one core", "one GPU, explode", "one GPU, steal"),
    ),
    ("job-shop-costs paths --sets la01-01 --repeat 1 --data {data}", ("la01-01",)),
    ("job-shop-costs batches --solutions 256 --repeat 1", ("ta01", "ta21", "ta71")),
]


@pytest.mark.parametrize(("call", "told"), some_slow(CALLS, CALLS[:2]))
def test_bounds_counts_and_costs_agree(call, told, tmp_path, capsys):
    (tmp_path / "la01.txt").write_text("2 2\n0 3 1 2\n1 4 0 1\n")
    folder, *arguments = call.format(data=tmp_path).split()
    path = PAPERS / folder / "tables.py"
    spec = importlib.util.spec_from_file_location("tables", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main(arguments) == 0
    rows = [
        {cell.strip() for cell in line.strip("|").split("|")}
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("|")
    ]
    assert all(any(what in row for row in rows) for what in told)
