"""``dpbb stop``."""

import argparse

from dpbb.cli.remote import add_run, attached
from dpbb.errors import DpbbError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run."""
    add_run(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(args: argparse.Namespace) -> int:
    """Stop the run, and show what it has found.

    DpbbError: it keeps checkpoints, and its last state could not be saved.
    """
    with attached(args) as handle:
        handle.stop()
        result, last = handle.result(), handle.snapshot()
    print(result.to_json() if args.json else result.summary())
    saved = last.checkpoint
    if saved is not None and saved.at_risk_s and not last.exhausted:
        why = saved.error or f"{saved.url} on host {saved.host} does not answer"
        raise DpbbError(f"the state at the end was not saved: {why}")
    return 0
