"""``dpbb resume``."""

import argparse
from typing import Any

from dpbb.cli.shared import (
    EXIT_CODES_TEXT,
    add_config,
    add_on_end,
    add_options,
    add_output,
    check_files,
    given_options,
    run_and_show,
)
from dpbb.options import SolveOptions
from dpbb.result import Result

EPILOG = (
    "The tree's options are as before; a smaller --upper-bound and a better --initial "
    "schedule\nare used. Checkpoints go on in the same folder, unless another is given."
    "\n\n" + EXIT_CODES_TEXT
)

SHOWN = ("progress", "verbosity", "report_interval_s")
"""Options of how the run is shown, which this command does itself."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the checkpoint, the output and all options of a search."""
    parser.add_argument(
        "source",
        metavar="CHECKPOINT",
        help="folder of checkpoints (the newest counts), one of them, or a file that "
        "dpbb save wrote; a path or URL",
    )
    add_output(parser)
    add_config(parser)
    add_on_end(parser)
    add_options(parser, "CHECKPOINT")


def run(args: argparse.Namespace) -> int:
    """Go on, show the result, write the schedule."""
    given = given_options(args)
    # only with those of the checkpoint are the given options whole: see ``read_saved``
    shown = {name: given[name] for name in SHOWN if name in given}
    given.pop("progress", None)
    check_files(args, given)

    def resume(**how: Any) -> Result:
        from dpbb import api

        return api.resume(args.source, **given, **how)

    return run_and_show(args, SolveOptions.from_mapping(shown), resume)
