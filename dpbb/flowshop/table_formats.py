"""Readers of bare tables of processing times: CSV, JSON and NumPy files.

By default a row is a job, as for arrays.
"""

import csv
import io
import json
import re
import zipfile
from typing import Any, NamedTuple

import numpy as np

from dpbb.errors import InstanceError, refuse
from dpbb.flowshop.headings import Placed, check_headings, is_label
from dpbb.flowshop.text_formats import MAX_SIZE, decoded, whole_number
from dpbb.text.files import MOST_BYTES, too_large
from dpbb.text.labels import NO_NAMES, Names, unless_counted

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf(inity)?", re.I)
_DECIMAL = re.compile(r"^\s*([+-]?\d+),(\d*)\s*$")
MOST_CELLS = 2**24
"""Of a workbook's sheet."""

MOST_COUNTED_TIMES = 5
"""From so many rows on, 1, 2, 3, ... in the first column are taken for row numbers."""


class Sheet(NamedTuple):
    """Lines of cells, each with its number, and where they stand."""

    cells: list[tuple[int, list[str]]]
    where: str


class Table(NamedTuple):
    """A table of processing times as it stands in a file, and its name, if any.

    ``names`` are those of rows and columns; of jobs and machines, whatever the rows
    are, where the file ``says_whose`` they are. ``of_jobs``: rows are jobs for sure.
    """

    times: Any
    name: str | None = None
    names: Names = NO_NAMES
    says_whose: bool = False
    of_jobs: bool = False


def read_csv(content: bytes, path: str) -> list[Sheet]:
    """Read a table separated by commas, semicolons or tabs.

    A first row of names is a header, and so is ``, 0, 1, ...`` (as pandas writes it). A
    first column of names, or under a heading like ``job`` or none, names the rows. With
    semicolons or tabs a comma in a number is a decimal comma; a first line ``sep=;`` is
    the separator, as spreadsheets write it.
    """
    text = decoded(content, path)
    first, _, rest = text.partition("\n")
    said = re.fullmatch(r"sep=(.)\s*", first)
    if said:
        text, separator = "\n" + rest, said[1]
    else:
        separator = _separator(text, path)
    cells = _csv_rows(text, separator, path)
    if separator != ",":
        for number, row in cells:
            for cell in row:
                if re.fullmatch(r"\s*\d{1,3}([.,]000)+\s*", cell):
                    expected = "a number without separators of thousands"
                    refuse(f"{path}, line {number}", expected, repr(cell))
        cells = [
            (n, [_DECIMAL.sub(r"\1.\2", cell) for cell in row]) for n, row in cells
        ]
    return [Sheet(cells, path)]


