"""``dpbb report``: what came out of campaigns and of single runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from dpbb.campaign import table
from dpbb.campaign.folder import PARTS, RECORDS
from dpbb.cli.campaign import show_records
from dpbb.cli.plot import read_plotted
from dpbb.errors import DpbbError, OptionError
from dpbb.progress.choice import width_of
from dpbb.result.written import PICTURES
from dpbb.text.files import check_writable, known_suffix, whole_file

PAGE = ".html"


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add what to report, and the files to write."""
    parser.epilog = """\
FILE is the folder of a campaign or a table of bounds; or of a single run its rows (dpbb
solve --log-json 2> FILE), its checkpoint, or its result (dpbb solve --json).

.html is a page of all runs that needs no server. Of campaigns: .csv (instances), .md
(all), .tex (classes, instances), .png, .svg or .pdf (how many were proved within which
time), .json (a table of bounds, as bks.json of ScheduleOpt). A table that is given is
checked, and --write TABLE.json adds to it.

A record that does not hold (its permutation has another makespan, its certificate is
missing) is named and not counted.

exit codes: 0; 1 error, or a record does not hold; 2 bad input."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="see below")
    known = ", ".join((PAGE, ".csv", ".json", ".md", ".tex", *PICTURES))
    many: dict[str, Any] = {"action": "append", "default": [], "metavar": "OUT"}
    parser.add_argument("--write", help=f"write it (more than once): {known}", **many)
    parser.add_argument(
        "--data", metavar="FOLDER", help="VRF files; default: $DPBB_DATA"
    )


def run_report(args: argparse.Namespace) -> int:
    """Print what is in files, and write it."""
    from dpbb.campaign.checking import read_all
    from dpbb.campaign.report import FORMS, as_table, draw, run_of_record
    from dpbb.plotting.runs import COLUMNS, LESS, run_of
    from dpbb.plotting.runs_page import runs_page

    folders = [Path(name) for name in args.files if (Path(name) / RECORDS).is_dir()]
    tables = [Path(name) for name in args.files if _is_table(Path(name))]
    single = [name for name in args.files if Path(name) not in (*folders, *tables)]
    kept = [*(path / part for path in folders for part in PARTS), *single]
    for number, name in enumerate(args.write):
        known_suffix(name, "--write", (*FORMS, table.SUFFIX, *PICTURES, PAGE))
        check_writable(name, "--write", *kept, *args.write[:number])
    runs = []
    for name in single:
        if "://" not in name and not Path(name).exists():
            raise OptionError(f"FILE: expected a file or folder, got none: {name}")
        found = read_plotted(name)
        if "convergence" not in found.kinds:
            raise OptionError(f"FILE: expected a run, got {name}: {found.name}")
        try:
            runs.append(run_of(found.content, name))
        except DpbbError as error:
            raise OptionError(f"FILE: {name}: {error}") from error
    records, doubts = read_all(folders, args.data)
    rows = {path: table.read_table(path) for path in tables}
    counts = []
    for path, bounds in rows.items():
        wrong, count = table.checked(bounds, path, args.data)
        doubts += wrong
        counts.append(count)
    for doubt in doubts:
        print(doubt, file=sys.stderr)
    records.sort(key=lambda one: (one.n_jobs, one.n_machines, one.instance))
    if not records and not tables and not runs:
        raise OptionError(f"report: expected records in {folders[0]}, got none")
    print(*counts, sep="\n", end="\n" * bool(counts))
    if records:
        show_records(records)
    if runs:
        columns = zip(*(run.row for run in runs), strict=True)
        shown, width = dict(zip(COLUMNS, columns, strict=True)), width_of(sys.stdout)
        for name in (*LESS, ""):
            text = as_table([*shown], [*zip(*shown.values(), strict=True)])
            if width is None or text.find("\n") <= width:
                break
            shown.pop(name, None)
        print(text, end="")
    where = folders[0] if len(folders) == 1 else Path()
    rows[where / table.SUFFIX] = [table.row_of(one) for one in records]
    runs = [*(run_of_record(one) for one in records if one.attempts), *runs]
    refused = []
    for name in args.write:
        suffix = Path(name).suffix.lower()
        try:
            if suffix == PAGE and not runs:
                raise OptionError("--write: expected runs for a page, got none")
            if suffix != PAGE and not records and not tables:
                raise OptionError(
                    f"--write: expected {PAGE} where no campaign is, got {name}"
                )
            with whole_file(name):
                if suffix == PAGE:
                    Path(name).write_text(runs_page(runs), encoding="utf-8")
                elif suffix == table.SUFFIX:
                    text = table.as_text(table.joined(rows, Path(name)))
                    Path(name).write_text(text, encoding="utf-8")
                elif suffix in FORMS:
                    Path(name).write_text(FORMS[suffix](records), encoding="utf-8")
                else:
                    draw(records).savefig(name, dpi=150)
        except DpbbError as error:  # the others are written
            refused.append(error)
    if refused:
        raise refused[0]
    return 1 if doubts else 0


def _is_table(path: Path) -> bool:
    """Whether a file may be a table of bounds: a list in JSON."""
    if path.suffix != table.SUFFIX or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(1) == b"["
