"""NVIDIA's management library: how many GPUs there are, their energy and health.

By ``nvidia-ml-py``, which the extras ``cuda12`` and ``cuda13`` bring: no CUDA context,
and a process that only starts workers stays without CuPy. Without it, or without a
driver, every question here has the answer "none".
"""

from collections.abc import Callable
from functools import cache
from typing import Any


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
