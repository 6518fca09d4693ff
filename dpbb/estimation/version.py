"""Part of the key of Numba's cache, see ``dpbb.engines.cpu.compilation``."""

from __future__ import annotations

import zlib
from pathlib import Path

from dpbb.engines.cpu.compilation import VERSION as ENGINE_VERSION

_SOURCES = [Path(__file__).parent / name for name in ("node.py", "probe.py")]

VERSION = zlib.crc32(b"".join(map(Path.read_bytes, _SOURCES)), ENGINE_VERSION)
"""Changes with any source that the kernels here are compiled from."""
