"""The management library's answers, and none without it."""

import ctypes

import pytest

from dpbb.engines import nvml

FAILED = 3


class Library:
    """Two GPUs of a driver; the second is too old to count its energy."""

    def nvmlDeviceGetCount_v2(self, count):
        count._obj.value = 2
        return 0

    def nvmlDeviceGetHandleByUUID(self, uuid, device):
        known = {b"GPU-a": 1, b"GPU-b": 2}
        device._obj.value = known.get(uuid)
        return 0 if uuid in known else FAILED

    def nvmlDeviceGetTotalEnergyConsumption(self, device, used):
        used._obj.value = 12_345
        return 0 if device.value == 1 else FAILED

    def nvmlDeviceGetUtilizationRates(self, device, rates):
        rates._obj.gpu, rates._obj.memory = 97, 12
        return 0

    def nvmlDeviceGetMemoryInfo(self, device, memory):
        memory._obj.total, memory._obj.free, memory._obj.used = 100, 70, 30
        return 0

    def nvmlDeviceGetPowerUsage(self, device, milliwatts):
        milliwatts._obj.value = 612_345
        return 0 if device.value == 1 else FAILED

    def nvmlDeviceGetTemperature(self, device, sensor, celsius):
        celsius._obj.value = 58
        return 0 if sensor == 0 and device.value == 1 else FAILED


@pytest.fixture
def library(monkeypatch):
    nvml._handle.cache_clear()
    monkeypatch.setattr(nvml, "library", Library)
    yield
    nvml._handle.cache_clear()


def test_gpus_are_counted_and_their_energy_is_in_joules(library):
    assert nvml.device_count() == 2
    assert nvml.energy_j("GPU-a") == 12.345


def test_a_gpu_that_does_not_say_has_no_energy(library):
    assert nvml.energy_j("GPU-b") is None
    assert nvml.energy_j("GPU-elsewhere") is None


def test_health_is_in_percent_bytes_watts_and_degrees(library):
    assert nvml.health("GPU-a") == {
        "utilization": 97.0,
        "memory": (30.0, 100.0),
        "watts": 612.345,
        "celsius": 58.0,
    }


def test_what_a_gpu_does_not_say_is_left_out(library):
    assert set(nvml.health("GPU-b")) == {"utilization", "memory"}
    assert nvml.health("GPU-elsewhere") == {}


def test_without_a_driver_there_is_nothing(monkeypatch):
    nvml.library.cache_clear()
    monkeypatch.setattr(nvml, "LIBRARY", "libnvidia-ml-that-is-not-there.so")
    assert nvml.library() is None
    assert nvml.device_count() == 0
    assert nvml.energy_j("GPU-a") is None
    assert nvml.health("GPU-a") == {}
    nvml.library.cache_clear()


def test_a_driver_that_fails_is_none(monkeypatch):
    class Broken:
        def nvmlInit_v2(self):
            return FAILED

    nvml.library.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Broken())
    assert nvml.library() is None
    nvml.library.cache_clear()
