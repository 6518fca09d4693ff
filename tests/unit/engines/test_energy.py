"""Joules of a GPU and of a host's processors, where they may be read."""

import subprocess
import sys

import pytest

from dpbb.engines import energy, nvml
from dpbb.engines.base import Device
from dpbb.engines.energy import EnergyMeter

CPU, GPU = Device("cpu", "host"), Device("cuda", "GPU-a")


@pytest.fixture
def zones(tmp_path, monkeypatch):
    """Two packages whose counters wrap at 1 J."""
    for number in (0, 1):
        zone = tmp_path / f"intel-rapl:{number}"
        zone.mkdir()
        (zone / "max_energy_range_uj").write_text("999999\n")
        (zone / "energy_uj").write_text("900000\n")
    part = tmp_path / "intel-rapl:0:0"  # of a package, not another one
    part.mkdir()
    monkeypatch.setattr(energy, "POWERCAP", tmp_path)
    monkeypatch.setattr(energy, "_is_first_on_host", lambda: True)
    return tmp_path


def count(zones, number, microjoules):
    (zones / f"intel-rapl:{number}" / "energy_uj").write_text(str(microjoules))


def test_packages_of_a_host_are_added_up_across_wraps(zones):
    meter = EnergyMeter(CPU)
    assert meter.read() == 0
    count(zones, 0, 950_000)
    assert meter.read() == pytest.approx(0.05)
    count(zones, 0, 50_000)  # wrapped
    count(zones, 1, 910_000)
    assert meter.read() == pytest.approx(0.16)


def test_another_process_of_the_host_reads_no_processor(zones, monkeypatch):
    monkeypatch.setattr(energy, "_is_first_on_host", lambda: False)
    assert EnergyMeter(CPU).read() is None


def test_lock_is_for_one_process_and_let_go_at_its_end(tmp_path):
    path = tmp_path / "lock"
    code = (
        "from pathlib import Path; from dpbb.engines import energy;"
        f"print(energy._lock(Path({str(path)!r})))"
    )

    def elsewhere():
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        return done.stdout.strip() == "True"

    assert elsewhere()
    assert elsewhere()
    assert energy._lock(path)  # until the end of the tests
    assert not elsewhere()
    assert not energy._lock(path)
    assert not energy._lock(tmp_path / "no" / "folder")


def test_unreadable_meters_say_nothing(zones):
    (zones / "intel-rapl:1" / "max_energy_range_uj").unlink()
    assert EnergyMeter(CPU).read() is None


def test_a_meter_that_vanishes_says_nothing(zones):
    meter = EnergyMeter(CPU)
    (zones / "intel-rapl:0" / "energy_uj").unlink()
    assert meter.read() is None
    assert meter.read() is None


def test_gpu_counts_from_the_meter_on(monkeypatch):
    values = iter([100.0, 250.0, None])
    monkeypatch.setattr(nvml, "energy_j", lambda uuid: next(values))
    monkeypatch.setattr(energy, "FRESH_S", -1.0)
    meter = EnergyMeter(GPU)
    assert meter.read() == 150
    assert meter.read() is None


def test_gpu_is_not_asked_again_at_once(monkeypatch):
    values = iter([100.0, 250.0, 300.0])
    monkeypatch.setattr(nvml, "energy_j", lambda uuid: next(values))
    now = iter([0.0, 0.04, 0.06, 0.06, 0.1, 0.12, 0.12])
    monkeypatch.setattr(energy.time, "monotonic", lambda: next(now))
    meter = EnergyMeter(GPU)
    assert meter.read() == 0  # as it was 40 ms ago
    assert meter.read() == 150
    assert meter.read() == 150
    assert meter.read() == 200


def test_gpu_without_a_counter(monkeypatch):
    monkeypatch.setattr(nvml, "energy_j", lambda uuid: None)
    assert EnergyMeter(GPU).read() is None
