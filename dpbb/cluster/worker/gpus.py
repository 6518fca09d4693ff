"""The GPUs that this process may use, and the names by which to give away each."""

import logging
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from dpbb.engines import nvml
from dpbb.engines.registry import AUTO, get_engine, is_replaced
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.options import TreeOptions
from dpbb.problem import Problem

logger = logging.getLogger(__name__)

VISIBLE = "CUDA_VISIBLE_DEVICES"
SEATS = "DPBB_SEATS"
"""Environment variable of a worker: the kinds of seats that it announces, ``cpu``,
``gpu`` or ``gpu,cpu``, the first one made ready first. Default: both, if there are."""

SEAT_KINDS = ("cpu", "gpu")

GPU_ENGINES = ("gpu", "pool")
"""Engines that use GPUs where there are any."""


def seat_kinds(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Kinds of seats that this worker is to announce, the first one wanted soonest.

    OptionError: ``DPBB_SEATS`` names none of them.
    """
    given = environ.get(SEATS, "")
    kinds = tuple(kind.strip() for kind in given.split(",") if kind.strip())
    if not set(kinds) <= set(SEAT_KINDS):
        raise OptionError(f"{SEATS}: expected cpu, gpu or gpu,cpu, got {given!r}")
    return kinds or SEAT_KINDS


def plan_workers(
    workers: int | None,
    engine: str,
    problem: Problem[Any] | None = None,
    tree: TreeOptions | None = None,
) -> list[dict[str, str]]:
    """Return what is added to the environment of each worker process of this host.

    ``workers``: how many; None: one for each GPU that the run can use, or one without
    any.

    OptionError: ``workers`` is less than 1, or more than there are GPUs for.
    """
    if workers is not None and workers < 1:
        raise OptionError(f"workers: expected at least 1, got {workers}")
    gpus = gpus_for(engine, problem, tree)
    if gpus and workers is not None:
        if workers > len(gpus):
            raise OptionError(
                f"workers: expected at most {len(gpus)}, one for each visible GPU "
                f"({VISIBLE}), got {workers}; the engine cpu takes any number"
            )
        gpus = gpus[:workers]
    if gpus:
        kinds = "gpu" if engine == "gpu" else "gpu,cpu"
        return [{VISIBLE: gpu, SEATS: kinds} for gpu in gpus]
    # auto: what cannot be counted from here may be found there
    kinds = "" if engine in (AUTO, *GPU_ENGINES) else "cpu"
    return [{SEATS: kinds} for _ in range(workers or 1)]


def gpus_for(
    engine: str, problem: Problem[Any] | None, tree: TreeOptions | None
) -> list[str]:
    """Return the GPUs of this host that a run could use, each as ``visible_gpus`` says.

    Nothing of CUDA is loaded, so that it takes milliseconds.

    ``problem``, ``tree``: what the engine would have to take, of ``auto`` that of GPUs;
    None: anything.
    """
    if engine not in (AUTO, *GPU_ENGINES):
        return []
    try:
        gpu = get_engine("gpu" if engine == AUTO else engine)
        if problem is not None and tree is not None and gpu.supports(problem, tree):
            return []
        if is_replaced("gpu"):
            return [device.uuid for device in get_engine("gpu").devices()]
    except EngineUnavailable:
        return []
    if find_spec("cupy") is None:
        return []
    if find_spec("pynvml") is None:
        logger.warning(
            "GPUs cannot be counted: pip install nvidia-ml-py, which dpbb[cuda12] and "
            "dpbb[cuda13] bring"
        )
    return visible_gpus(os.environ)


def is_explored_by_cores(engine: str) -> bool:
    """Whether no GPU takes part on this machine, whatever the instance."""
    if engine == AUTO:
        return not visible_gpus(os.environ)
    return engine not in GPU_ENGINES


def visible_gpus(environ: Mapping[str, str]) -> list[str]:
    """Return for each visible GPU what ``CUDA_VISIBLE_DEVICES`` shows it alone.

    ``environ``: its CUDA_VISIBLE_DEVICES counts as CUDA itself takes it: ordinals,
    UUIDs and MIG instances; what follows a bad entry is hidden; empty hides all.
    """
    count = nvml.device_count()
    mask = environ.get(VISIBLE)
    if mask is None or not count:
        return [str(index) for index in range(count)]
    found: list[str] = []
    for entry in map(str.strip, mask.split(",")):
        is_ordinal = entry.isdecimal() and int(entry) < count
        if entry in found or not (is_ordinal or entry.startswith(("GPU-", "MIG-"))):
            break
        found.append(entry)
    return found
