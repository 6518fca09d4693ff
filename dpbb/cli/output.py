"""Where commands write: standard output, and the file of ``--output``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from dpbb.errors import DpbbError

if TYPE_CHECKING:  # every command imports this module, and results load NumPy
    from dpbb.result import Result


def print_rows(rows: Mapping[str, object]) -> None:
    """Print names and what they stand for, one a line."""
    for name, value in rows.items():
        print(f"{name:<14} {value}")


def write_schedule(result: Result, path: Path) -> None:
    """Write the schedule of a result, if it has one; DpbbError if that fails."""
    if result.permutation is None:
        print(f"dpbb: no schedule to write to {path}", file=sys.stderr)
    else:
        result.write_schedule(path)


class _Stdout:
    """Standard output that reports failures, but not that its reader has gone."""

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
