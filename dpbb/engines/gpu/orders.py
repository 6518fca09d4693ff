"""Orders to a launch under way."""

import contextlib
import logging
import threading
from collections.abc import Iterator

import numpy as np

from dpbb.engines.gpu.layout import STOP_AT, Stop

logger = logging.getLogger(__name__)

_HOST_TO_DEVICE = 1  # cudaMemcpyHostToDevice


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