def read_xlsx(content: bytes, path: str) -> list[Sheet]:
    """Read the sheets of an Excel workbook that are not empty.

    InstanceError: none, or a huge one; or openpyxl is not installed.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        refuse(path, "openpyxl to be installed (pip install openpyxl)", "none")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(member.file_size for member in archive.infolist())
            if size > MOST_BYTES:
                raise OSError(too_large(size, MOST_BYTES))
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        found = [
            Sheet(_cells_of(sheet), f"{path}, sheet {sheet.title!r}")
            for sheet in book.worksheets
        ]
    except Exception as error:  # noqa: BLE001 (from zipfile, XML ...)
        refuse(path, "an Excel workbook", f"an error: {error}")
    sheets = [sheet for sheet in found if sheet.cells]
    if not sheets:
        refuse(path, "a table of processing times", "an empty workbook")
    return sheets


def _cells_of(sheet: Any) -> list[tuple[int, list[str]]]:
    """Return the lines of a sheet that are not empty, all as long as the longest.

    What the sheet says of its size is not believed.
    """
    sheet.reset_dimensions()
    lines, n_cells = [], 0
    for number, values in enumerate(sheet.values, 1):
        row = ["" if value is None else str(value) for value in values]
        while row and not row[-1].strip():
            row.pop()
        n_cells += len(values)
        if number > MAX_SIZE or n_cells > MOST_CELLS:
            raise OSError(f"more than {MAX_SIZE:,} lines or {MOST_CELLS:,} cells")
        if row:
            lines.append((number, row))
    width = max((len(row) for _, row in lines), default=0)
    if width * len(lines) > MOST_CELLS:
        raise OSError(f"more than {MOST_CELLS:,} cells")
    return [(number, row + [""] * (width - len(row))) for number, row in lines]


def table_of_cells(sheet: Sheet, orientation: str | None) -> Table:
    """Return the table that stands in cells.

    ``orientation``: what the rows are; None: jobs, unless a heading says machines.
    """
    cells, path = sheet
    rows = [
        (number, [cell.strip() for cell in row])
        for number, row in cells
        if any(cell.strip() for cell in row)
    ]
    if not rows:
        refuse(path, "a table of processing times", "an empty file")
    used = max(n for _, row in rows for n, cell in enumerate(row, 1) if cell)
    rows = [(number, row[:used]) for number, row in rows]
    _refuse_title(rows, path)
    header = _is_header(rows[0][1], f"{path}, line {rows[0][0]}")
    body = rows[1:] if header else rows
    if not body:
        refuse(path, "rows of processing times", "only a header")
    if header:
        _refuse_repeated(rows[0][1], f"{path}, line {rows[0][0]}", "column names")
    labeled = len(rows[0][1]) > 1 and (
        (header and (not rows[0][1][0] or is_label(rows[0][1][0])))
        or not any(_is_number(row[0]) for _, row in body)
    )
    labels = [row[0] for _, row in body] if labeled else []
    _refuse_repeated(labels, path, "names in the first column")
    width = len(rows[0][1])
    if not header and not labeled and width > 1:
        _refuse_row_numbers([row[0] for _, row in body], path)
    heads = rows[0][1][labeled:] if header else []
    top = f"{path}, line {rows[0][0]}"
    check_headings(
        Placed(f"{top}, cell 1", rows[0][1][0] if header and labeled else ""),
        [
            Placed(f"{path}, line {number}, cell 1", row[0])
            for number, row in body
            if labeled
        ],
        [Placed(f"{top}, cell {n}", head) for n, head in enumerate(heads, 1 + labeled)],
        orientation,
    )
    times = []
    for number, row in body:
        where = f"{path}, line {number}"
        if len(row) != width:
            refuse(where, f"{width} cells as in line {rows[0][0]}", f"{len(row)}")
        times.append(
            [
                whole_number(cell, f"{where}, cell {index + 1}")
                for index, cell in enumerate(row)
                if index or not labeled
            ]
        )
    return Table(times, names=Names(unless_counted(labels), unless_counted(heads)))


def read_json(content: bytes, path: str) -> list[Table]:
    """Read ``{"times": [[...]], "name": ...}``, a bare table, or a list of objects.

    An object may have names, too: lists ``jobs`` and ``machines``, whichever of them
    the rows are.
    """

    def constant(word: str) -> Any:  # never returns
        refuse(path, "whole numbers >= 0", word)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _refuse_repeated([key for key, _ in pairs], path, "keys")
        return dict(pairs)

    text = decoded(content, path)
    if not text.strip():
        refuse(path, "JSON", "an empty file")
    try:
        data = json.loads(text, parse_constant=constant, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}, column {error.colno}"
        refuse(where, "JSON", f"an error: {error.msg}")
    except (RecursionError, ValueError) as error:
        refuse(path, "JSON of plain tables", f"an error: {error}")
    if isinstance(data, dict):
        return [_json_object(data, path)]
    if isinstance(data, list) and data and all(isinstance(one, dict) for one in data):
        return [
            _json_object(one, f"{path}, object {index}")
            for index, one in enumerate(data)
        ]
    if not isinstance(data, list):
        refuse(path, "a table or an object with 'times'", repr(data)[:40])
    return [Table(data)]


def read_npy(content: bytes, path: str) -> list[Table]:
    """Read one NumPy array; pickled objects are refused."""
    expected = "a NumPy array file of numbers"
    try:
        found = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # noqa: BLE001 (from tokenize, zlib, zipfile, ast ...)
        refuse(path, expected, f"an error: {error}")
    if not isinstance(found, np.ndarray):
        refuse(path, expected, "an archive of several arrays")
    return [Table(found)]


def _json_object(data: dict[str, Any], where: str) -> Table:
    if "times" not in data:
        keys = ", ".join(map(repr, data)) or "none"
        refuse(where, "the key 'times'", f"the keys {keys}")
    name = data.get("name")
    if name is not None and not isinstance(name, str):
        refuse(where, "a text as 'name'", repr(name)[:40])
    names = (
        tuple(data[key]) if isinstance(data.get(key), list) else ()
        for key in ("jobs", "machines")
    )
    return Table(data["times"], name, Names(*names), says_whose=True)


def _separator(text: str, path: str) -> str:
    """Separator by the first line that has one."""
    lines = enumerate(text.splitlines(), 1)
    some = ((n, line) for n, line in lines if any(mark in line for mark in ",;\t"))
    number, first = next(some, (1, ""))
    present = [mark for mark in ";\t" if mark in first]
    others = first.split(present[0]) if present else []
    if len(present) > 1 or any(
        "," in one and not _DECIMAL.match(one) for one in others
    ):
        names = " and ".join(map(repr, [mark for mark in ";,\t" if mark in first]))
        where = f"{path}, line {number}"
        refuse(where, "one kind of separator (',', ';' or tab)", names)
    return present[0] if present else ","


def _csv_rows(text: str, separator: str, path: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows = []
    try:
        for row in reader:
            rows.append((reader.line_num, row))  # noqa: PERF401 (line_num of this row)
    except csv.Error as error:
        refuse(f"{path}, line {reader.line_num}", "CSV", f"an error: {error}")
    return rows


def _is_header(row: list[str], where: str) -> bool:
    """Whether the first row holds names; refused where that is not certain."""
    first, *others = row
    got = "a mixture"
    if not any(map(_is_number, row)):
        return True
    if all(map(_is_number, row)):
        if len(row) < 3 or row != _counted(0, len(row)):
            return False
        got = "0, 1, 2, ..., which may be either"
    elif all(map(_is_number, others)):
        if first and not is_label(first):
            return False  # the name of the row stands in its first cell
        if others in (_counted(0, len(others)), _counted(1, len(others))):
            return True
    expected = "a header of names or a row of processing times"
    raise InstanceError(f"{where}: expected {expected}, got {got}")


def _refuse_title(rows: list[tuple[int, list[str]]], path: str) -> None:
    """Raise InstanceError where a line of one text stands above a table of several."""
    (number, first), *others = rows
    texts = [cell for cell in first if cell]
    below = max((sum(map(bool, row)) for _, row in others), default=0)
    if len(texts) == 1 < below and not _is_number(texts[0]):
        expected = "a header or a row of times (no title above the table)"
        got = f"{texts[0][:40]!r} alone"
        refuse(f"{path}, line {number}", expected, got)


def _refuse_row_numbers(first: list[str], path: str) -> None:
    """Raise InstanceError where the first column only counts: it may be either."""
    if len(first) < MOST_COUNTED_TIMES:
        return
    for start in (0, 1):
        if first == _counted(start, len(first)):
            expected = "a header ('job,...') above row numbers, or processing times"
            got = f"a first column of {start}, {start + 1}, {start + 2}, ..."
            refuse(path, expected, f"{got}, which may be either")


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _counted(first: int, count: int) -> list[str]:
    return [str(number) for number in range(first, first + count)]


def _refuse_repeated(names: list[str], where: str, what: str) -> None:
    seen = set()
    for name in names:
        if name in seen:
            refuse(where, f"different {what}", f"{name!r} twice")
        seen.add(name)
