"""NVIDIA's management library: how many GPUs there are, and the energy they used.

Called through ctypes: no package to install, no CUDA context, and a process that only
starts workers stays without CuPy. The library comes with the driver; without one every
question here has the answer "none".

References
----------
NVML API Reference Guide: ``nvmlDeviceGetCount_v2``, ``nvmlDeviceGetHandleByUUID``,
``nvmlDeviceGetTotalEnergyConsumption`` (millijoules since the driver was loaded, from
Volta on).
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
_SUCCESS = 0


@cache
def library() -> Any:  # noqa: ANN401 (ctypes)
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

    Parameters
    ----------
    uuid
        As ``nvidia-smi -L`` prints it, such as ``"GPU-1b2f..."``.
    """
    nvml, device = library(), _handle(uuid)
    if nvml is None or device is None:
        return None
    used = ctypes.c_ulonglong(0)
    status = nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(used))
    return used.value / 1e3 if status == _SUCCESS else None


@cache
def _handle(uuid: str) -> ctypes.c_void_p | None:
    """Look a GPU up: once, as all are asked for their identity."""
    nvml = library()
    if nvml is None:
        return None
    device = ctypes.c_void_p()
    status = nvml.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(device))
    return device if status == _SUCCESS else None
