"""NVIDIA's management library: how many GPUs there are, their energy and health.

By ``nvidia-ml-py``, which the extras ``cuda12`` and ``cuda13`` bring: no CUDA context,
and a process that only starts workers stays without CuPy. Without it, or without a
driver, every question here has the answer "none".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpbb.engines.base import Device

FRESH_S = 0.05
"""A reading of energy is good for so long: the meter itself is not newer, and to ask it
takes milliseconds, twice for each of the short units at the end of a run."""


@cache
def library() -> Any:  # the module pynvml
    """Return the initialized library; None without the package or a driver."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def device_count() -> int:
    """GPUs of this host or container, whatever CUDA_VISIBLE_DEVICES says."""
    nvml = library()
    try:
        return 0 if nvml is None else int(nvml.nvmlDeviceGetCount())
    except nvml.NVMLError:
        return 0


def energy_j(uuid: str) -> float | None:
    """Joules that a GPU used since its driver was loaded; None if it does not say.

    ``uuid``: as ``nvidia-smi -L`` prints it, such as ``"GPU-1b2f..."``.
    """
    millijoules = _answer(
        uuid, lambda nvml, gpu: nvml.nvmlDeviceGetTotalEnergyConsumption(gpu)
    )
    return None if millijoules is None else millijoules / 1e3


class EnergyMeter:
    """Joules of a device since the meter was made: whatever else ran there is in it."""

    def __init__(self, device: Device) -> None:
        self._uuid = device.uuid if device.kind == "cuda" else None
        self._base = self._now = None if self._uuid is None else energy_j(self._uuid)
        self._read_at = time.monotonic()

    def read(self) -> float | None:
        """Return the joules so far; None if the device does not say."""
        if self._uuid is None or self._base is None:
            return None
        if time.monotonic() - self._read_at > FRESH_S:
            self._now, self._read_at = energy_j(self._uuid), time.monotonic()
        return None if self._now is None else self._now - self._base


def _memory(nvml: Any, gpu: Any) -> tuple[float, float]:
    memory = nvml.nvmlDeviceGetMemoryInfo(gpu)
    return float(memory.used), float(memory.total)


QUESTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "utilization": lambda nvml, gpu: float(nvml.nvmlDeviceGetUtilizationRates(gpu).gpu),
    "memory": _memory,
    "watts": lambda nvml, gpu: nvml.nvmlDeviceGetPowerUsage(gpu) / 1e3,
    "celsius": lambda nvml, gpu: float(nvml.nvmlDeviceGetTemperature(gpu, 0)),
}
"""What is asked of a GPU's health; sensor 0 is that of the chip."""


def health(uuid: str) -> dict[str, Any]:
    """Return how a GPU is, as far as its driver says.

    Returns ``utilization`` in percent, ``memory`` as bytes (used, total), ``watts`` and
    ``celsius``; what is not known is left out.
    """
    answers = {name: _answer(uuid, question) for name, question in QUESTIONS.items()}
    return {name: answer for name, answer in answers.items() if answer is not None}


def _answer(uuid: str, question: Callable[[Any, Any], Any]) -> Any:
    """Return what a GPU answers; None where it, or its driver, does not."""
    nvml = library()
    if nvml is None:
        return None
    try:
        return question(nvml, _handle(uuid))
    except nvml.NVMLError:
        return None


@cache
def _handle(uuid: str) -> Any:
    """Look a GPU up: once, as all are asked for their identity."""
    return library().nvmlDeviceGetHandleByUUID(uuid)
