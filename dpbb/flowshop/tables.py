"""Tables of processing times, of files, arrays and data frames, with their names.

By default a row is a job.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import InstanceError, refuse, shown
from dpbb.flowshop.headings import Placed, check_headings, date_of, is_label
from dpbb.flowshop.text_formats import number_in
from dpbb.flowshop.times import Orientation, as_times
from dpbb.text.labels import NO_NAMES, Names, checked_names, unless_counted

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf(inity)?", re.I)

MOST_COUNTED_TIMES = 5
"""From so many rows on, 1, 2, 3, ... in the first column are taken for row numbers."""


class Table(NamedTuple):
    """A table of processing times as it came, and its name, if any.

    ``names`` are those of rows and columns; of jobs and machines, whatever the rows
    are, where the file ``says_whose`` they are. ``of_jobs``: rows are jobs for sure.
    ``dates``: columns that are no times, see ``FlowShopInstance``.
    """

    times: Any
    name: str | None = None
    names: Names = NO_NAMES
    says_whose: bool = False
    of_jobs: bool = False
    dates: Mapping[str, Any] = MappingProxyType({})

    def arranged(
        self, where: str, orientation: Orientation | None
    ) -> tuple[NDArray[np.int64], Names, Mapping[str, Any]]:
        """Return times with a row for each job, names of jobs and machines, dates."""
        rows = orientation or Orientation.JOBS_ROWS
        times, names = as_times(self.times, where), self.names
        if rows is Orientation.MACHINES_ROWS and not self.of_jobs:
            times = times.T
            names = names if self.says_whose else Names(names.machines, names.jobs)
        n_jobs, n_machines = times.shape
        where = f"{where}, read as {rows}"
        names = checked_names(names, n_jobs, n_machines, where)
        return times, names, dict(self.dates)


class Sheet(NamedTuple):
    """Lines of cells, each with its number, and where they stand."""

    cells: list[tuple[int, list[str]]]
    where: str


def table_of(data: Any, orientation: Orientation | None) -> Table:
    """Return the table that an array is, or nested lists, or a data frame with names.

    A column with a heading such as ``job`` names the rows (``is_label``); without one
    the index does, where there is one.

    ``orientation``: what the rows are; None: jobs, unless a heading says machines.
    """
    if not (hasattr(data, "to_numpy") and hasattr(data, "columns")):
        return Table(data)
    columns, times = list(data.columns), data.to_numpy()
    label = next((at for at, one in enumerate(columns) if is_label(one)), None)
    if label is None:
        rows, of_rows = getattr(data, "index", range(len(times))), "index"
        corner = getattr(rows, "name", None) or ""
    else:
        rows, of_rows = times[:, label], f"column {columns[label]!r}"
        times = np.delete(times, label, axis=1)
        corner = columns.pop(label)
    places = _dates_in(columns, "data frame, columns", orientation)
    dates = {name: times[:, at] for name, at in places.items()}
    times = np.delete(times, list(places.values()), axis=1)
    columns = [one for at, one in enumerate(columns) if at not in places.values()]
    texts, placed = [], []
    for what, names in ((of_rows, rows), ("columns", columns)):
        where = f"data frame, {what}"
        if any(one is None or (isinstance(one, float) and one != one) for one in names):
            refuse(where, "a name for each", "a missing value")
        if (twice := first_repeated(names)) is not None:
            hint = "; reset_index(drop=True) counts anew" if what == "index" else ""
            refuse(where, "different names", f"{shown(twice)} more than once{hint}")
        texts.append(unless_counted(names))
        placed.append([Placed(where, name) for name in texts[-1]])
    of_all = Placed(f"data frame, {of_rows}", str(corner))
    check_headings(of_all, placed[0], placed[1], orientation)
    return Table(times, names=Names(*texts), dates=dates)


def table_of_cells(sheet: Sheet, orientation: Orientation | None) -> Table:
    """Return the table that stands in cells.

    ``orientation``: as of ``table_of``.
    """
    path = sheet.where
    rows = [(n, [cell.strip() for cell in row]) for n, row in sheet.cells]
    rows = [(n, row) for n, row in rows if any(row)]
    if not rows:
        refuse(path, "a table of processing times", "an empty file")
    used = max(n for _, row in rows for n, cell in enumerate(row, 1) if cell)
    rows = [(number, row[:used]) for number, row in rows]
    _refuse_title(rows, path)
    number, first = rows[0]
    top, width = f"{path}, line {number}", len(first)
    header = _is_header(first, top)
    body = rows[1:] if header else rows
    if not body:
        refuse(path, "rows of processing times", "only a header")
    labeled = width > 1 and (
        (header and (not first[0] or is_label(first[0])))
        or not any(_is_number(row[0]) for _, row in body)
    )
    labels = [row[0] for _, row in body] if labeled else []
    heads = first[labeled:] if header else []
    for names, where, what in (
        (first if header else [], top, "column names"),
        (labels, path, "names in the first column"),
    ):
        if (twice := first_repeated(names)) is not None:
            refuse(where, f"different {what}", f"{twice!r} twice")
    if not header and not labeled and width > 1:
        _refuse_row_numbers([row[0] for _, row in body], path)
    places = _dates_in(heads, top, orientation)
    dated = set(places.values())
    placed = [
        Placed(f"{top}, cell {n}", one) for n, one in enumerate(heads, 1 + labeled)
    ]
    check_headings(
        Placed(f"{top}, cell 1", first[0] if header and labeled else ""),
        [Placed(f"{path}, line {n}, cell 1", row[0]) for n, row in body if labeled],
        [one for at, one in enumerate(placed) if at not in dated],
        orientation,
    )
    times = []
    for n, row in body:
        where = f"{path}, line {n}"
        if len(row) != width:
            refuse(where, f"{width} cells as in line {number}", f"{len(row)}")
        cells = enumerate(row[labeled:], 1 + labeled)
        times.append([number_in(cell, f"{where}, cell {at}") for at, cell in cells])
    dates = {name: [row[at] for row in times] for name, at in places.items()}
    times = [[one for at, one in enumerate(row) if at not in dated] for row in times]
    heads = [one for at, one in enumerate(heads) if at not in dated]
    texts = Names(unless_counted(labels), unless_counted(heads))
    return Table(times, names=texts, dates=dates)


def _dates_in(
    headings: Sequence[object], where: str, orientation: Orientation | None
) -> dict[str, int]:
    """Return the places of columns that are no times; InstanceError if two are one."""
    found: dict[str, int] = {}
    for at, heading in enumerate(headings):
        name = date_of(heading)
        if name is not None and orientation is not Orientation.MACHINES_ROWS:
            if name in found:
                got = f"{headings[found[name]]!r} and {heading!r}"
                refuse(where, f"one column {name}", got)
            found[name] = at
    return found


def first_repeated(names: Iterable[Any]) -> Any:
    """Return the first name that comes twice; None if there is none."""
    seen = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


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
        refuse(f"{path}, line {number}", expected, f"{texts[0][:40]!r} alone")


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
