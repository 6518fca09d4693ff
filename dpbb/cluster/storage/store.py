"""Folders of checkpoints: local ones, and whatever else fsspec reaches.

A file is there whole or not at all: locally it is written beside, flushed to the disk
and renamed; object stores do that by themselves.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

import fsspec
from fsspec.implementations.local import LocalFileSystem

from dpbb.cluster.timeouts import timeout
from dpbb.errors import CheckpointError
from dpbb.kernels.cores import in_daemon
from dpbb.text.files import replacing

P = ParamSpec("P")
T = TypeVar("T")

SECRET = re.compile(r"(://[^/@:]*):[^/@]*@")


def shown(url: str) -> str:
    """Return a URL without the password in it, for people."""
    return SECRET.sub(r"\1:***@", url)


def is_local(url: str) -> bool:
    """Whether it is of this machine's file system; connects to nothing."""
    return fsspec.utils.get_protocol(url) in LocalFileSystem.protocol


def _named(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have what a file system raises say what was tried, where, and on which host."""

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


def _halves(url: str) -> tuple[str, str]:
    """Split a URL after its ``://``; all of a path is the second half."""
    begin, mark, rest = url.rpartition("://")
    return begin + mark, rest


def _below(folder: str, name: str) -> str:
    """Path or URL of what is in a folder; that of a root may end in a slash."""
    return f"{folder}{name}" if folder.endswith("/") else f"{folder}/{name}"


def _open_here(path: str, flags: int) -> int:
    """Open a file, but no link to one; a pipe is not waited for."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


class Folder:
    """A folder of files; see the module.

    Parameters
    ----------
    url
        Path or fsspec URL, of this process's machine.

    Attributes
    ----------
    url
        For people: absolute, without a password.
    source
        What opens it again.

    Raises
    ------
    CheckpointError
        No such kind of URL, what it needs is not installed, or nobody answers there.
    """

    def __init__(self, url: str) -> None:
        self.host = socket.gethostname()
        try:
            # an instance of its own: a connection is for one thread at a time
            self._fs, path = fsspec.core.url_to_fs(url, skip_instance_cache=True)
        except (ImportError, ValueError) as error:
            raise CheckpointError(
                f"expected a path or URL that fsspec knows, got {shown(url)!r}: {error}"
            ) from error
        except Exception as error:  # some connect at once
            raise CheckpointError(
                f"cannot connect to {shown(url)} from host {self.host}: "
                f"{type(error).__name__}: {error}"
            ) from error
        self.local = isinstance(self._fs, LocalFileSystem)
        self._path = path.rstrip("/")
        if self.local:
            self._path = self._path or "/"
        begin, rest = _halves(url)
        self.source = self._path if self.local else begin + rest.rstrip("/")
        self.url = shown(self.source)

    @classmethod
    def of_file(cls, path: str) -> tuple[Folder, str]:
        """Return the folder that a file is in, and the file's name; "" for a root."""
        begin, rest = _halves(cls(path).source)
        above, _, name = rest.rpartition("/")
        return cls(begin + above or "/"), name

    def at(self, name: str) -> str:
        """Path of a file; CheckpointError if it would lie elsewhere."""
        if not name or name != os.path.basename(name):
            raise CheckpointError(f"expected the name of a file, got {name!r}")
        return _below(self._path, name)

    def label(self, name: str) -> str:
        """Return the URL of a file, for people."""
        return _below(self.url, name)

    @_named("look at")
    def is_there(self, name: str = "") -> bool:
        """Whether there is such a folder, or one of this name in it."""
        self._fs.invalidate_cache()
        return self._fs.isdir(self.at(name) if name else self._path)

    @_named("write to")
    def probe(self) -> None:
        """Make the folder; raise CheckpointError unless files can be written in it.

        Another process that probes may take away the folder above, which it had made.
        """
        with suppress(FileNotFoundError):
            self._fs.makedirs(self._path, exist_ok=True)
        self._fs.makedirs(self._path, exist_ok=True)
        name = f".probe-{uuid4().hex}"
        self.write(name, [b"dpbb"])
        self.delete(name)

    @_named("write to")
    def write(
        self,
        name: str,
        chunks: Sequence[bytes],
        before: Callable[[], None] | None = None,
    ) -> int:
        """Write a file; returns its size in bytes. A folder that is gone is made again.

        ``before`` is called when all that may take time is done, just before the file
        is there; what it raises leaves none.
        """
        try:
            return self._write(self.at(name), chunks, before)
        except FileNotFoundError:
            self._fs.makedirs(self._path, exist_ok=True)
            return self._write(self.at(name), chunks, before)

    def _write(
        self, path: str, chunks: Sequence[bytes], before: Callable[[], None] | None
    ) -> int:
        if not self.local:
            content = b"".join(chunks)
            if before is not None:
                before()
            self._fs.pipe_file(path, content)
            return len(content)
        with replacing(path, before) as file:
            for chunk in chunks:
                file.write(chunk)
            size = file.tell()
        self._sync_names()
        return size

    def _sync_names(self) -> None:
        """See that a renaming survives a power failure."""
        handle = os.open(self._path, os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    @_named("read from")
    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Bytes of a file, from ``start`` to ``end``.

        Of this folder: neither what a link leads to, nor a device or a pipe.
        """
        path = self.at(name)
        if not self.local:
            return self._fs.cat_file(path, start=start, end=end)
        with open(path, "rb", opener=_open_here) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise CheckpointError(
                    f"expected a file, got {self.label(name)}, which is none"
                )
            file.seek(start)
            until = about.st_size if end is None else min(end, about.st_size)
            return file.read(max(0, until - start))

    @_named("list")
    def names(self) -> list[str]:
        """Names of the files; none if there is no such folder."""
        if not self.is_there():
            return []
        paths = self._fs.ls(self._path, detail=False)
        return sorted(os.path.basename(str(path).rstrip("/")) for path in paths)

    @_named("list")
    def folders(self) -> list[str]:
        """Return what opens the folders in it; none if there is no such folder."""
        entries = self._fs.ls(self._path, detail=True) if self.is_there() else []
        paths = [str(one["name"]) for one in entries if one["type"] == "directory"]
        names = sorted(os.path.basename(path.rstrip("/")) for path in paths)
        return [_below(self.source, name) for name in names if name]

    @_named("delete in")
    def delete(self, name: str) -> None:
        """Delete a file, unless somebody else has."""
        with suppress(FileNotFoundError):
            self._fs.rm_file(self.at(name))


def file_to_write(path: str) -> tuple[Folder, str]:
    """Return the folder and the name of a file that is to be written.

    CheckpointError: it is a folder, the folder that it would be in is not there, or
    nothing can be written there.
    """
    folder, name = Folder.of_file(path)
    reason = None
    if not name or path.endswith("/") or folder.is_there(name):
        reason = os.strerror(errno.EISDIR)
    elif folder.local and not folder.is_there():  # elsewhere folders come with files
        reason = os.strerror(errno.ENOENT)
    if reason is not None:
        raise CheckpointError(
            f"expected a file that can be written, got {shown(path)}: {reason}"
        )
    folder.probe()
    return folder, name


def in_thread(
    function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> asyncio.Future[T]:
    """Call a function in a daemon thread; nobody has to wait for it.

    A store can hang rather than fail. The threads of ``asyncio.to_thread`` are few,
    serve everybody, and are waited for when the process ends.

    The future is the running event loop's. To cancel it leaves the thread alone.
    """
    called = partial(function, *args, **kwargs)
    return asyncio.wrap_future(in_daemon(called, "dpbb-store"))


async def in_time(
    where: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call a function in a thread; CheckpointError if ``where`` does not answer."""
    most_s = timeout("store-open")
    try:
        return await asyncio.wait_for(in_thread(function, *args, **kwargs), most_s)
    except TimeoutError as error:
        raise CheckpointError(no_answer(where, most_s)) from error


def no_answer(where: str, seconds: float) -> str:
    """Say that a store hangs."""
    return f"{where} has not answered for {seconds:.0f} s"
