"""Standard output of commands: a failure is told, but not that its reader has gone."""

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from textwrap import TextWrapper
from typing import TextIO, cast

from dpbb.errors import DpbbError


def fitted(text: str) -> str:
    """Wrap lines of names and values at words, if a terminal shows them."""
    from dpbb.progress.choice import width_of

    width = width_of(sys.stdout)
    if width is None:
        return text
    wrap = TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    lines = []
    for line in text.splitlines():
        value = re.sub(r"^\S.{0,14}?  +", "", line)
        wrap.subsequent_indent = " " * (len(line) - len(value))
        lines.append(wrap.fill(line))
    return "\n".join(lines)


class _Stdout:
    """Standard output that reports failures, but not that its reader has gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write; where it lacks a letter, those beyond ASCII as JSON escapes them."""
        with self._told():
            try:
                return self._stream.write(text)
            except UnicodeEncodeError:
                known = (c if c.isascii() else json.dumps(c)[1:-1] for c in text)
                return self._stream.write("".join(known))

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
