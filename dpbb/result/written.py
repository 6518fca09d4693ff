"""Schedules as files: a table or a Gantt chart, as the suffix says."""

import csv
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dpbb.errors import DpbbError, OptionError
from dpbb.text.files import known_suffix, whole_file

PICTURES = (".png", ".svg", ".pdf")
"""What Matplotlib draws into."""

FORMS = (".csv", ".xlsx", ".html", *PICTURES)
"""Suffixes of schedules; a file without one is CSV."""

NEEDED = {
    ".xlsx": ("openpyxl", "xlsx"),
    **dict.fromkeys(PICTURES, ("matplotlib", "plot")),
}
"""Packages that a form needs, and the extras that have them."""


def check_form(path: str | Path, name: str, forms: Sequence[str] = FORMS) -> str:
    """Return the suffix of a file for a schedule, in small letters.

    Raises
    ------
    OptionError
        No form has it.
    DpbbError
        What writes it is not installed.
    """
    suffix = known_suffix(path, name, ("", *forms))
    package, extra = NEEDED.get(suffix, ("", ""))
    if package and find_spec(package) is None:
        raise DpbbError(
            f"{name}: expected {package} to be installed for {path}: "
            f"pip install 'dpbb[{extra}]'"
        )
    return suffix


def write_form(
    path: str | Path,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    drawn: Any,  # whatever ``dpbb.plotting.gantt`` takes
) -> None:
    """Write a table of operations, or the Gantt chart of what is ``drawn``.

    ``drawn``: None: there is nothing to draw.

    OptionError, DpbbError: see ``check_form``; or it cannot be written.
    """
    suffix = check_form(path, "schedule")
    if suffix not in ("", ".csv", ".xlsx") and drawn is None:
        raise OptionError(
            f"schedule: expected .csv or .xlsx, as the problem has no schedules to "
            f"draw, got {path}"
        )
    with whole_file(path):
        if suffix == ".xlsx":
            _write_xlsx(path, columns, rows)
        elif suffix in ("", ".csv"):
            write_csv(path, columns, rows)
        else:
            # by its name, as in ``Result.plot``
            plotting = import_module("dpbb.plotting")
            Path(path).write_bytes(plotting.drawn(drawn, "gantt", suffix))


def write_csv(
    path: str | Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write a header line, and a line for every row."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _write_xlsx(
    path: str | Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils import get_column_letter

    book = Workbook(write_only=True)
    sheet = book.create_sheet("schedule")
    sheet.freeze_panes = "A2"
    lines = [columns, *rows]
    for number, column in enumerate(zip(*lines, strict=True), start=1):
        width = 2 + max(len(str(value)) for value in column)
        sheet.column_dimensions[get_column_letter(number)].width = width
    for row in lines:
        cells = [WriteOnlyCell(sheet, value) for value in row]
        for cell, value in zip(cells, row, strict=True):
            if isinstance(value, str):
                cell.data_type = "s"  # a name that begins with = is no formula
        sheet.append(cells)
    book.save(path)
