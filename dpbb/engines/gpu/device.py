"""The device under a session, and what happens when it fails."""

from collections.abc import Callable
from typing import Any

from dpbb.errors import DpbbError


class DeviceError(DpbbError, RuntimeError):
    """The CUDA device failed in the middle of a session: its counts are void."""


class OnDevice:
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

    def __init__(self, device: int, stream: Any, failed: Callable[[], None]) -> None:
        import cupy

        self._device = cupy.cuda.Device(device)
        self._stream = stream
        self._failed = failed

    def __enter__(self) -> None:
        self._device.__enter__()
        self._stream.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        import cupy

        failures = (
            cupy.cuda.runtime.CUDARuntimeError,
            cupy.cuda.driver.CUDADriverError,
            cupy.cuda.memory.OutOfMemoryError,
        )
        try:
            self._stream.__exit__(kind, error, trace)
            self._device.__exit__(kind, error, trace)
        except failures as again:  # every call fails once the context is lost
            error = error or again
        if error is None:
            return
        self._failed()
        if isinstance(error, failures):
            raise DeviceError(
                f"CUDA device {self._device.id} failed; the session is lost and its "
                f"counts since the last slice are void: {error}"
            ) from error
