"""The suite of the GPU engine on an emulated device."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from dpbb.bench import gpu as suite
from dpbb.cli import main
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import Balance, Tuning

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def tiny(monkeypatch):
    """A tree that the host explores in a second, and a bound of another size."""
    trees = {"tiny": ("ta016", 1397, 1586), "wrong": ("ta016", 1397, 1585)}
    monkeypatch.setattr(suite, "TREES", trees)


class TunedSession:
    """Two slices of 0.25 s, in 0.2 s of which fewer and fewer warps explore."""

    slice_s = 0.25

    def __init__(self, clock):
        self._clock = clock
        self.kernels = SimpleNamespace(device=0, resident_warps=8, n_multiprocessors=2)
        self._warps = [8, 2]
        self.statistics = dict.fromkeys(("busy_ns", "idle_ns", "batches"), 0.0)
        self.statistics |= {"children": 0.0, "block_size": 64}

    def advance(self, ub, max_seconds):
        self._clock.now += 0.25
        n_warps = self._warps.pop(0)
        self.statistics["n_warps"] = n_warps
        self.statistics["busy_ns"] += 0.15e9 * n_warps
        self.statistics["idle_ns"] += 0.05e9 * n_warps
        return SimpleNamespace(
            decomposed=1,
            leaves=0,
            closed=np.zeros(21, np.int64),
            open_roots=0,
            exhausted=not self._warps,
        )

    def load(self, unit):
        pass

    def close(self):
        pass


def measured(tmp_path, *arguments):
    file = tmp_path / "rows.json"
    code = main(["bench", "gpu", *arguments, "--json", str(file)])
    return code, json.loads(file.read_text())


def test_both_ways_of_sharing_work_are_measured(tiny, tmp_path, capsys):
    code, rows = measured(tmp_path, "--trees", "tiny", "--block-size", "64")
    assert code == 0
    assert [row["balance"] for row in rows] == list(Balance)
    for row in rows:
        assert row["exact"] is True
        assert row["nodes"] == 1586
        # two of the eight warps of a multiprocessor are a block, and two blocks fit
        assert row["occupancy"] == 0.5
        assert row["ramp_ms"] is None or row["ramp_ms"] > 0
        assert row["tail"] is None or 0 <= row["tail"] <= 1
        assert 0 < row["host_ms_per_slice"] < 1e3 * row["run_s"]
    header, *lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "occup." in header
    assert all(len(line) == len(header) for line in lines)


def test_few_explorers_are_a_low_occupancy(tiny, tmp_path):
    """Two warps where eight would fit on each of two multiprocessors."""
    few = ["--balance", "explode", "--explorers", "64", "--block-size", "64"]
    _, [row] = measured(tmp_path, "--trees", "tiny", *few)
    assert row["explorers"] == 64
    assert row["occupancy"] == 2 / 16


def test_a_wrong_count_is_told(tiny, tmp_path):
    code, [row] = measured(tmp_path, "--trees", "wrong", "--balance", "explode")
    assert code == 1
    assert row["exact"] is False


def test_without_a_busy_slice_there_is_no_ramp(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(suite, "BUSY", 1.1)
    monkeypatch.setattr(suite, "PHASES_S", 0.0)
    _, [row] = measured(tmp_path, "--trees", "tiny", "--balance", "explode")
    assert row["ramp_ms"] is None
    assert row["tail"] is None
    assert capsys.readouterr().out.splitlines()[1].split()[-4:-2] == ["-", "-"]


def test_time_of_the_host_when_the_number_of_warps_changes(tiny, monkeypatch):
    """A session that is tuned ends with other explorers than it began with."""
    clock = SimpleNamespace(now=0.0)
    clock.perf_counter = lambda: clock.now
    monkeypatch.setattr(suite, "time", clock)
    engine = SimpleNamespace(open=lambda *_, **__: TunedSession(clock))
    device = SimpleNamespace(uuid="", name="none")
    tuning = Tuning(balance="explode")
    problem = FlowShopProblem(taillard_instance("ta016"))
    row = suite.measure(engine, device, "tiny", problem, tuning, 0, 60.0)
    assert row.slices == 2
    assert row.host_ms_per_slice == pytest.approx(50)
    assert row.idle == pytest.approx(0.25)
    assert row.occupancy == 2 / 16
