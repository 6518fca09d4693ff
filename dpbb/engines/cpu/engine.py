"""The CPU engine: explores problems that have a model, on all cores.

What is asked of a model, and how a bound is added, is in ``dpbb.kernels.models``.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbb.engines.base import Device, Engine, obstacle_of
from dpbb.kernels.cores import physical_cores
from dpbb.options import TreeOptions, Tuning
from dpbb.problem import Problem
from dpbb.problems import model_of

if TYPE_CHECKING:
    from dpbb.engines.cpu.session import CpuSession


class CpuEngine(Engine):
    """See ``dpbb.engines.base.Engine``."""

    name = "cpu"

    def availability(self) -> str | None:
        """None: Numba, which it needs, is installed with dpbb."""
        try:
            import numba  # noqa: F401
        except ImportError as error:
            return f"Numba cannot be imported ({error}); install dpbb again"
        return None

    def supports(self, problem: Problem[Any], tree: TreeOptions) -> str | None:
        """None for a problem with a model of its bound that it fits."""
        return obstacle_of(self.name, "cpu", problem, tree)

    def devices(self, threads: int | None = None) -> list[Device]:
        """Return one device: the processor, with a thread per physical core."""
        host = platform.node()
        return [
            Device(
                "cpu",
                f"cpu-{host}-{os.getpid()}",
                threads=physical_cores() if threads is None else threads,
                name=processor_name(),
            )
        ]

    def _session(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        device: Device,
        ub: int,
        all_optima: bool,
        tuning: Tuning,
    ) -> CpuSession:
        from dpbb.engines.cpu.session import CpuSession

        if device.threads < 1:
            raise ValueError(f"expected at least 1 thread, got {device.threads}")
        model = model_of(problem, self.name, tree.bound)
        return CpuSession(
            model, problem, tree, device.threads, ub, all_optima=all_optima
        )


def processor_name() -> str:
    """Name of the processor for people."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
