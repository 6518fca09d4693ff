"""NVIDIA's management library: how many GPUs there are, their energy and health.

Called through ctypes: no package to install, no CUDA context, and a process that only
starts workers stays without CuPy. The library comes with the driver; without one every
question here has the answer "none".

References
----------
NVML API Reference Guide: ``nvmlDeviceGetCount_v2``, ``nvmlDeviceGetHandleByUUID``,
``nvmlDeviceGetTotalEnergyConsumption`` (millijoules since the driver was loaded, from
Volta on), ``nvmlDeviceGetUtilizationRates``, ``nvmlDeviceGetMemoryInfo``,
``nvmlDeviceGetPowerUsage`` (milliwatts), ``nvmlDeviceGetTemperature``.
"""

import ctypes
from functools import cache
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
_SUCCESS = 0


@cache
def library() -> Any:  # ctypes
    """Return the initialized library; None when there is no driver."""
    try:
        found = ctypes.CDLL(LIBRARY)
        status = found.nvmlInit_v2()
    except (OSError, AttributeError):
        return None
    return found if status == _SUCCESS else None


def device_count() -> int:
    """GPUs of this host or container, whatever CUDA_VISIBLE_DEVICES says."""
    nvml = library()
    count = ctypes.c_uint(0)
    if nvml is None or nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != _SUCCESS:
        return 0
    return count.value


def energy_j(uuid: str) -> float | None:
    """Joules that a GPU used since its driver was loaded; None if it does not say.

    ``uuid``: as ``nvidia-smi -L`` prints it, such as ``"GPU-1b2f..."``.
    """
    nvml, device = library(), _handle(uuid)
    if nvml is None or device is None:
        return None
    used = ctypes.c_ulonglong(0)
    status = nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(used))
    return used.value / 1e3 if status == _SUCCESS else None


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_ulonglong) for name in ("total", "free", "used"))


def health(uuid: str) -> dict[str, Any]:
    """Return how a GPU is, as far as its driver says.

    Returns ``utilization`` in percent, ``memory`` as bytes (used, total), ``watts`` and
    ``celsius``; what is not known is left out.
    """
    nvml, device = library(), _handle(uuid)
    if nvml is None or device is None:
        return {}
    found: dict[str, Any] = {}
    busy, memory = _Utilization(), _Memory()
    power, degrees = ctypes.c_uint(0), ctypes.c_uint(0)
    if nvml.nvmlDeviceGetUtilizationRates(device, ctypes.byref(busy)) == _SUCCESS:
        found["utilization"] = float(busy.gpu)
    if nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)) == _SUCCESS:
        found["memory"] = (float(memory.used), float(memory.total))
    if nvml.nvmlDeviceGetPowerUsage(device, ctypes.byref(power)) == _SUCCESS:
        found["watts"] = power.value / 1e3
    if nvml.nvmlDeviceGetTemperature(device, 0, ctypes.byref(degrees)) == _SUCCESS:
        found["celsius"] = float(degrees.value)
    return found


@cache
def _handle(uuid: str) -> ctypes.c_void_p | None:
    """Look a GPU up: once, as all are asked for their identity."""
    nvml = library()
    if nvml is None:
        return None
    device = ctypes.c_void_p()
    status = nvml.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(device))
    return device if status == _SUCCESS else None
