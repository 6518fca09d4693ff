"""Readers of the text forms in which flow shops are published.

Taillard's form: a line with ``n m`` (and perhaps the seed and two bounds), then m rows
of n times, a row per machine; a line of words may stand before each of the two parts.
The form of Vallada, Ruiz and Framinan (and of Carlier, Heller and Reeves): ``n m``,
then n rows of m pairs ``machine time``. Both: any number of instances one after
another, blank lines anywhere.
"""

import logging
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import refuse
from dpbb.flowshop.times import MAX_TOTAL_TIME, Orientation

_TOKEN = re.compile(r"\S+")
_WHOLE = re.compile(r"\+?(\d{1,18})(\.0*)?", re.ASCII)
_WORD = re.compile(r"[A-Za-z]+")
_NOT_WORDS = {"nan", "inf", "infinity"}
MAX_SIZE = 100_000
"""Most jobs or machines that a file may announce: more is a number gone astray."""


UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")

logger = logging.getLogger(__name__)


def decoded(content: bytes, name: str) -> str:
    """Return the text of a file: UTF-8, UTF-16 with its mark, else Latin-1."""
    codec = "utf-16" if content.startswith(UTF16_MARKS) else "utf-8-sig"
    try:
        text = content.decode(codec)
    except UnicodeDecodeError:
        try:
            codec, text = "cp1252", content.decode("cp1252")
        except UnicodeDecodeError:
            codec, text = "latin-1", content.decode("latin-1")
    if any(char < " " and not char.isspace() for char in text):
        refuse(name, "a text file", "a binary file (control characters)")
    if codec != "utf-8-sig":
        logger.warning("%s: read as %s, not UTF-8", name, codec.upper())
    return text


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank: its number from 1 and its tokens with their columns."""

    number: int
    tokens: tuple[str, ...]
    columns: tuple[int, ...]

    @property
    def is_heading(self) -> bool:
        """Whether the line starts with a word."""
        word = _WORD.match(self.tokens[0])
        return word is not None and word[0].lower() not in _NOT_WORDS

    @property
    def text(self) -> str:
        """The line for messages, shortened."""
        text = " ".join(self.tokens)
        return repr(text if len(text) <= 40 else text[:37] + "...")


def number_in(token: str, where: str) -> int:
    """Return a whole number >= 0 from its text; ``where`` is for the message."""
    match = _WHOLE.fullmatch(token)
    if match is None:
        if token.isascii() and token.isdecimal():
            refuse(
                where,
                f"a time below 10**18 (all of them: {MAX_TOTAL_TIME:,})",
                repr(token[:40]),
            )
        refuse(where, "a whole number >= 0", repr(token[:40]))
    return int(match[1])


def read_text(
    text: str, path: str, orientation: Orientation | None
) -> list[NDArray[np.int64]]:
    """Read all instances of a text.

    Parameters
    ----------
    text, path
        Contents of the file, and its name for messages.
    orientation
        None: Taillard's or the VRF form, whichever it is; ``machines_rows``:
        Taillard's; ``jobs_rows``: like Taillard's, but n rows of m times.

    Returns
    -------
    list of ndarray of int64, shape (n_jobs, n_machines)
        At least one.

    Raises
    ------
    InstanceError
        With file, line, column, what was expected and what came.
    """
    return _Reader(text, path, orientation).instances()


class _Reader:
    """Cursor over the lines of one file."""

    def __init__(self, text: str, path: str, orientation: Orientation | None) -> None:
        self.path = path
        self.orientation = orientation
        self.lines = []
        for number, content in enumerate(text.splitlines(), start=1):
            found = list(_TOKEN.finditer(content))
            if found:
                tokens = tuple(match[0] for match in found)
                columns = tuple(match.start() + 1 for match in found)
                self.lines.append(Line(number, tokens, columns))
        self.next = 0

    def instances(self) -> list[NDArray[np.int64]]:
        """All instances of the file."""
        if not self.lines:
            refuse(self.path, "a flow shop instance", "an empty file")
        result = []
        while self.next < len(self.lines):
            result.append(self._instance())
        return result

    def _instance(self) -> NDArray[np.int64]:
        n_jobs, n_machines = self._size()
        self._skip_heading("a heading or the first row of processing times")
        if self.orientation is Orientation.JOBS_ROWS:
            return np.array(self._rows(n_jobs, n_machines))
        if self.orientation is None and self._has_pairs(n_jobs, n_machines):
            return self._pairs(n_jobs, n_machines)
        return np.array(self._rows(n_machines, n_jobs)).T

    def _size(self) -> tuple[int, int]:
        """Read ``n m``; after a heading, seed and bounds may follow."""
        headed = self._skip_heading("a heading or the line 'n_jobs n_machines'")
        expected = "'n_jobs n_machines'" + (" (seed, bounds)" if headed else "")
        line = self._take(expected)
        if not 2 <= len(line.tokens) <= (5 if headed else 2):
            hint = "; a table without this line can be read as .csv"
            refuse(
                self._where(line),
                expected,
                f"{line.text}{hint if self.next == 1 else ' after the last row'}",
            )
        n_jobs, n_machines = self._numbers(line)[:2]
        for value, column in zip((n_jobs, n_machines), line.columns, strict=False):
            if not 1 <= value <= MAX_SIZE:
                refuse(
                    f"{self._where(line)}, column {column}",
                    f"a number of jobs or machines from 1 to {MAX_SIZE:,}",
                    str(value),
                )
        return n_jobs, n_machines

    def _skip_heading(self, expected: str) -> bool:
        """Pass over one line of words, if there is one; two in a row are refused."""
        if self.next >= len(self.lines) or not self.lines[self.next].is_heading:
            return False
        self.next += 1
        if self.next < len(self.lines) and self.lines[self.next].is_heading:
            line = self.lines[self.next]
            refuse(
                self._where(line),
                expected.removeprefix("a heading or "),
                f"a second heading {line.text}",
            )
        return True

    def _has_pairs(self, n_jobs: int, n_machines: int) -> bool:
        """Whether the next row is ``0 time 1 time ...``, by its length if it can be."""
        if self.next >= len(self.lines):
            return False
        tokens = self.lines[self.next].tokens
        if len(tokens) != 2 * n_machines:
            return False
        return n_jobs != 2 * n_machines or all(
            token == str(machine) for machine, token in enumerate(tokens[::2])
        )

    def _pairs(self, n_jobs: int, n_machines: int) -> NDArray[np.int64]:
        first = self.next
        table = np.array(self._rows(n_jobs, 2 * n_machines))
        wrong = np.argwhere(table[:, ::2] != np.arange(n_machines))
        if len(wrong):
            row, machine = (int(index) for index in wrong[0])
            line = self.lines[first + row]
            refuse(
                f"{self._where(line)}, column {line.columns[2 * machine]}",
                f"machine {machine} (of job shops, whose routes differ, dpbb jobshop "
                "knows more)",
                repr(line.tokens[2 * machine]),
            )
        return table[:, 1::2]

    def _rows(self, count: int, width: int) -> list[list[int]]:
        """Read rows of equal width."""
        rows = []
        for row in range(count):
            expected = f"row {row + 1} of {count} with {width} values"
            line = self._take(expected)
            if line.is_heading:
                refuse(self._where(line), expected, f"a heading {line.text}")
            if len(line.tokens) != width:
                hint = ""
                if row == 0 and self.orientation is None and len(line.tokens) == count:
                    hint = "; for one row per job say orientation='jobs_rows'"
                refuse(self._where(line), expected, f"{len(line.tokens)} values{hint}")
            rows.append(self._numbers(line))
        return rows

    def _numbers(self, line: Line) -> list[int]:
        return [
            number_in(token, f"{self._where(line)}, column {column}")
            for token, column in zip(line.tokens, line.columns, strict=True)
        ]

    def _take(self, expected: str) -> Line:
        if self.next >= len(self.lines):
            last = self.lines[-1].number
            refuse(f"{self.path}, after line {last}", expected, "the end of the file")
        self.next += 1
        return self.lines[self.next - 1]

    def _where(self, line: Line) -> str:
        return f"{self.path}, line {line.number}"
