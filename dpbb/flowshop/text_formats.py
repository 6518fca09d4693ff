"""Readers of the text forms in which flow shops are published.

Taillard's form: a line with ``n m`` (and perhaps the seed and two bounds), then m rows
of n times, a row per machine; a line of words may stand before each of the two parts.
The form of Vallada, Ruiz and Framinan (and of Carlier, Heller and Reeves): ``n m``,
then n rows of m pairs ``machine time``. Both: any number of instances one after
another, blank lines anywhere.
"""

import logging
import re
from typing import NamedTuple

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


def number_in(token: str, where: str, hint: str = "") -> int:
    """Return a whole number >= 0 from its text; the others are for the message."""
    match = _WHOLE.fullmatch(token)
    if match is None:
        if token.isascii() and token.isdecimal():
            refuse(
                where,
                f"a time below 10**18 (all of them: {MAX_TOTAL_TIME:,})",
                repr(token[:40]),
            )
        refuse(where, "a whole number >= 0", f"{token[:40]!r}{hint}")
    return int(match[1])


class Line(NamedTuple):
    """A line that is not blank: where it is, and its tokens with their columns."""

    where: str
    tokens: list[str]
    columns: list[int]

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

    def place(self, index: int) -> str:
        """Where a token is."""
        return f"{self.where}, column {self.columns[index]}"

    def numbers(self) -> list[int]:
        """Return all tokens as numbers."""
        places = map(self.place, range(len(self.tokens)))
        return [*map(number_in, self.tokens, places)]


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
    reader = _Reader(text, path, orientation)
    if not reader.lines:
        refuse(path, "a flow shop instance", "an empty file")
    result = []
    while reader.next < len(reader.lines):
        result.append(reader.instance())
    return result


class _Reader:
    """Cursor over the lines of one file."""

    def __init__(self, text: str, path: str, orientation: Orientation | None) -> None:
        self.orientation = orientation
        self.lines = []
        for number, content in enumerate(text.splitlines(), start=1):
            if found := list(_TOKEN.finditer(content)):
                tokens = [match[0] for match in found]
                columns = [match.start() + 1 for match in found]
                self.lines.append(Line(f"{path}, line {number}", tokens, columns))
        self.next = 0

    def instance(self) -> NDArray[np.int64]:
        """Return the next instance."""
        n_jobs, n_machines = self._size()
        self._skip_heading("the first row of processing times")
        if self.orientation == "jobs_rows":
            return np.array(self._rows(n_jobs, n_machines))
        if self.orientation is None and self._has_pairs(n_jobs, n_machines):
            return self._pairs(n_jobs, n_machines)
        return np.array(self._rows(n_machines, n_jobs)).T

    def _size(self) -> tuple[int, int]:
        """Read ``n m``; after a heading, seed and bounds may follow."""
        headed = self._skip_heading("the line 'n_jobs n_machines'")
        expected = "'n_jobs n_machines'" + (" (seed, bounds)" if headed else "")
        line = self._take(expected)
        if not 2 <= len(line.tokens) <= (5 if headed else 2):
            hint = "; a table without this line can be read as .csv"
            got = hint if self.next == 1 else " after the last row"
            refuse(line.where, expected, f"{line.text}{got}")
        n_jobs, n_machines = line.numbers()[:2]
        for at, value in enumerate((n_jobs, n_machines)):
            if not 1 <= value <= MAX_SIZE:
                allowed = f"a number of jobs or machines from 1 to {MAX_SIZE:,}"
                refuse(line.place(at), allowed, str(value))
        return n_jobs, n_machines

    def _skip_heading(self, expected: str) -> bool:
        """Pass over one line of words, if there is one; two in a row are refused."""
        ahead = self.lines[self.next : self.next + 2]
        if not ahead or not ahead[0].is_heading:
            return False
        if len(ahead) > 1 and ahead[1].is_heading:
            refuse(ahead[1].where, expected, f"a second heading {ahead[1].text}")
        self.next += 1
        return True

    def _has_pairs(self, n_jobs: int, n_machines: int) -> bool:
        """Whether the next row is ``0 time 1 time ...``, by its length if it can be."""
        tokens = self.lines[self.next].tokens if self.next < len(self.lines) else []
        if len(tokens) != 2 * n_machines:
            return False
        machines = [str(machine) for machine in range(n_machines)]
        return n_jobs != 2 * n_machines or tokens[::2] == machines

    def _pairs(self, n_jobs: int, n_machines: int) -> NDArray[np.int64]:
        first = self.next
        table = np.array(self._rows(n_jobs, 2 * n_machines))
        wrong = np.argwhere(table[:, ::2] != np.arange(n_machines))
        if len(wrong):
            row, machine = (int(index) for index in wrong[0])
            line = self.lines[first + row]
            refuse(
                line.place(2 * machine),
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
                refuse(line.where, expected, f"a heading {line.text}")
            if len(line.tokens) != width:
                hint = ""
                if row == 0 and self.orientation is None and len(line.tokens) == count:
                    hint = "; one row per job is orientation jobs_rows"
                refuse(line.where, expected, f"{len(line.tokens)} values{hint}")
            rows.append(line.numbers())
        return rows

    def _take(self, expected: str) -> Line:
        if self.next >= len(self.lines):
            path, _, last = self.lines[-1].where.rpartition(", line ")
            refuse(f"{path}, after line {last}", expected, "the end of the file")
        self.next += 1
        return self.lines[self.next - 1]
