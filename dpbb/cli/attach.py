"""``dpbb attach``."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

from dpbb.cli.arguments import add_log_json, add_option
from dpbb.cli.remote import add_run, attached
from dpbb.cli.shared import EXIT_CODES, EXIT_CODES_TEXT, stopping
from dpbb.errors import OptionError
from dpbb.option_table import option_rows
from dpbb.options import SolveOptions

if TYPE_CHECKING:
    import argparse

EPILOG = (
    "Ctrl-C leaves the run, which goes on (exit code 3 or 4, as what is known).\n\n"
    + EXIT_CODES_TEXT
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run and how to show it."""
    add_run(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument(
        "--certificate", metavar="FILE", help="write the certificate, if it keeps one"
    )
    (style,) = [row for row in option_rows() if row.name == "progress"]
    add_option(parser, style)
    add_log_json(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    """Show progress until the run is over, then its result."""
    from dpbb.coordination.snapshot import RunState
    from dpbb.progress import make_progress, show

    given = "none" if args.quiet else getattr(args, "progress", "auto")
    style = SolveOptions().replace(progress=given).progress
    message = "dpbb: leaving the run, which goes on; Ctrl-C again quits at once"
    with attached(args) as handle, stopping(message) as should_leave:
        with closing(make_progress(style)) as progress:
            should_leave.alert = progress.alert
            if handle.dashboard is not None:
                progress.note(f"dashboard {handle.dashboard}")
            snapshot = show(handle.stream(0.5), progress, should_leave)
        if snapshot.state in (RunState.RUNNING, RunState.STOPPING):
            print(f"run {handle.run_id} goes on", file=sys.stderr)
            return 4 if snapshot.value is None else 3
        result = handle.result()
    if args.certificate is not None:
        if result.certificate is None:
            raise OptionError(
                "--certificate: expected a run with the option certificate that is "
                "exhausted, got one without"
            )
        result.certificate.write(args.certificate)
    print(result.to_json() if args.json else result.summary())
    return EXIT_CODES[result.status]
