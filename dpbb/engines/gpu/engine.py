"""The GPU engine: trees of permutations on CUDA devices, by models of problems.

CuPy is imported when a device is asked about, never with the package.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any
from uuid import UUID

from dpbb.engines.base import Device, Engine, obstacle_of
from dpbb.engines.gpu.explode import Exploding
from dpbb.engines.gpu.kernels import Kernels, KernelShape, filling_block
from dpbb.engines.gpu.layout import LANES
from dpbb.engines.gpu.pool import Arm
from dpbb.engines.gpu.session import GpuSession
from dpbb.engines.gpu.steal import Stealing
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.options import BLOCK_SIZE_RANGE, Balance, TreeOptions, Tuning
from dpbb.problem import Problem, cost_of
from dpbb.problems import model_of
from dpbb.tree.branching import order_of

if TYPE_CHECKING:
    from dpbb.kernels.cuda_model import CudaModel

ARMS: dict[Balance, type[Arm]] = {Balance.EXPLODE: Exploding, Balance.STEAL: Stealing}
"""Ways of balancing."""
LEAST_CAPABILITY = (7, 5)
BLOCK_SIZE = 128
"""Threads of a block where it does not fill a multiprocessor."""
NO_DRIVER = "no NVIDIA driver is loaded: see nvidia-smi"
INSTALL = "pip install 'dpbb[cuda13]' (drivers from 580) or 'dpbb[cuda12]'"


class GpuEngine(Engine):
    """See ``dpbb.engines.base.Engine``."""

    name = "gpu"

    def availability(self) -> str | None:
        """None if there is a usable device, else what is missing and its fix."""
        try:
            import cupy
            from cupy_backends.cuda.libs import nvrtc
        except ImportError as error:
            if not has_driver():
                return NO_DRIVER  # CuPy, which is large, would not help
            return f"CuPy cannot be imported ({error}): {INSTALL}"
        runtime = cupy.cuda.runtime
        try:
            driver, built = runtime.driverGetVersion(), runtime.runtimeGetVersion()
            if driver == 0:
                return NO_DRIVER
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
        """None if there is a CUDA model that the problem fits, else the reason."""
        return obstacle_of(self.name, "cuda", problem, tree)

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

    def warm_up(self, problem: Problem[Any], tree: TreeOptions, device: Device) -> None:
        """Compile the default kernels for costs below that of the jobs in root order.

        The upper bound decides on the width of values; a heuristic's is below that one,
        and mostly wants the same.
        """
        order = order_of(tree, problem.n_jobs)
        ub = min(cost_of(problem, order), problem.trivial_ub)
        _kernels(problem, tree, ub, Tuning(), device.index)

    def _session(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        device: Device,
        ub: int,
        all_optima: bool,
        tuning: Tuning,
    ) -> GpuSession:
        reason = self.availability()
        if reason is not None:
            raise EngineUnavailable(reason)
        ub = min(ub, problem.trivial_ub)
        kernels = _kernels(problem, tree, ub, tuning, device.index)
        about = problem, tree, kernels, _arm(tuning.balance)
        return GpuSession(*about, ub=ub, all_optima=all_optima, tuning=tuning)

    @staticmethod
    def _usable(count: int) -> list[int]:
        """Ordinals of the devices of sufficient compute capability."""
        import cupy

        return [
            index
            for index in range(count)
            if tuple(map(int, _capability(cupy, index))) >= LEAST_CAPABILITY
        ]


def has_driver() -> bool:
    """Whether NVIDIA's driver can be loaded here; nothing of it is started."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def _kernels(
    problem: Problem[Any], tree: TreeOptions, ub: int, tuning: Tuning, device: int
) -> Kernels:
    """Compile what explores; if nothing is given, a block fills a multiprocessor."""
    shape = _shape(problem, tree, ub, tuning)
    arm = _arm(tuning.balance)
    given = tuning.block_size is not None or tuning.explorers is not None
    if arm is Exploding and not given:
        shape = filling_block(shape, arm.exploration, device)
    return Kernels(shape, device, arm.exploration)


def _shape(
    problem: Problem[Any], tree: TreeOptions, ub: int, tuning: Tuning
) -> KernelShape:
    threads = tuning.block_size or BLOCK_SIZE
    least, most = BLOCK_SIZE_RANGE
    if threads % LANES or not least <= threads <= most:
        raise OptionError(
            f"block_size: expected a multiple of 32 from {least} to {most}, "
            f"got {threads}"
        )
    model: CudaModel = model_of(problem, "cuda", tree.bound).of(problem, ub)
    return KernelShape(model, tree.branching, threads // LANES, tree.skips_copies)


def _arm(balance: str | None) -> type[Arm]:
    """Return a way of balancing; the faster one by default."""
    try:
        return ARMS[Balance(balance or Balance.EXPLODE)]
    except ValueError:
        raise OptionError(
            f"balance: expected explode or steal, got {balance!r}"
        ) from None


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


def _capability(cupy: Any, index: int) -> tuple[int, int]:
    properties = cupy.cuda.runtime.getDeviceProperties(index)
    return properties["major"], properties["minor"]
