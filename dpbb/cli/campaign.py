"""``dpbb campaign``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpbb.campaign.folder import CampaignFolder, Record
from dpbb.campaign.sets import ALLOWED, members, read_schedules
from dpbb.cli.arguments import (
    add_common,
    add_options,
    add_rows,
    add_table,
    given_options,
    how_read,
)
from dpbb.cli.running import logging_to_stderr, stopping, tell_size
from dpbb.errors import OptionError
from dpbb.options import SolveOptions, kinds

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
    if args.side_by_side < 1:
        raise OptionError(
            f"--side-by-side: expected at least 1, got {args.side_by_side}"
        )
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
