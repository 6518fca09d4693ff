"""``dpbb stop``."""

import argparse

from dpbb.cli.remote import add_run, attached


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run."""
    add_run(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(args: argparse.Namespace) -> int:
    """Stop the run, and show what it has found."""
    with attached(args) as handle:
        handle.stop()
        result = handle.result()
    print(result.to_json() if args.json else result.summary())
    return 0
