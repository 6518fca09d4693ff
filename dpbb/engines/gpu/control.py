"""The device under a session, its control block, and orders that end a launch."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.gpu.layout import CONTROL, COUNTERS, NO_VALUE, STOP_AT, Stop
from dpbb.errors import DpbbError

logger = logging.getLogger(__name__)

_HOST_TO_DEVICE = 1  # cudaMemcpyHostToDevice


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


class Orders:
    """Lets any thread end the launch that another thread waits for.

    Parameters
    ----------
    device
        CUDA ordinal.
    """

    def __init__(self, device: int) -> None:
        import cupy

        self._device = device
        self._interrupted = threading.Event()
        self._guard = threading.Lock()
        self._control: int | None = None
        with cupy.cuda.Device(device):
            self._beside = cupy.cuda.Stream(non_blocking=True)
            # pinned, or a copy would not be asynchronous
            self._stop = cupy.cuda.alloc_pinned_memory(4)
        np.frombuffer(self._stop, np.uint32, 1)[:] = Stop.SLICE_OVER

    @property
    def interrupted(self) -> bool:
        """Whether the slice under way is to end."""
        return self._interrupted.is_set()

    def interrupt(self) -> None:
        """End the slice under way soon; from any thread."""
        self._interrupted.set()
        self._end_launch()

    def clear(self) -> None:
        """Forget an interrupt: the slice is over."""
        self._interrupted.clear()

    @contextlib.contextmanager
    def reach(self, control: int) -> Iterator[None]:
        """Have orders reach a launch, from when it is queued until it is over.

        Parameters
        ----------
        control
            Device address of its control block.
        """
        with self._guard:
            self._control = control
        try:
            if self.interrupted:  # since it was last looked at
                self._end_launch()
            yield
        finally:
            with self._guard:
                self._control = None

    def _end_launch(self) -> None:
        """Have a launch under way end as if its time were over.

        One that ends just now may leave the order to the next one, which then ends at
        once: a short slice, and nothing is lost.
        """
        import cupy

        with self._guard:
            if self._control is None:
                return
            place = self._control + STOP_AT
            try:
                with cupy.cuda.Device(self._device):
                    cupy.cuda.runtime.memcpyAsync(
                        place, self._stop.ptr, 4, _HOST_TO_DEVICE, self._beside.ptr
                    )
            except cupy.cuda.runtime.CUDARuntimeError as error:
                # the thread of the session meets it, too, and says so
                logger.debug("the launch could not be ended: %s", error)


class DeviceError(DpbbError, RuntimeError):
    """The CUDA device failed in the middle of a session: its counts are void."""


@contextlib.contextmanager
def on_device(device: int, stream: Any, failed: Callable[[], None]) -> Iterator[None]:
    """Select a device and a stream while they are in use.

    Parameters
    ----------
    device
        CUDA ordinal.
    stream
        A CuPy stream of that device.
    failed
        Called when something fails in between: what the device has is not what the
        host believes then. A failure of CUDA, or no memory, leaves as ``DeviceError``.
    """
    import cupy

    failures = (
        cupy.cuda.runtime.CUDARuntimeError,
        cupy.cuda.driver.CUDADriverError,
        cupy.cuda.memory.OutOfMemoryError,
    )
    try:
        with cupy.cuda.Device(device), stream:
            yield
    except BaseException as error:
        failed()
        if not isinstance(error, failures):
            raise
        raise DeviceError(
            f"CUDA device {device} failed; the session is lost and its counts since "
            f"the last slice are void: {error}"
        ) from error
