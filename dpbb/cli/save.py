"""``dpbb save``."""

import argparse

from dpbb.cli.remote import add_run, attached


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run and the file."""
    add_run(parser)
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="file on this machine, for dpbb resume; default: a checkpoint in the "
        "run's own folder",
    )


def run(args: argparse.Namespace) -> int:
    """Write the state of the run."""
    with attached(args) as handle:
        if args.file is None:
            status = handle.save_now()
            print(f"{status.files[0]} in {status.url} on host {status.host}")
        else:
            handle.save(args.file)
            print(f"run {handle.run_id} saved in {args.file}")
    return 0
