"""``dpbb submit``."""

import argparse
import json
import sys
import time
from pathlib import Path

from dpbb.cli.remote import address_of
from dpbb.cli.shared import (
    add_ends,
    add_instance,
    add_options,
    check_files,
    given_options,
    logging_to_stderr,
    problem_of,
)
from dpbb.coordination.snapshot import WAITING_S
from dpbb.errors import OptionError
from dpbb.options import SolveOptions, Verbosity

EPILOG = """\
The start heuristics run here, the tree on the cluster. Prints the name of the run, and
on stderr the address of its page; see dpbb list, attach, stop and save. With
--checkpoint it survives its scheduler. dpbb attach writes the certificate that
--certificate asks for, at the end of the run, and, with its own --optima-file, the
optimal permutations."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the instance and all options of a search."""
    add_instance(parser)
    add_ends(parser)
    parser.add_argument("--config", metavar="FILE", help="TOML file, table [solve]")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    add_options(parser, "INSTANCE")


def run(args: argparse.Namespace) -> int:
    """Open the run and print its name."""
    given = given_options(args)
    given["scheduler"] = address_of(given.get("scheduler"))
    options = SolveOptions.from_mapping(given)
    if options.optima_file is not None:
        raise OptionError(
            "optima_file: expected none, as dpbb submit does not stay to write it, "
            f"got {options.optima_file}; dpbb attach RUN --optima-file FILE writes all "
            "that the run has found, at any time"
        )
    check_files(args, given)
    with logging_to_stderr(options.verbosity):
        from dpbb import api
        from dpbb.solving.arguments import shown_by

        progress = shown_by(None, options)
        handle = api.submit(
            problem_of(args, options), options=options, progress=progress
        )
        run_id, snapshot = handle.run_id, handle.snapshot()
        until = time.monotonic() + 2 * WAITING_S
        while not (snapshot.seats or snapshot.waits_for) and time.monotonic() < until:
            time.sleep(WAITING_S / 10)
            snapshot = handle.snapshot()
        page = handle.dashboard
        handle.detach()
    if snapshot.waits_for and options.verbosity is not Verbosity.QUIET:
        print(f"dpbb: waiting: {snapshot.waits_for}", file=sys.stderr)
    if page is not None and options.verbosity is not Verbosity.QUIET:
        print(f"dpbb: page {page}?run={run_id}", file=sys.stderr)
    if options.certificate is not None:
        path = Path(options.certificate).absolute()
        print(f"dpbb: dpbb attach {run_id} will write {path}", file=sys.stderr)
    print(json.dumps({"run_id": run_id}) if args.json else run_id)
    return 0
