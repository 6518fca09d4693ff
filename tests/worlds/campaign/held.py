"""A store whose calls hang as long as somebody holds it.

``held:///folder`` is the local folder, as an object store would have it: a file is
there whole or not at all. While the file that ``DPBB_TEST_HOLD`` names is there, every
call waits. Processes that are to use it import this module, as ``--preload``.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import fsspec
from fsspec.spec import AbstractFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

PROTOCOL = "held"
HOLD = "DPBB_TEST_HOLD"
POLL_S = 0.02


class HeldFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """The local file system, unless it is held."""

    protocol = PROTOCOL
    cachable = False

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix(f"{PROTOCOL}://").rstrip("/") or "/"

    def isdir(self, path: str) -> bool:
        """Whether it is a folder."""
        return _when_let_go(lambda: self._at(path).is_dir())

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make a folder, and those above it."""
        _when_let_go(lambda: self._at(path).mkdir(parents=True, exist_ok=exist_ok))

    def pipe_file(
        self, path: str, value: bytes, mode: str = "overwrite", **_: object
    ) -> None:
        """Write a file."""

        def write() -> None:
            temporary = self._at(f"{path}.{uuid4().hex[:8]}.upload")
            temporary.write_bytes(value)
            _when_let_go(lambda: temporary.replace(self._at(path)))

        _when_let_go(write)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: object
    ) -> bytes:
        """Read a file, or a part of it."""
        return _when_let_go(lambda: self._at(path).read_bytes()[start:end])

    def ls(self, path: str, detail: bool = True, **_: object) -> list[Any]:
        """List a folder."""
        return _when_let_go(lambda: self._list(path, detail))

    def rm_file(self, path: str) -> None:
        """Delete a file."""
        _when_let_go(lambda: self._at(path).unlink())

    def _at(self, path: str) -> Path:
        return Path(self._strip_protocol(path))

    def _list(self, path: str, detail: bool) -> list[Any]:
        found: list[Any] = []
        for entry in os.scandir(self._at(path)):
            if entry.name.endswith(".upload"):
                continue
            if not detail:
                found.append(entry.path)
                continue
            kind = "directory" if entry.is_dir() else "file"
            size = entry.stat().st_size
            found.append({"name": entry.path, "size": size, "type": kind})
        return found


def _when_let_go(call: Callable[[], T]) -> T:
    """Call when nobody holds the store."""
    hold = os.environ.get(HOLD)
    while hold and os.path.exists(hold):
        time.sleep(POLL_S)
    return call()


fsspec.register_implementation(PROTOCOL, HeldFileSystem, clobber=True)
