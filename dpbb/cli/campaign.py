"""``dpbb campaign``, and ``dpbb report`` of campaigns and of single runs."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbb.campaign import table
from dpbb.campaign.folder import PARTS, RECORDS, CampaignFolder, Record
from dpbb.campaign.sets import ALLOWED, members, read_schedules
from dpbb.cli.arguments import (
    add_common,
    add_options,
    add_rows,
    add_table,
    given_options,
    how_read,
)
from dpbb.cli.plot import read_plotted
from dpbb.cli.running import logging_to_stderr, stopping, tell_size
from dpbb.errors import DpbbError, OptionError
from dpbb.options import SolveOptions, kinds
from dpbb.progress.choice import width_of
from dpbb.result.written import PICTURES
from dpbb.text.files import check_writable, known_suffix, whole_file

if TYPE_CHECKING:
    from dpbb.campaign.running import Watch

OF_ONE = ("front", "back", "setups", "lags")
"""What is of the jobs of one instance."""

NOT_HERE = ("checkpoint", "certificate", "all_optima", "optima_file")
"""Options of the search that a campaign refuses."""


def add_campaign(parser: argparse.ArgumentParser) -> None:
    """Add the sets, the folder and all options of a search."""
    parser.epilog = f"""\
SET is one or more of {ALLOWED}.

The folder keeps a record, a checkpoint and a certificate for each instance. The same
command goes on after whatever ended it; with a larger --time-limit, unfinished ones go
on from their checkpoints. Cheap ones come first, by an estimate of one second each.

dpbb report FOLDER shows what came out, and writes it as tables, plots or a page.

exit codes: 0 all are proved; 3 some are not; 1 error, also of one instance; 2 bad
input."""
    parser.add_argument("sets", nargs="+", metavar="SET", help="what to prove")
    text = "where records go"
    parser.add_argument("-o", "--output", metavar="FOLDER", help=text)
    rows = {
        "--data FOLDER": "VRF files; default: $DPBB_DATA",
        "--side-by-side N=2": "small trees explored at a time (default: 2)",
        "--estimate-time X=1": "seconds of sampling for each instance (default: 1)",
        "--schedules FILE": "schedules to start from: a table of bounds, or CSV with "
        "the columns name and permutation (jobs from 0) or permutation_1based",
        "--hint": "begin below the best known makespan + 1, as the literature does",
    }
    add_rows(parser, rows)
    shop = "--objective", "--blocking", "--buffers", "--unlimited"
    add_common(parser, *shop, "--config")
    add_table(parser)
    for name in OF_ONE:
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    add_options(parser, "SET...", without=NOT_HERE)


def run_campaign(args: argparse.Namespace) -> int:
    """Run a campaign."""
    if args.output is None:
        raise OptionError("-o: expected the FOLDER of the campaign, got none")
    for name in OF_ONE:
        if (given := getattr(args, name)) is not None:
            raise OptionError(
                f"--{name}: expected with one instance (dpbb solve INSTANCE --{name} "
                f"{given}), got a campaign, whose instances share no jobs"
            )
    kinds.whole(1).check(args.side_by_side, "--side-by-side")
    sampled = kinds.seconds(above=0).parse(args.estimate_time, "--estimate-time")
    from dpbb.campaign.running import Campaign, problems_of

    options = SolveOptions.from_mapping(given_options(args))
    how = how_read(args)
    with logging_to_stderr(options.verbosity), stopping() as asked:
        problems = problems_of(members(args.sets, how["table"]), **how)
        schedules = {} if args.schedules is None else read_schedules(args.schedules)
        overview = Overview()
        campaign = Campaign(
            CampaignFolder(Path(args.output)),
            options,
            side_by_side=args.side_by_side,
            estimate_s=sampled,
            schedules=schedules,
            hint=args.hint,
            should_stop=asked,
            on_line=overview.line,
            on_state=overview.state,
        )
        campaign.check_options(problems)
        for source, problem in problems.items():
            tell_size(source, problem, options)
        records = campaign.run(problems)
        overview.end()
    show_records(records)
    if any(record.status == "error" for record in records):
        return 1
    return 0 if not asked() and all(record.proved for record in records) else 3


class Overview:
    """Lines of what ended; on a terminal below them a line of what runs now."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()

    def line(self, text: str) -> None:
        """Write a line that stays."""
        print(("\r\x1b[K" if self._live else "") + text, file=sys.stderr, flush=True)

    def state(self, running: Sequence[Watch], done: int, of: int) -> None:
        """Show what runs now."""
        if not self._live:
            return
        parts = [f"{done}/{of}"]
        for watch in running:
            shot, seconds = watch.snapshot, time.monotonic() - watch.began
            value = shot and shot.value and f" {shot.value:,}"
            bound = shot and shot.lower_bound and f" >= {shot.lower_bound:,}"
            parts.append(f"{watch.name}{value or ''}{bound or ''} {seconds:.0f} s")
        print("\r\x1b[K" + " | ".join(parts)[:160], end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the terminal as it was."""
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def show_records(records: Sequence[Record]) -> None:
    """Print the classes, and what is new."""
    from dpbb.campaign.report import CLASS_COLUMNS, as_news, as_table, classes

    print(as_table(CLASS_COLUMNS, classes(records)), end="")
    print(as_news(records), end="")


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
    from dpbb.campaign.folder import read_all
    from dpbb.campaign.report import FORMS, as_table, draw, run_of_record
    from dpbb.plotting.runs import COLUMNS, LESS, run_of, runs_page

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
                    own = [table.row_of(one, where) for one in records]
                    all_rows = table.joined(rows | {where / suffix: own}, Path(name))
                    Path(name).write_text(table.as_text(all_rows), encoding="utf-8")
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
