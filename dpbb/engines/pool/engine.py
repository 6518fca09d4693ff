"""The pool engine: best first or deepest first, bounds in batches, a GPU or threads.

What is asked of a problem is in ``dpbb.kernels.pool_models``. CuPy is imported when a
device is asked about, never with the package.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpbb.engines.base import Device, obstacle_of
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.engines.gpu.engine import GpuEngine
from dpbb.engines.pool.bounding import Bounding
from dpbb.engines.pool.session import PoolSession
from dpbb.errors import EngineUnavailable
from dpbb.kernels.cores import physical_cores
from dpbb.kernels.pool_models import PoolModel
from dpbb.options import TreeOptions, Tuning
from dpbb.problem import Problem
from dpbb.problems import model_of

HOST_THREADS = 8
"""Threads that make the nodes of a GPU, at most."""


class PoolEngine:
    """See ``dpbb.engines.base.Engine``."""

    name = "pool"

    def availability(self) -> str | None:
        """None where the CPU engine can run: a GPU is not needed."""
        return CpuEngine().availability()

    def supports(self, problem: Problem[Any], tree: TreeOptions) -> str | None:
        """None for a problem with a model of its bound that it fits."""
        return obstacle_of(self.name, self.name, problem, tree)

    def devices(self, threads: int | None = None) -> list[Device]:
        """Return the GPUs of this process, or its processor if there is none."""
        gpu = GpuEngine()
        if gpu.availability() is None:
            return gpu.devices(threads)
        return CpuEngine().devices(threads)

    def warm_up(self, problem: Problem[Any], tree: TreeOptions, device: Device) -> None:
        """Open a session and close it: that compiles every kernel."""
        self.open(problem, tree, replace(device, threads=1)).close()

    def open(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        device: Device,
        *,
        ub: int | None = None,
        all_optima: bool = False,
        tuning: Tuning | None = None,
    ) -> PoolSession:
        """Start a session on a GPU or on ``device.threads`` threads."""
        obstacle = self.supports(problem, tree)
        if obstacle is not None:
            raise EngineUnavailable(f"the pool engine cannot run: {obstacle}")
        if device.threads < 1:
            raise ValueError(f"expected at least 1 thread, got {device.threads}")
        tuning = tuning or Tuning()
        model = model_of(problem, self.name, tree.bound)(problem, tree)
        bounding = (
            self._on_device(model, device, tuning)
            if device.kind == "cuda"
            else Bounding(model, device.threads)
        )
        return PoolSession(
            *(problem, tree, model, bounding, tuning),
            problem.trivial_ub if ub is None else min(ub, problem.trivial_ub),
            threads=device.threads,
            all_optima=all_optima,
        )

    @staticmethod
    def _on_device(model: PoolModel, device: Device, tuning: Tuning) -> Bounding:
        reason = GpuEngine().availability()
        if reason is not None:
            raise EngineUnavailable(reason)
        there = model.on_device(device.index, block_size=tuning.block_size)
        return Bounding(model, min(HOST_THREADS, physical_cores()), there)
