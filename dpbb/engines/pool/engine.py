"""The pool engine: best first or deepest first, bounds in batches, a GPU or threads.

A problem has the models of the engines ``cpu`` and ``gpu``; without the latter nodes
are bounded on the cores of the host. CuPy is imported when a device is asked about,
never with the package.
"""

from __future__ import annotations

import logging
from typing import Any

from dpbb.engines.base import Device, Engine, obstacle_of
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.engines.gpu.engine import GpuEngine
from dpbb.engines.pool.bounding import Brancher, Cores
from dpbb.engines.pool.device import OnDevice
from dpbb.engines.pool.session import PoolSession
from dpbb.errors import EngineUnavailable
from dpbb.kernels.cores import physical_cores
from dpbb.options import TreeOptions, Tuning
from dpbb.problem import Problem
from dpbb.problems import model_of

logger = logging.getLogger(__name__)

HOST_THREADS = 8
"""Threads that make the nodes of a GPU, at most."""


class PoolEngine(Engine):
    """See ``dpbb.engines.base.Engine``."""

    name = "pool"

    def availability(self) -> str | None:
        """None where the CPU engine can run: a GPU is not needed."""
        return CpuEngine().availability()

    def supports(self, problem: Problem[Any], tree: TreeOptions) -> str | None:
        """None for a problem with a model of its bound for cores."""
        return obstacle_of(self.name, "cpu", problem, tree)

    def devices(self, threads: int | None = None) -> list[Device]:
        """Return the GPUs of this process, or its processor if there is none."""
        gpu = GpuEngine()
        if gpu.availability() is None:
            return gpu.devices(threads)
        return CpuEngine().devices(threads)

    def _session(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        device: Device,
        ub: int,
        all_optima: bool,
        tuning: Tuning,
    ) -> PoolSession:
        if device.threads < 1:
            raise ValueError(f"expected at least 1 thread, got {device.threads}")
        ub, threads = min(ub, problem.trivial_ub), device.threads
        brancher: Brancher | None = None
        if device.kind == "cuda":
            reason = GpuEngine().availability()
            if reason is not None:
                raise EngineUnavailable(reason)
            threads = min(HOST_THREADS, physical_cores())
            reason = obstacle_of("gpu", "cuda", problem, tree)
            if reason is None:
                model = model_of(problem, "cuda", tree.bound)
                given, size = (problem, tree, ub, device.index), tuning.block_size
                brancher = OnDevice(model, *given, block_size=size)
            else:
                logger.warning("%s: nodes are bounded on cores", reason)
        if brancher is None:
            model = model_of(problem, "cpu", tree.bound)
            brancher = Cores(model, problem, tree, ub)
        about = problem, tree, brancher, tuning, ub
        return PoolSession(*about, threads=threads, all_optima=all_optima)
