"""What suites share: the machine, checks of arguments, the file of what they found."""

from __future__ import annotations

import argparse
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np

import dpbb
from dpbb.engines.cpu.engine import processor_name
from dpbb.errors import DpbbError, OptionError
from dpbb.kernels.cores import physical_cores
from dpbb.text.json_text import json_text


def check_counts(args: argparse.Namespace, *names: str) -> None:
    """Raise OptionError where one of these numbers, or lists of them, is below 1."""
    for name in names:
        given = getattr(args, name)
        least = min(given) if isinstance(given, list) else given
        if least < 1:
            flag = "--" + name.replace("_", "-")
            raise OptionError(f"{flag}: expected at least 1, got {least}")


def write_json(path: Path | None, content: Any) -> None:
    """Write what was found, if there is a file for it."""
    if path is not None:
        path.write_text(json_text(content))


@dataclass(frozen=True, slots=True)
class Machine:
    """What the figures were measured on; figures of two machines do not compare."""

    processor: str
    cores: int
    load: float
    system: str
    python: str
    numba: str
    numpy: str
    dpbb: str

    @classmethod
    def this(cls) -> Machine:
        """Return the machine that runs this, and how busy it is."""
        return cls(
            processor=processor_name(),
            cores=physical_cores(),
            load=load(),
            system=platform.platform(),
            python=platform.python_version(),
            numba=numba.__version__,
            numpy=np.__version__,
            dpbb=dpbb.__version__,
        )

    def __str__(self) -> str:
        return f"{self.processor}, {self.cores} cores, load {self.load:.1f}"


def load() -> float:
    """Return how many processes wanted to run in the last minute; NaN if unknown."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def find_gpu() -> tuple[Any, str]:
    """Return CuPy and the name of the first GPU, or None and why there is none."""
    from dpbb.kernels.nvrtc import require_gpu

    try:
        cupy = require_gpu()
    except DpbbError as error:
        print(f"no GPU to measure: {error}", flush=True)
        return None, str(error)
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"device: {name}", flush=True)
    return cupy, name
