"""How the GPUs of a worker are, in its heartbeats to the scheduler.

Dask's heartbeats may carry metrics of others; the scheduler holds the latest ones of
each worker, and the page shows them. Of cores Dask itself says how busy they are.
"""

import time
from collections.abc import Sequence
from threading import Thread
from typing import Any

from dpbb.engines import nvml

FRESH_S = 2.0
"""A reading serves for so long: to ask a driver takes milliseconds."""


class Health:
    """Readings of some GPUs, as a metric of a Dask worker.

    Parameters
    ----------
    uuids
        Those of the GPUs.
    """

    def __init__(self, uuids: Sequence[str]) -> None:
        self._uuids = tuple(uuids)
        self._latest: dict[str, dict[str, Any]] = {}
        self._until = 0.0
        self._thread: Thread | None = None

    def __call__(self, _worker: object) -> dict[str, dict[str, Any]]:
        """Return what the driver said last, by UUID: fields of ``feed.DeviceRow``.

        It is asked in a thread, and not waited for: a heartbeat that comes late costs
        the worker.
        """
        now = time.monotonic()
        if now >= self._until and not (self._thread and self._thread.is_alive()):
            self._until = now + FRESH_S
            self._thread = Thread(target=self._read, name="dpbb-health", daemon=True)
            self._thread.start()
        return self._latest

    def _read(self) -> None:
        self._latest = {uuid: nvml.health(uuid) for uuid in self._uuids}
