"""Energy that a device used while it explored: NVML for GPUs, RAPL for processors.

Meters of devices, not of processes: whatever else ran there is in it. A processor's
meter is the host's, so that only one process of a host reads it; the others, and hosts
where nobody may (most, since reading it helps side channels), have no figure.

References
----------
Linux ``Documentation/power/powercap``: ``energy_uj`` of each package wraps at
``max_energy_range_uj``.
"""

import fcntl
import os
import tempfile
import time
from functools import cache
from pathlib import Path

from dpbb.engines import nvml
from dpbb.engines.base import Device

POWERCAP = Path("/sys/class/powercap")

FRESH_S = 0.05
"""A reading of a GPU is good for so long: the meter itself is not newer, and to ask it
takes milliseconds, twice for each of the short units at the end of a run."""


class EnergyMeter:
    """Joules of a device since the meter was made."""

    def __init__(self, device: Device) -> None:
        self._uuid = device.uuid if device.kind == "cuda" else None
        self._packages: list[_Package] = []
        if self._uuid is None and (found := _packages()) and _is_first_on_host():
            self._packages = found
        self._base = 0.0 if self._uuid is None else nvml.energy_j(self._uuid)
        self._now, self._read_at = self._base, time.monotonic()

    def read(self) -> float | None:
        """Return the joules so far; None if the device does not say.

        Call it every few minutes at least: a processor's counter wraps.
        """
        if self._uuid is None:
            try:
                used = [package.read() for package in self._packages]
            except (OSError, ValueError):
                self._packages, used = [], []
            return sum(used) if used else None
        if time.monotonic() - self._read_at > FRESH_S:
            self._now, self._read_at = nvml.energy_j(self._uuid), time.monotonic()
        if self._now is None or self._base is None:
            return None
        return self._now - self._base


class _Package:
    """A processor package's counter, across its wraps."""

    def __init__(self, zone: Path) -> None:
        self._counter = zone / "energy_uj"
        self._range = int((zone / "max_energy_range_uj").read_text())
        self._last = int(self._counter.read_text())
        self._used = 0

    def read(self) -> float:
        now = int(self._counter.read_text())
        self._used += (now - self._last) % (self._range + 1)
        self._last = now
        return self._used / 1e6


def _packages() -> list[_Package]:
    """Counters of all packages; none if one of them cannot be read."""
    try:
        return [_Package(zone) for zone in sorted(POWERCAP.glob("intel-rapl:?"))]
    except (OSError, ValueError):
        return []


@cache
def _is_first_on_host() -> bool:
    """Whether this process reads the processors' meters; only one does, to its end.

    A lock file decides; it is let go when the process ends, however it does.
    """
    return _lock(Path(tempfile.gettempdir()) / f"dpbb-energy-{os.getuid()}.lock")


def _lock(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return False
    return True  # the file stays open, and locked
