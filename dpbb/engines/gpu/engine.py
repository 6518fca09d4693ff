"""The GPU engine: LB1 trees of the permutation flow shop on CUDA devices.

CuPy is imported when a device is asked about, never with the package.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from dpbb.engines.base import Device
from dpbb.engines.gpu.settings import BLOCK_SIZE
from dpbb.engines.gpu.shape import (
    MAX_JOBS,
    MAX_MACHINES,
    KernelShape,
    needs_wide,
    too_large,
)
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.options import BLOCK_SIZE_RANGE, Balance, Bound, Tuning
from dpbb.tree.branching import refusal

if TYPE_CHECKING:
    from dpbb.engines.gpu.session import GpuSession
    from dpbb.options import TreeOptions
    from dpbb.problem import Problem

LEAST_CAPABILITY = (7, 5)
INSTALL = "pip install 'dpbb[cuda13]' (drivers from 580) or 'dpbb[cuda12]'"


class GpuEngine:
    """See ``dpbb.engines.base.Engine``."""

    name = "gpu"

    def availability(self) -> str | None:
        """None if there is a usable device, else what is missing and its fix."""
        try:
            import cupy
            from cupy_backends.cuda.libs import nvrtc
        except ImportError as error:
            return f"CuPy cannot be imported ({error}): {INSTALL}"
        runtime = cupy.cuda.runtime
        try:
            driver, built = runtime.driverGetVersion(), runtime.runtimeGetVersion()
            if driver == 0:
                return "no NVIDIA driver is loaded: install one, see nvidia-smi"
            if driver // 1000 < built // 1000:
                return (
                    f"the driver knows CUDA {driver // 1000}, CuPy is built for CUDA "
                    f"{built // 1000}: pip install 'dpbb[cuda{driver // 1000}]', or a "
                    "newer driver"
                )
            count = runtime.getDeviceCount()
        except runtime.CUDARuntimeError as error:
            return f"no CUDA device can be used ({error}): see nvidia-smi"
        if not count:
            return "no CUDA device is visible: see CUDA_VISIBLE_DEVICES, nvidia-smi"
        try:
            nvrtc.getVersion()
        except (RuntimeError, ImportError, OSError) as error:
            extra = f"cupy-cuda{built // 1000}x[ctk]"
            return f"NVRTC cannot be loaded ({error}): pip install '{extra}'"
        if not self._usable(count):
            least = ".".join(map(str, LEAST_CAPABILITY))
            return f"no device has compute capability {least} or more: use engine cpu"
        return None

    def supports(self, problem: Problem[Any], tree: TreeOptions) -> str | None:
        """None if it is a flow shop with LB1 of a size that the kernels take."""
        if not isinstance(problem, FlowShopProblem):
            return f"engine gpu takes the flow shop, not {problem.name}"
        if tree.bound != Bound.LB1:
            return f"engine gpu takes the bound lb1, not {tree.bound}"
        reason = refusal(problem, tree)
        if reason is not None:
            return reason
        n_jobs, n_machines = problem.instance.times.shape
        if n_jobs > MAX_JOBS or n_machines > MAX_MACHINES:
            return (
                f"engine gpu takes up to {MAX_JOBS} jobs and {MAX_MACHINES} machines, "
                f"not {n_jobs} and {n_machines}"
            )
        return too_large(problem.instance.times, problem.root_bound)

    def devices(self, threads: int | None = None) -> list[Device]:
        """All usable devices that CUDA_VISIBLE_DEVICES leaves; threads are ignored."""
        reason = self.availability()
        if reason is not None:
            raise EngineUnavailable(reason)
        import cupy

        runtime = cupy.cuda.runtime
        found = []
        for index in self._usable(runtime.getDeviceCount()):
            properties = runtime.getDeviceProperties(index)
            name = properties["name"].decode().rstrip("\0")
            found.append(Device("cuda", _uuid(index), index=index, name=name))
        return found

    def open(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        device: Device,
        *,
        ub: int | None = None,
        all_optima: bool = False,
        tuning: Tuning | None = None,
    ) -> GpuSession:
        """Compile for the instance's shape, allocate, and start a session.

        Raises
        ------
        EngineUnavailable
            No device, not this problem, or too little device memory.
        OptionError
            A tuning value that is not allowed.
        """
        reason = self.availability() or self.supports(problem, tree)
        if reason is not None:
            raise EngineUnavailable(reason)
        if not isinstance(problem, FlowShopProblem):  # for the type checker
            raise EngineUnavailable("engine gpu takes the flow shop")
        ub = problem.trivial_ub if ub is None else min(ub, problem.trivial_ub)
        shape = self._shape(problem, tree, ub, tuning)
        order = np.arange(problem.n_jobs, dtype=np.intp)
        if tree.root_order is not None:
            order = np.array(tree.root_order, np.intp)
        kernels, session = _arm(tuning.balance if tuning else None)
        return session(
            problem,
            tree,
            kernels(shape, device.index),
            order,
            ub=ub,
            all_optima=all_optima,
            tuning=tuning or Tuning(),
        )

    @staticmethod
    def _shape(
        problem: FlowShopProblem, tree: TreeOptions, ub: int, tuning: Tuning | None
    ) -> KernelShape:
        threads = tuning.block_size if tuning and tuning.block_size else BLOCK_SIZE
        least, most = BLOCK_SIZE_RANGE
        if threads % 32 or not least <= threads <= most:
            raise OptionError(
                f"block_size: expected a multiple of 32 from {least} to {most}, "
                f"got {threads}"
            )
        times = problem.instance.times
        n_jobs, n_machines = times.shape
        wide = needs_wide(times, problem.root_bound, ub)
        return KernelShape(n_jobs, n_machines, wide, tree.branching, threads // 32)

    @staticmethod
    def _usable(count: int) -> list[int]:
        """Ordinals of the devices of sufficient compute capability."""
        import cupy

        return [
            index
            for index in range(count)
            if tuple(map(int, _capability(cupy, index))) >= LEAST_CAPABILITY
        ]


def _arm(balance: str | None) -> tuple[type[Any], type[GpuSession]]:
    """Kernels and session of a way of balancing; the faster one by default."""
    if balance in (None, Balance.EXPLODE):
        from dpbb.engines.gpu.kernels import Kernels
        from dpbb.engines.gpu.session import GpuSession

        return Kernels, GpuSession
    if balance == Balance.STEAL:
        from dpbb.engines.gpu.steal_kernels import StealKernels
        from dpbb.engines.gpu.steal_session import StealSession

        return StealKernels, StealSession
    raise OptionError(f"balance: expected explode or steal, got {balance!r}")


def _uuid(index: int) -> str:
    """Identity of a device as nvidia-smi prints it.

    Asked of the driver: CuPy cuts the bytes at the first zero. Parts of one card (MIG)
    have its UUID by the first call and their own by the second.
    """
    driver = ctypes.CDLL("libcuda.so.1")
    card, part = (ctypes.c_ubyte * 16)(), (ctypes.c_ubyte * 16)()
    handle = ctypes.c_int()
    status = driver.cuDeviceGet(ctypes.byref(handle), index)
    status = status or driver.cuDeviceGetUuid(card, handle)
    status = status or driver.cuDeviceGetUuid_v2(part, handle)
    if status:
        raise EngineUnavailable(f"CUDA device {index} has no UUID (error {status})")
    kind = "GPU" if bytes(card) == bytes(part) else "MIG"
    return f"{kind}-{UUID(bytes=bytes(part))}"


def _capability(cupy: Any, index: int) -> tuple[int, int]:  # noqa: ANN401
    properties = cupy.cuda.runtime.getDeviceProperties(index)
    return properties["major"], properties["minor"]
