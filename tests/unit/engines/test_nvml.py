"""The management library's answers, and none without it."""

import sys
from types import SimpleNamespace

import pytest

from dpbb.engines import nvml
from dpbb.engines.base import Device


class FakeNvml:
    """``pynvml`` with two GPUs; the second is too old to count its energy."""

    class NVMLError(Exception):
        """As the package's."""

    def nvmlInit(self):
        pass

    def nvmlDeviceGetCount(self):
        return 2

    def nvmlDeviceGetHandleByUUID(self, uuid):
        return self._known({"GPU-a": 1, "GPU-b": 2}.get(uuid))

    def nvmlDeviceGetTotalEnergyConsumption(self, device):
        return self._known(12_345 if device == 1 else None)

    def nvmlDeviceGetUtilizationRates(self, device):
        return SimpleNamespace(gpu=97, memory=12)

    def nvmlDeviceGetMemoryInfo(self, device):
        return SimpleNamespace(total=100, free=70, used=30)

    def nvmlDeviceGetPowerUsage(self, device):
        return self._known(612_345 if device == 1 else None)

    def nvmlDeviceGetTemperature(self, device, sensor):
        return self._known(58 if sensor == 0 and device == 1 else None)

    def _known(self, answer):
        if answer is None:
            raise self.NVMLError
        return answer


class WithoutDriver(FakeNvml):
    """The package alone."""

    def nvmlInit(self):
        raise self.NVMLError


@pytest.fixture
def install(monkeypatch):
    """Return a function that puts a package, or none, in pynvml's place."""

    def put(module):
        monkeypatch.setitem(sys.modules, "pynvml", module)
        nvml.library.cache_clear()
        nvml._handle.cache_clear()

    yield put
    nvml.library.cache_clear()
    nvml._handle.cache_clear()


def test_gpus_are_counted_and_their_energy_is_in_joules(install):
    install(FakeNvml())
    assert nvml.device_count() == 2
    assert nvml.energy_j("GPU-a") == 12.345


def test_health_is_in_percent_bytes_watts_and_degrees(install):
    install(FakeNvml())
    assert nvml.health("GPU-a") == {
        "utilization": 97.0,
        "memory": (30.0, 100.0),
        "watts": 612.345,
        "celsius": 58.0,
    }


@pytest.mark.parametrize("module", [None, WithoutDriver()], ids=["none", "no driver"])
def test_without_the_package_or_a_driver_there_is_nothing(install, module):
    install(module)
    assert nvml.library() is None
    assert nvml.device_count() == 0
    assert nvml.energy_j("GPU-a") is None
    assert nvml.health("GPU-a") == {}


def test_a_meter_counts_from_its_beginning_and_is_not_asked_again_at_once(monkeypatch):
    values = iter([100.0, 250.0, None])
    monkeypatch.setattr(nvml, "energy_j", lambda uuid: next(values))
    meter = nvml.EnergyMeter(Device("cuda", "GPU-a"))
    assert meter.read() == 0  # as it was just now
    monkeypatch.setattr(nvml, "FRESH_S", -1.0)
    assert meter.read() == 150
    assert meter.read() is None


def test_a_processor_has_no_meter():
    assert nvml.EnergyMeter(Device("cpu", "host")).read() is None
