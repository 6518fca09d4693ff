"""``dpbb solve``."""

import argparse
from typing import Any

from dpbb.cli.shared import (
    EXIT_CODES_TEXT,
    add_config,
    add_ends,
    add_instance,
    add_on_end,
    add_options,
    add_output,
    check_files,
    given_options,
    problem_of,
    run_and_show,
)
from dpbb.options import SolveOptions
from dpbb.result import Result

EPILOG = EXIT_CODES_TEXT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the instance, the output and all options of a search."""
    add_instance(parser)
    add_ends(parser)
    add_output(parser)
    add_config(parser)
    add_on_end(parser)
    add_options(parser, "INSTANCE")


def run(args: argparse.Namespace) -> int:
    """Solve, show the result, write the schedule."""
    given = given_options(args)
    options = SolveOptions.from_mapping(given)
    instance = problem_of(args, options)
    check_files(args, given)

    def solve(**how: Any) -> Result:
        from dpbb import api

        return api.solve(instance, options=options, **how)

    return run_and_show(args, options, solve)
