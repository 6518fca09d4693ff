"""Files of tables: CSV, Excel workbooks, JSON and NumPy arrays, by their suffix."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable
from datetime import timedelta
from functools import cache, partial
from typing import Any

import numpy as np

from dpbb.errors import InstanceError, refuse
from dpbb.flowshop.headings import DATES, date_of, is_setups
from dpbb.flowshop.table_form import TableForm
from dpbb.flowshop.tables import Sheet, Table, first_repeated
from dpbb.flowshop.text_formats import MAX_SIZE, decoded
from dpbb.text.files import MOST_BYTES, too_large
from dpbb.text.labels import Names

MOST_CELLS = 2**24
"""Of a workbook's sheet."""


def read_csv(content: bytes, path: str, form: TableForm) -> list[Sheet]:
    """Read a table separated by commas, semicolons or tabs.

    A first row of names is a header, and so is ``, 0, 1, ...`` (as pandas writes it). A
    first column of names, or under a heading like ``job`` or none, names the rows. With
    semicolons or tabs a comma in a number is a decimal comma; a first line ``sep=;`` is
    the separator, as spreadsheets write it.
    """
    text = decoded(content, path)
    first, _, rest = text.partition("\n")
    if said := re.fullmatch(r"sep=(.)\s*", first):
        text, separator = "\n" + rest, said[1]
    else:
        separator = _separator(text, path, form)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        cells = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        refuse(f"{path}, line {reader.line_num}", "CSV", f"an error: {error}")
    marked = form.decimal or form.thousands
    mark = "." if separator == "," else ","
    plain = []
    for number, row in cells:
        where = f"{path}, line {number}"
        for cell in row if mark == "," and not marked else ():
            if re.fullmatch(r"\s*\d{1,3}([.,]000)+\s*", cell):
                expected = "a number without separators of thousands"
                hint = "--thousands . or --decimal . (or a comma) says what it means"
                refuse(where, expected, f"{cell!r}; {hint}")
        plain.append((number, [form.plain(cell, where, mark) for cell in row]))
    return [Sheet(plain, path)]


def _separator(text: str, path: str, form: TableForm) -> str:
    """Separator by the first line that has one."""
    lines = enumerate(text.splitlines(), 1)
    some = ((n, line) for n, line in lines if any(mark in line for mark in ",;\t"))
    number, first = next(some, (1, ""))
    present = [mark for mark in ";\t" if mark in first]
    others = first.split(present[0]) if present else []
    if len(present) > 1 or any("," in form.plain(one, path, ",") for one in others):
        names = " and ".join(map(repr, [mark for mark in ";,\t" if mark in first]))
        where = f"{path}, line {number}"
        refuse(where, "one kind of separator (',', ';' or tab)", names)
    return present[0] if present else ","


def read_xlsx(content: bytes, path: str, form: TableForm) -> list[Sheet]:
    """Read the sheets of an Excel workbook that are not empty.

    InstanceError: none, or a huge one; or openpyxl is not installed.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        refuse(path, "openpyxl to be installed (pip install openpyxl)", "none")

    @cache
    def whole() -> Any:  # with merged cells and formulas
        try:
            return load_workbook(io.BytesIO(content))
        except Exception as error:  # noqa: BLE001 (as below)
            refuse(path, "an Excel workbook", f"an error: {error}")

    def why(title: str, line: int, at: int) -> str:
        sheet = whole()[title]
        cell = sheet.cell(line, at + 1)
        if cell.data_type == "f":
            return "a formula without a number: open and save the workbook"
        for area in sheet.merged_cells.ranges:
            first = area.coord.partition(":")[0]
            if cell.coordinate in area and cell.coordinate != first:
                return f"merged with {first}"
        return ""

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(member.file_size for member in archive.infolist())
            if size > MOST_BYTES:
                raise OSError(too_large(size, MOST_BYTES))
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        found = []
        for sheet in book.worksheets:
            where = f"{path}, sheet {sheet.title!r}"
            cells, title = _cells_of(sheet, where, form), sheet.title
            found.append(Sheet(cells, where, title, partial(why, title)))
    except InstanceError:
        raise
    except Exception as error:  # noqa: BLE001 (from zipfile, XML ...)
        got = f"an error: {error}" if content else "an empty file"
        refuse(path, "an Excel workbook", got)
    sheets = [sheet for sheet in found if sheet.cells]
    if not sheets:
        refuse(path, "a table of processing times", "an empty workbook")
    return sheets


def _cells_of(sheet: Any, where: str, form: TableForm) -> list[tuple[int, list[str]]]:
    """Return the lines of a sheet that are not empty, all as long as the longest.

    What the sheet says of its size is not believed.
    """
    from openpyxl.utils import get_column_letter

    sheet.reset_dimensions()
    lines, n_cells = [], 0
    for number, values in enumerate(sheet.values, 1):
        row = [
            _text_of(value, f"{where}, {get_column_letter(at)}{number}", form)
            for at, value in enumerate(values, 1)
        ]
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


def _text_of(value: Any, where: str, form: TableForm) -> str:
    """Return what a cell of a workbook holds as a text."""
    if isinstance(value, str):
        return form.plain(value, where)
    if isinstance(value, timedelta):  # hours:minutes of more than a day, too
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, float) and value.is_integer():  # the number of an order, too
        value = int(value)
    return "" if value is None else str(value)


def read_json(content: bytes, path: str) -> list[Table]:
    """Read ``{"times": [[...]], "name": ...}``, a bare table, or a list of objects.

    An object may have names, too: lists ``jobs`` and ``machines``, whichever of them
    the rows are; and lists ``release``, ``due`` and ``weight``, a number for each job.
    """

    def constant(word: str) -> Any:  # never returns
        refuse(path, "whole numbers >= 0", word)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if (twice := first_repeated(key for key, _ in pairs)) is not None:
            refuse(path, "different keys", f"{twice!r} twice")
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


_NO_KEYS = ("objective", "blocking", "buffers", "anticipatory", "lags", "unlimited")


def _json_object(data: dict[str, Any], where: str) -> Table:
    if "times" not in data:
        keys = ", ".join(map(repr, data)) or "none"
        refuse(where, "the key 'times'", f"the keys {keys}")
    for key in data:  # others are remarks
        if key in _NO_KEYS or is_setups(key) or date_of(key) not in (None, key):
            expected = f"of a shop times, name, jobs, machines, {', '.join(DATES)}"
            refuse(where, expected, f"{key!r}; options say what else there is")
    name = data.get("name")
    if name is not None and not isinstance(name, str):
        refuse(where, "a text as 'name'", repr(name)[:40])
    jobs, machines = (
        tuple(data[key]) if isinstance(data.get(key), list) else ()
        for key in ("jobs", "machines")
    )
    dates = {key: data[key] for key in DATES if key in data}
    names = Names(jobs, machines)
    return Table(data["times"], name, names, says_whose=True, dates=dates)


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


CELLS: dict[str, Callable[[bytes, str, TableForm], list[Sheet]]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".xlsx": read_xlsx,
    ".xlsm": read_xlsx,
}
"""What reads a file of cells, by its suffix."""

TABLES: dict[str, Callable[[bytes, str], list[Table]]] = {
    ".json": read_json,
    ".npy": read_npy,
}
"""What reads a file of tables, by its suffix."""
