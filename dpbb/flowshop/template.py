"""A workbook to fill in with a shop of one's own."""

from pathlib import Path

from dpbb.errors import OptionError
from dpbb.result.written import check_form
from dpbb.text.files import check_writable, whole_file

JOBS = {"door": (4, 3, 6, 5), "frame": (2, 5, 4, 3), "panel": (3, 2, 2, 6)}
MACHINES = ("cut", "plane", "assemble", "paint")
TITLE = (
    "Processing times: a row for each job, a column for each machine in their order. "
    "Release, due and weight may stay empty."
)


def write_template(path: str | Path) -> None:
    """Write a workbook that ``dpbb.read_instance`` reads: times, dates, set-ups.

    Raises
    ------
    OptionError
        No .xlsx, or the file is there already.
    DpbbError
        openpyxl is not installed; or it cannot be written.
    """
    if check_form(path, "FILE", (".xlsx",)) != ".xlsx":
        raise OptionError(f"FILE: expected a name ending in .xlsx, got {path}")
    if Path(path).exists():
        raise OptionError(f"FILE: expected a file that is not there yet, got {path}")
    check_writable(path, "FILE")
    from openpyxl import Workbook
    from openpyxl.styles import Font

    book = Workbook()
    sheet = book.active
    sheet.title = "jobs"
    sheet.append([TITLE])
    sheet.append(["job", *MACHINES, "release", "due", "weight"])
    for job, times in JOBS.items():
        sheet.append([job, *times])
    setups = book.create_sheet("setups")
    setups.append(["from", *JOBS])
    for job in JOBS:
        setups.append([job])
    for cell in (*sheet[2], *setups[1]):
        cell.font = Font(bold=True)
    sheet.freeze_panes, setups.freeze_panes = "B3", "B2"
    with whole_file(path):
        book.save(path)
