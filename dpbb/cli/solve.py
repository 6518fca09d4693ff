"""``dpbb solve``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dpbb.cli.arguments import add_instance, add_options, add_output
from dpbb.cli.shared import (
    EXIT_CODES,
    EXIT_CODES_TEXT,
    instance_of,
    logging_to_stderr,
    solve_options,
    stopping,
    writable,
    write_schedule,
)
from dpbb.options import Verbosity

if TYPE_CHECKING:
    import argparse

EPILOG = EXIT_CODES_TEXT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the instance, the output and all options of a search."""
    add_instance(parser)
    add_output(parser, "write the schedule (CSV: position, job, machine, start, end)")
    parser.add_argument("--config", metavar="FILE", help="TOML file, table [solve]")
    parser.add_argument(
        "--log-json",
        action="store_true",
        help="progress as JSON, a snapshot a line, instead of rows",
    )
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Solve, show the result, write the schedule."""
    options = solve_options(args)
    instance = instance_of(args)
    output = None if args.output is None else writable(args.output)
    with logging_to_stderr(options.verbosity), stopping() as should_stop:
        from dpbb import api
        from dpbb.progress import ProgressPrinter

        quiet = options.verbosity is Verbosity.QUIET
        progress = ProgressPrinter(
            None if quiet else sys.stderr,
            interval_s=options.report_interval_s,
            json_lines=args.log_json,
        )
        result = api.solve(
            instance, options=options, progress=progress, should_stop=should_stop
        )
    if output is not None:
        write_schedule(result, output)
    print(result.to_json(schedule=False) if args.json else result.summary())
    return EXIT_CODES[result.status]
