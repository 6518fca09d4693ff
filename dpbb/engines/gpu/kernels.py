"""The compiled kernels of one instance shape on one device, and how to launch them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.gpu.shape import LANES, KernelShape, PackedInstance, pack_instance
from dpbb.errors import OptionError
from dpbb.kernels.nvrtc import load_module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpbb.flowshop.problem import FlowShopProblem

HERE = Path(__file__).parent
SOURCES = (HERE / "explore.cu", HERE / "transfer.cu")


class Kernels:
    """Kernels of a shape; compiled on construction or found compiled.

    Attributes
    ----------
    resident_warps
        Warps of ``explore`` that the device holds at a time.

    Parameters
    ----------
    shape
        What to compile for.
    device
        CUDA ordinal.

    Raises
    ------
    EngineUnavailable
        The compiler refused the source.
    OptionError
        A block of so many threads needs more shared memory than the device has.
    """

    _sources = SOURCES
    _explores_with = "explore"

    def __init__(self, shape: KernelShape, device: int) -> None:
        import cupy

        self.shape = shape
        self.device = device
        self._check_shared_memory()
        self._module = load_module(self._sources, shape.defines, device)
        with cupy.cuda.Device(device):
            # CuPy leaves the runtime alone where the device does not change: a thread
            # that has never called it has no context, which the driver calls below need
            cupy.cuda.runtime.setDevice(device)
            self._explore = self._module.get_function(self._explores_with)
            self._explore.max_dynamic_shared_size_bytes = self._shared_bytes
            self._survey = self._module.get_function("survey")
            self._walk = self._module.get_function("walk")
            self._paths = self._module.get_function("paths")
            self._release = self._module.get_function("release")
            self._settle = self._module.get_function("settle")
            self._prune = self._module.get_function("prune")
            attributes = cupy.cuda.Device(device).attributes
            self.n_multiprocessors = int(attributes["MultiProcessorCount"])
            blocks = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
                self._explore.kernel.ptr, self._threads, self._shared_bytes
            )
        self.resident_warps: int = blocks * self.n_multiprocessors * shape.warps

    def _check_shared_memory(self) -> None:
        """Raise OptionError if a block does not fit; the driver gives no reason."""
        import cupy

        attributes = cupy.cuda.Device(self.device).attributes
        most, needed = attributes["MaxSharedMemoryPerBlockOptin"], self._shared_bytes
        if needed > most:
            raise OptionError(
                f"block_size: expected less than {self._threads} threads for "
                f"{self.shape.n_jobs} jobs, as they need {needed / 1024:.0f} KiB of "
                f"shared memory a block and device {self.device} has {most / 1024:.0f}"
            )

    @property
    def _shared_bytes(self) -> int:
        return self.shape.shared_bytes

    @property
    def _threads(self) -> int:
        return self.shape.warps * LANES

    @property
    def walk_warps(self) -> int:
        """Most warps that a walk is given."""
        return self.n_multiprocessors * 2 * self.shape.warps

    def pack(self, problem: FlowShopProblem, order: NDArray[np.intp]) -> PackedInstance:
        """Arrays of the instance with its jobs in root order."""
        times = problem.instance.times[order].astype(np.int64)
        return pack_instance(
            times,
            problem.least_heads.astype(np.int64),
            problem.least_tails.astype(np.int64),
            self.shape,
        )

    def explore(self, stream: Any, blocks: int, arena: Any) -> None:  # noqa: ANN401
        """Explore the pool; one launch."""
        shared = self._shared_bytes
        with stream:
            self._explore((blocks,), (self._threads,), (arena,), shared_mem=shared)

    def settle(self, stream: Any, arena: Any) -> None:  # noqa: ANN401
        """Collect all pages in ``out``."""
        with stream:
            self._settle((self.n_multiprocessors,), (256,), (arena,))

    def survey(self, stream: Any, arena: Any) -> None:  # noqa: ANN401
        """Count and bound the open roots."""
        self._look_at_pool(self._survey, stream, arena)

    def prune(self, stream: Any, arena: Any) -> None:  # noqa: ANN401
        """Free pages without a node below the upper bound; collect all in ``out``."""
        self._look_at_pool(self._prune, stream, arena)

    def _look_at_pool(self, kernel: Any, stream: Any, arena: Any) -> None:  # noqa: ANN401
        with stream:
            grid = (self.n_multiprocessors * 2,)
            kernel(grid, (self._threads,), (arena,))

    def walk(
        self,
        stream: Any,  # noqa: ANN401
        arena: Any,  # noqa: ANN401
        arrays: Sequence[Any],
        *,
        width: int,
        n_pages: int,
        n_warps: int,
    ) -> None:
        """Walk to roots and put them into the pool.

        Parameters
        ----------
        arrays
            On the device: digits (uint16), first and count (uint32), depths (uint16).
        """
        blocks = -(-n_warps // self.shape.warps)
        digits, *pages = arrays
        arguments = (arena, digits, np.int32(width), *pages, np.uint32(n_pages))
        with stream:
            self._walk((blocks,), (self._threads,), arguments)

    def paths(
        self,
        stream: Any,  # noqa: ANN401
        arena: Any,  # noqa: ANN401
        arrays: Sequence[Any],
        n_pages: int,
        digits: Any,  # noqa: ANN401
    ) -> None:
        """Write the paths of records to ``digits``.

        Parameters
        ----------
        arrays
            On the device: pages, first record, number of records (uint32) and first
            row of ``digits`` (uint64) of every page.
        """
        arguments = (arena, *arrays, np.uint32(n_pages), digits)
        with stream:
            grid = (self.n_multiprocessors * 4,)
            self._paths(grid, (self._threads,), arguments)

    def release(self, stream: Any, arena: Any, pages: Any, n_pages: int) -> None:  # noqa: ANN401
        """Give pages back to the free ring."""
        with stream:
            self._release((1,), (256,), (arena, pages, np.uint32(n_pages)))
