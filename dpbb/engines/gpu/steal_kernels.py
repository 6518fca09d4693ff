"""The compiled kernels of the stealing arm, and how to launch them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.gpu.intervals import diver_bytes
from dpbb.engines.gpu.kernels import HERE, Kernels

if TYPE_CHECKING:
    from dpbb.engines.gpu.shape import KernelShape

SOURCES = (HERE / "steal.cu", HERE / "transfer.cu")


class StealKernels(Kernels):
    """See ``Kernels``; an explorer is a warp, and more of them than fit take turns."""

    _sources = SOURCES
    _explores_with = "explore_intervals"

    def __init__(self, shape: KernelShape, device: int) -> None:
        super().__init__(shape, device)
        import cupy

        with cupy.cuda.Device(device):
            self._weigh = self._module.get_function("weigh")
            self._add_up = self._module.get_function("add_up")
            self._steal = self._module.get_function("steal")
            self._survey_intervals = self._module.get_function("survey_intervals")
            self._interval_paths = self._module.get_function("interval_paths")

    @property
    def _shared_bytes(self) -> int:
        shape = self.shape
        rows = shape.n_jobs * shape.row_words * 4 if shape.shared_rows else 0
        return rows + shape.warps * diver_bytes(shape)

    @property
    def _list_bytes(self) -> int:
        """Shared memory for a list of jobs or digits of every warp."""
        return 2 * self.shape.n_jobs * self.shape.warps

    def phase(self, stream: Any, n: int, arena: Any, intervals: Any) -> None:  # noqa: ANN401
        """Explore, then let the explorers without work steal.

        Parameters
        ----------
        n
            Explorers, a multiple of the warps of a block.
        """
        grid, block = (n // self.shape.warps,), (self._threads,)
        both = (arena, intervals)
        with stream:
            self._explore(grid, block, both, shared_mem=self._shared_bytes)
            self._weigh(grid, block, both, shared_mem=self._list_bytes)
            self._add_up((self.n_multiprocessors,), (256,), both)
            self._steal(grid, block, both, shared_mem=self._list_bytes)

    def survey_intervals(
        self,
        stream: Any,  # noqa: ANN401
        n: int,
        arena: Any,  # noqa: ANN401
        intervals: Any,  # noqa: ANN401
    ) -> None:
        """Count and bound the open siblings of every explorer."""
        grid, block = (n // self.shape.warps,), (self._threads,)
        with stream:
            self._survey_intervals(
                grid, block, (arena, intervals), shared_mem=self._list_bytes
            )

    def interval_paths(
        self,
        stream: Any,  # noqa: ANN401
        intervals: Any,  # noqa: ANN401
        explorers: tuple[int, int],
        arrays: tuple[Any, Any, Any],
    ) -> None:
        """Write the paths of open siblings.

        Parameters
        ----------
        explorers
            The first one and how many.
        arrays
            On the device: first row of each of them (uint64), digits
            (uint16, shape (rows, n_jobs)), depths (uint16, shape (rows,)).
        """
        first, count = explorers
        grid = (-(-count // self.shape.warps),)
        arguments = (intervals, np.uint32(first), np.uint32(count), *arrays)
        with stream:
            self._interval_paths(grid, (self._threads,), arguments)
