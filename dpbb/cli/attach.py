"""``dpbb attach``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dpbb.cli.remote import add_run, attached
from dpbb.cli.shared import EXIT_CODES, EXIT_CODES_TEXT, stopping
from dpbb.errors import OptionError

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
        "--log-json",
        action="store_true",
        help="progress as JSON, a snapshot a line, instead of rows",
    )
    parser.add_argument(
        "--certificate", metavar="FILE", help="write the certificate, if it keeps one"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    """Show progress until the run is over, then its result."""
    from dpbb.progress import ProgressPrinter

    progress = ProgressPrinter(
        None if args.quiet else sys.stderr, json_lines=args.log_json
    )
    message = "dpbb: leaving the run, which goes on; Ctrl-C again quits at once"
    with attached(args) as handle, stopping(message) as should_leave:
        snapshot = None
        for snapshot in handle.stream(0.5):
            progress.update(snapshot)
            if should_leave():
                print(f"run {handle.run_id} goes on", file=sys.stderr)
                return 4 if snapshot.value is None else 3
        if snapshot is not None:
            progress.finish(snapshot)
        result = handle.result()
    if args.certificate is not None:
        if result.certificate is None:
            raise OptionError(
                "--certificate: expected a run with the option certificate that is "
                "exhausted, got one without"
            )
        result.certificate.write(args.certificate)
    print(result.to_json(schedule=False) if args.json else result.summary())
    return EXIT_CODES[result.status]
