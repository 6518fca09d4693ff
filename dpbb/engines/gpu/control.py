"""The control block of a session: counters and orders, exchanged once a launch."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.gpu.layout import CONTROL, COUNTERS, NO_VALUE


class Control:
    """Fields of ``Control`` (``pages.cuh``) by name, on the host and on the device.

    Parameters
    ----------
    block
        Its bytes on the device.
    stream
        Where copies take their turn.
    fields
        What they begin with; the others are 0.
    """

    def __init__(self, block: Any, stream: Any, **fields: int) -> None:
        import cupy

        self._block = block
        self._stream = stream
        self._done = cupy.cuda.Event(block=True, disable_timing=True)
        # pinned, or a copy would not be asynchronous
        self._pinned = cupy.cuda.alloc_pinned_memory(CONTROL.itemsize)
        self._host = np.frombuffer(self._pinned, CONTROL, 1)
        self._host[:] = np.zeros(1, CONTROL)
        for name, value in fields.items():
            self[name] = value

    def __getitem__(self, name: str) -> int:
        return int(self._host[name][0])

    def __setitem__(self, name: str, value: int) -> None:
        self._host[name] = value

    @property
    def address(self) -> int:
        """Address of the block on the device."""
        return int(self._block.data.ptr)

    def reset(self, n_warps: int) -> None:
        """Set the values that a launch of so many warps begins with."""
        for name in ("tickets", "gifts", "stop", "pool_next", "n_out", "lock"):
            self[name] = 0
        self["n_optima"] = 0
        self["best"] = NO_VALUE
        self["n_warps"] = n_warps

    def send(self) -> None:
        """Copy the block to the device; counters begin at 0."""
        for name in (*COUNTERS, "open_roots"):
            self[name] = 0
        self._block.data.copy_from_host_async(
            self._pinned.ptr, CONTROL.itemsize, self._stream
        )

    def receive(self, totals: NDArray[Any] | None = None) -> None:
        """Wait for the device; copy the block back, add its counters to ``totals``."""
        self._block.data.copy_to_host_async(
            self._pinned.ptr, CONTROL.itemsize, self._stream
        )
        self._done.record(self._stream)
        self._done.synchronize()
        if totals is not None:
            for name in COUNTERS:
                totals[name] += self._host[name]
