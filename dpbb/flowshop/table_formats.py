"""Readers of bare tables of processing times: CSV, JSON and NumPy files.

By default a row is a job, as for arrays.
"""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpbb.errors import InstanceError
from dpbb.flowshop.text_formats import whole_number
from dpbb.flowshop.times import refuse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf(inity)?", re.I)
_LABELS = {"", "#", "id", "name", "job", "jobs", "machine", "machines"}


class Table(NamedTuple):
    """A table of processing times as it stands in a file, and its name, if any."""

    times: Any
    name: str | None = None


def read_csv(text: str, path: str) -> list[Table]:
    """Read a table separated by commas, semicolons or tabs.

    A first row of names is a header, and so is ``, 0, 1, ...`` (as pandas writes it). A
    first column of names, or under a heading like ``job`` or none, is left out.
    """
    separator = _separator(text, path)
    rows = [
        (number, [cell.strip() for cell in row])
        for number, row in _csv_rows(text, separator, path)
        if any(cell.strip() for cell in row)
    ]
    if not rows:
        refuse(path, "a table of processing times", "an empty file")
    header = _is_header(rows[0][1], f"{path}, line {rows[0][0]}")
    body = rows[1:] if header else rows
    if not body:
        refuse(path, "rows of processing times", "only a header")
    if header:
        _refuse_repeated(rows[0][1], f"{path}, line {rows[0][0]}", "column names")
    labeled = len(rows[0][1]) > 1 and (
        (header and rows[0][1][0].lower() in _LABELS)
        or not any(_is_number(row[0]) for _, row in body)
    )
    if labeled:
        _refuse_repeated([row[0] for _, row in body], path, "names in the first column")
    width = len(rows[0][1])
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
    return [Table(times)]


def read_json(text: str, path: str) -> list[Table]:
    """Read ``{"times": [[...]], "name": ...}``, a bare table, or a list of objects."""

    def constant(word: str) -> Any:  # noqa: ANN401 (never returns)
        refuse(path, "whole numbers >= 0", word)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _refuse_repeated([key for key, _ in pairs], path, "keys")
        return dict(pairs)

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


def read_npy(path: Path) -> list[Table]:
    """Read one NumPy array; pickled objects are refused."""
    with numpy_file(path, "a NumPy array file of numbers") as array:
        if not isinstance(array, np.ndarray):
            refuse(str(path), "a NumPy array file", "an archive of several arrays")
    return [Table(array)]


@contextmanager
def numpy_file(path: Path, expected: str) -> Iterator[Any]:
    """Open a file of NumPy's for the block; damage found in it is an InstanceError."""
    try:
        with path.open("rb") as stream:  # NumPy would leave a damaged file open
            yield np.load(stream, allow_pickle=False)
    except InstanceError:
        raise
    except Exception as error:  # noqa: BLE001 (from tokenize, zlib, zipfile, ast ...)
        refuse(str(path), expected, f"an error: {error}")


def _json_object(data: dict[str, Any], where: str) -> Table:
    if "times" not in data:
        keys = ", ".join(map(repr, data)) or "none"
        refuse(where, "the key 'times'", f"the keys {keys}")
    name = data.get("name")
    if name is not None and not isinstance(name, str):
        refuse(where, "a text as 'name'", repr(name)[:40])
    return Table(data["times"], name)


def _separator(text: str, path: str) -> str:
    """Separator by the first line that is not blank."""
    lines = enumerate(text.splitlines(), 1)
    number, first = next(((n, line) for n, line in lines if line.strip()), (1, ""))
    present = [mark for mark in ";,\t" if mark in first]
    if len(present) > 1:
        names = " and ".join(map(repr, present))
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
        if first.lower() not in _LABELS:
            return False  # the name of the row stands in its first cell
        if others in (_counted(0, len(others)), _counted(1, len(others))):
            return True
    expected = "a header of names or a row of processing times"
    raise InstanceError(f"{where}: expected {expected}, got {got}")


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
