"""Files: read if they are not too large; written if possible, whole or not at all."""

import errno
import fcntl
import os
import platform
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from importlib import resources
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from dpbb.errors import DpbbError, OptionError

_NUMBERED = re.compile(r"(.+)\[(\d{1,9})\]", re.ASCII | re.DOTALL)

MOST_BYTES = 2**27
"""Of a file that is read as a whole."""

_noted: ContextVar[list[str | Path] | None] = ContextVar("_noted", default=None)
"""Files and folders that the block of ``noting`` has read."""


@contextmanager
def noting() -> Iterator[None]:
    """In this block ``check_writable`` refuses whatever the block has read.

    So it does in a block inside another, for both.
    """
    outer = _noted.get()
    token = _noted.set([] if outer is None else outer)
    try:
        yield
    finally:
        _noted.reset(token)


def noted(path: Path) -> Path:
    """Return a file or folder that is about to be read; see ``noting``."""
    known = _noted.get()
    if known is not None:
        known.append(path)
    return path


def check_readable(path: Path, most: int = MOST_BYTES) -> Path:
    """Return a file that is about to be read; see ``noting``.

    OSError: it is not there, it might never end (a pipe, a device), or it has more than
    ``most`` bytes.
    """
    about = noted(path).stat()
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "a pipe or device, not a regular file", str(path))
    if about.st_size > most:
        raise OSError(errno.EFBIG, too_large(about.st_size, most), str(path))
    return path


def read_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return what is in a file; OSError: see ``check_readable``."""
    with check_readable(path, most).open("rb") as file:
        return read_stream(file, most)


def read_stream(stream: BinaryIO, most: int = MOST_BYTES) -> bytes:
    """Return all that a stream has; OSError: that is more than ``most`` bytes."""
    content = stream.read(most + 1)
    if len(content) > most:  # of some files of the system the size is not known
        raise OSError(errno.EFBIG, too_large(None, most))
    return content


def too_large(size: int | None, most: int) -> str:
    """Say that something has more bytes than are read."""
    found = "more" if size is None else f"{size:,} bytes"
    return f"{found}, at most {most:,} bytes are read"


def known_suffix(path: str | Path, name: str, allowed: Sequence[str]) -> str:
    """Return what a file's name ends in, in small letters; OptionError: another."""
    suffix = Path(path).suffix.lower()
    if suffix not in allowed:
        known = ", ".join(filter(None, allowed))
        raise OptionError(f"{name}: expected a file ending in {known}, got {path}")
    return suffix


def file_and_index(name: str) -> tuple[str, int | None]:
    """Return the file and the number that ``"FILE[3]"`` says; None of a whole file."""
    numbered = _NUMBERED.fullmatch(name)
    if numbered and not os.path.exists(name):
        return numbered[1], int(numbered[2])
    return name, None


def _is_same(path: str | Path, other: object) -> bool:
    """Whether a path leads to what another does: ``"FILE[3]"``, or a folder of it."""
    if not isinstance(other, str | os.PathLike):
        return False
    named = file_and_index(os.fsdecode(other))[0]
    if os.path.isdir(named):
        return Path(os.path.realpath(named)) in Path(os.path.realpath(path)).parents
    if os.path.exists(path) and os.path.exists(named):
        return os.path.samefile(path, named)
    return os.path.realpath(path) == os.path.realpath(named)


def check_writable(path: str | Path, name: str, *others: object) -> None:
    """Refuse a path that cannot be written to now, not after hours of search.

    Nothing is left behind, however this process ends: a file that had to be made to
    find out is removed at once.

    ``others``: files and folders that are read, or files that are written to, besides;
    what is no path is none of them.

    OptionError: not the path of a file, one of the others, or it cannot be written to.
    """
    if not isinstance(path, str | os.PathLike) or not str(path).strip():
        raise OptionError(f"{name}: expected the path of a file, got {path!r}")
    try:
        for other in (*others, *(_noted.get() or ())):
            if _is_same(path, other):
                inside = os.path.isdir(str(other))
                those, how = ("those in ", ": write it outside") if inside else ("", "")
                raise OptionError(
                    f"{name}: expected another file than {those}{other}{how}"
                )
        made = _make(path)
        if made is not None:
            made.unlink()
        elif Path(path).is_file() or Path(path).is_dir():
            Path(path).open("ab").close()
        elif not os.access(path, os.W_OK):  # opening a pipe may wait for its reader
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OptionError:
        raise
    except (OSError, ValueError) as error:
        raise OptionError(
            f"{name}: expected a file that can be written, got {path}: "
            f"{getattr(error, 'strerror', None) or error}"
        ) from error


@contextmanager
def expecting(what: str) -> Iterator[None]:
    """Read something in this block; OptionError if it is not what was expected."""
    try:
        yield
    except OptionError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OptionError(f"{what}, got: {reason}") from error


def data_lines(package: str, name: str) -> list[str]:
    """Return the lines of a table in a package's folder of data, below its header."""
    text = (resources.files(package) / "data" / name).read_text("ascii")
    return [line for line in text.splitlines() if not line.startswith("#")][1:]


@contextmanager
def alone(lock: Path, expected: str) -> Iterator[None]:
    """Hold a lock in this block; its file says who does, and stays afterwards.

    Raises
    ------
    DpbbError
        Another process holds it: what was expected, and which one it is. Or its file
        cannot be written.
    """
    with ExitStack() as stack:
        with writing(lock):
            # without a buffer: what a full disk has no room for is not left in it
            file = stack.enter_context(lock.open("ab+", buffering=0))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                file.seek(0)
                holder = file.read().decode().strip() or "another process"
                raise DpbbError(f"{expected}, got one that is used by {holder}") from (
                    error
                )
            file.truncate(0)
            file.write(f"process {os.getpid()} on {platform.node()}\n".encode())
        yield


@contextmanager
def whole_file(path: str | Path) -> Iterator[None]:
    """Write a file in this block: no part of it stays where there was none before.

    DpbbError: it cannot be written.
    """
    made = None
    with writing(path):
        try:
            made = _make(path)
            yield
        except BaseException:
            if made is not None:
                made.unlink(missing_ok=True)
            raise


@contextmanager
def replacing(
    path: str | Path, before: Callable[[], None] | None = None
) -> Iterator[BinaryIO]:
    """Write a file in this block that takes the place of one, or of none, at its end.

    ``before`` is called when it is on the disk, just before it is there; what it raises
    leaves what was there, as does the OSError of what cannot be written.
    """
    beside = Path(f"{path}.{uuid4().hex[:8]}.new")
    try:
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if before is not None:
            before()
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Say which file could not be written in this block: DpbbError, not OSError."""
    try:
        yield
    except OSError as error:
        raise DpbbError(f"{path}: cannot be written: {error.strerror}") from error


def _make(path: str | Path) -> Path | None:
    """Make an empty file; None if there is anything already, which stays as it is."""
    if os.path.exists(path):
        return None
    file = Path(os.path.realpath(path))  # a link may lead to what is not there yet
    try:
        file.open("x").close()
    except FileExistsError:
        return None
    return file
