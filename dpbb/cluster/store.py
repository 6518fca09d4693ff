"""Folders of checkpoints: local ones, and whatever else fsspec reaches.

A file is there whole or not at all: locally it is written beside, flushed to the disk
and renamed; object stores do that by themselves.
"""

from __future__ import annotations

import os
import socket
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from uuid import uuid4

import fsspec
from fsspec.implementations.local import LocalFileSystem

from dpbb.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

P = ParamSpec("P")
T = TypeVar("T")


def _named(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have whatever a file system raises say what was tried, where, on which host."""

    def decorate(method: Callable[P, T]) -> Callable[P, T]:
        @wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return method(*args, **kwargs)
            except CheckpointError:
                raise
            except Exception as error:
                folder: Any = args[0]
                raise CheckpointError(
                    f"cannot {what} {folder.url} on host {folder.host}: "
                    f"{type(error).__name__}: {error}"
                ) from error

        return call

    return decorate


class Folder:
    """A folder of files; see the module.

    Parameters
    ----------
    url
        Path or fsspec URL, of this process's machine.

    Raises
    ------
    CheckpointError
        No such kind of URL, or what it needs is not installed.
    """

    def __init__(self, url: str) -> None:
        self.host = socket.gethostname()
        self.url = url
        try:
            self._fs, path = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise CheckpointError(
                f"expected a path or URL that fsspec knows, got {url!r}: {error}"
            ) from error
        self._path = path.rstrip("/")
        self.local = isinstance(self._fs, LocalFileSystem)
        self.url = self._path if self.local else self._fs.unstrip_protocol(self._path)

    def at(self, name: str) -> str:
        """Path of a file; CheckpointError if it would lie elsewhere."""
        if not name or name != os.path.basename(name):
            raise CheckpointError(f"expected the name of a file, got {name!r}")
        return f"{self._path}/{name}"

    @_named("write to")
    def probe(self) -> None:
        """Make the folder; raise CheckpointError unless files can be written in it."""
        self._fs.makedirs(self._path, exist_ok=True)
        name = f".probe-{uuid4().hex}"
        self.write(name, [b"dpbb"])
        self.delete(name)

    @_named("write to")
    def write(self, name: str, chunks: Iterable[bytes]) -> int:
        """Write a file; returns its size in bytes."""
        path = self.at(name)
        if not self.local:
            content = b"".join(chunks)
            self._fs.pipe_file(path, content)
            return len(content)
        temporary = Path(f"{path}.{uuid4().hex[:8]}.tmp")
        try:
            with temporary.open("wb") as file:
                for chunk in chunks:
                    file.write(chunk)
                size = file.tell()
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        self._sync_names()
        return size

    def _sync_names(self) -> None:
        """Have the renaming survive a power failure, where the system can."""
        if hasattr(os, "O_DIRECTORY"):
            handle = os.open(self._path, os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    @_named("read from")
    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Bytes of a file, from ``start`` to ``end``."""
        content: bytes = self._fs.cat_file(self.at(name), start=start, end=end)
        return content

    @_named("list")
    def names(self) -> list[str]:
        """Names of the files; none if there is no such folder."""
        self._fs.invalidate_cache()
        if not self._fs.isdir(self._path):
            return []
        paths = self._fs.ls(self._path, detail=False)
        return sorted(os.path.basename(str(path).rstrip("/")) for path in paths)

    @_named("list")
    def folders(self) -> list[str]:
        """URLs of the folders in it; none if there is no such folder."""
        self._fs.invalidate_cache()
        if not self._fs.isdir(self._path):
            return []
        entries = self._fs.ls(self._path, detail=True)
        names = [
            os.path.basename(str(entry["name"]).rstrip("/"))
            for entry in entries
            if entry["type"] == "directory"
        ]
        return [f"{self.url.rstrip('/')}/{name}" for name in sorted(names) if name]

    @_named("delete in")
    def delete(self, name: str) -> None:
        """Delete a file."""
        self._fs.rm_file(self.at(name))
