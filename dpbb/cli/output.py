"""Where commands write: standard output, and the file of ``--output``."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from dpbb.errors import DpbbError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpbb.result import Result
    from dpbb.schedule import Schedule


def writable(path: str) -> Path:
    """Refuse a path that cannot be written to now, not after hours of search.

    Nothing is left behind, however this process ends: a file that had to be made to
    find out is removed at once.

    Raises
    ------
    OptionError
        Not the path of a file, or it cannot be written to.
    """
    if not path.strip():
        raise OptionError(f"--output: expected the path of a file, got {path!r}")
    try:
        made = _make(path)
        if made is not None:
            made.unlink()
        elif Path(path).is_file() or Path(path).is_dir():
            Path(path).open("ab").close()
        elif not os.access(path, os.W_OK):  # opening a pipe may wait for its reader
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        raise OptionError(
            f"--output: expected a file that can be written, got {path}: "
            f"{getattr(error, 'strerror', None) or error}"
        ) from error
    return Path(path)


def write_schedule(result: Result, path: Path) -> None:
    """Write the schedule of a result, if it has one."""
    if result.operations is None:
        print(f"dpbb: no schedule to write to {path}", file=sys.stderr)
    else:
        write_csv(result.schedule(), path)


def write_csv(schedule: Schedule, path: Path) -> None:
    """Write a schedule; no part of it stays in a file that was made for it.

    Raises
    ------
    DpbbError
        It cannot be written.
    """
    made = None
    try:
        made = _make(path)
        schedule.write_csv(path)
    except BaseException as error:
        if made is not None:
            made.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise DpbbError(f"{path}: cannot be written: {error.strerror}") from error
        raise


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


class _Stdout:
    """Standard output whose failures are told, except that its reader has gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write."""
        with self._told():
            return self._stream.write(text)

    def flush(self) -> None:
        """Flush."""
        with self._told():
            self._stream.flush()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            silence()
            raise DpbbError(
                f"standard output: cannot be written: {error.strerror or error}"
            ) from error


@contextmanager
def checked_stdout() -> Iterator[None]:
    """Write standard output until the end of the block; DpbbError if it fails."""
    if sys.stdout is None:  # closed by whoever started us
        yield
        return
    stream = _Stdout(sys.stdout)
    with redirect_stdout(cast("TextIO", stream)):
        try:
            yield
        finally:
            stream.flush()


def silence() -> None:
    """Drop what stdout still holds: a flush at exit would complain once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
