"""All optima of runs that are interrupted, saved, left alone: none is lost or twice."""

from __future__ import annotations

import pytest

import dpbb
from dpbb.errors import OptionError
from tests.cluster.support import permutations_of, wait_until

pytestmark = pytest.mark.cluster

SHOP = [
    *([5, 6, 9], [1, 8, 4], [1, 3, 2], [6, 8, 4], [7, 9, 2]),
    *([4, 1, 4], [7, 5, 3], [7, 3, 2], [3, 8, 3]),
]
QUIET = {"engine": "cpu", "verbosity": "quiet"}


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """Have files written often."""
    monkeypatch.setattr("dpbb.cluster.client.optima_file.POLL_S", 0.01)


@pytest.fixture(scope="module")
def expected(client):
    """Every optimal permutation, as a line."""
    result = dpbb.solve(SHOP, client=client, all_optima=True, **QUIET)
    lines = {" ".join(map(str, jobs)) for jobs in result.optima}
    assert len(lines) == result.n_optima == 6636
    return lines


def begun(client, path, folder=None, at_least=20):
    """Return a slow run that has written some optima."""
    run = dpbb.submit(
        SHOP, client=client, engine="reference", all_optima=True, optima_file=str(path),
        checkpoint=folder and str(folder), checkpoint_interval_s=0.05,
        tuning={"slice_s": 0.01},
    )  # fmt: skip
    wait_until(lambda: path.exists() and path.read_text().count("\n") >= at_least)
    return run


def test_a_run_that_was_stopped_goes_on_in_its_file(client, expected, tmp_path):
    path, folder = tmp_path / "optima.txt", tmp_path / "run"
    with begun(client, path, folder) as run:
        run.stop()
        part = run.result()
    assert part.n_optima_written == part.n_optima == len(permutations_of(path))
    assert part.n_optima < len(expected)
    result = dpbb.resume(folder, client=client, optima_file=path, **QUIET)
    assert permutations_of(path) == expected
    assert result.n_optima_written == result.n_optima == len(expected)
    path.unlink()
    dpbb.resume(folder, client=client, **QUIET)
    assert not path.exists()  # it was not given again


def test_a_run_that_is_closed_has_written_what_it_found(client, expected, tmp_path):
    path = tmp_path / "optima.txt"
    with begun(client, path) as run:
        run.stop()
    file = run._optima_file
    assert file.position == file.count == len(permutations_of(path))
    assert permutations_of(path) < expected


def test_beyond_the_limit_the_file_is_the_record(
    client, expected, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("dpbb.coordination.optima.MAX_OPTIMA_BYTES", 18 * 500)
    path, folder = tmp_path / "optima.txt", tmp_path / "run"
    with begun(client, path, folder, at_least=1000) as run:
        run.stop()
        part = run.result()
    whole = path.read_text()
    assert part.n_optima_written == len(permutations_of(path)) >= 1000
    with pytest.raises(OptionError, match=r"optima_file: .* no more, got"):
        dpbb.resume(folder, client=client, optima_file=path, **QUIET)
    monkeypatch.setattr("dpbb.coordination.optima.MAX_OPTIMA_BYTES", 18 * 1000)
    result = dpbb.resume(folder, client=client, progress="plain", engine="cpu")
    assert "optimal permutations are in its file" in capsys.readouterr().err
    assert len(result.optima) < result.n_optima == len(expected)
    assert f"only {len(result.optima):,} of them in this result" in result.summary()
    assert path.read_text() == whole
