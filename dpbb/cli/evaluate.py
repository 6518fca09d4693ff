"""``dpbb evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpbb.cli.arguments import add_instance, add_output
from dpbb.cli.shared import instance_of
from dpbb.options.permutations import parse_permutation
from dpbb.text.files import check_writable, whole_file
from dpbb.text.json_text import json_text

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the instance, the order of its jobs and the output."""
    add_instance(parser)
    parser.add_argument(
        "permutation",
        metavar="PERMUTATION",
        help="jobs from 0 in order of processing, separated by commas or spaces; or a "
        "file with them, also a saved JSON result",
    )
    parser.add_argument(
        "--one-based", action="store_true", help="the jobs count from 1"
    )
    add_output(parser, "write the schedule (CSV)")


def run(args: argparse.Namespace) -> int:
    """Show makespan and schedule of an order."""
    from dpbb import api

    instance = instance_of(args)
    if args.output is not None:
        check_writable(args.output, "--output")
    order = parse_permutation(args.permutation, one_based=args.one_based)
    schedule = api.evaluate(instance, order)
    if args.output is not None:
        with whole_file(args.output):
            schedule.write_csv(args.output)
    if args.json:
        values = {
            "instance": instance.name,
            "digest": instance.digest,
            "makespan": schedule.makespan,
            "permutation": schedule.permutation,
            "start": schedule.start.tolist(),
            "end": schedule.end.tolist(),
        }
        print(json_text(values))
    else:
        print(f"makespan {schedule.makespan}   (jobs and machines count from 0)")
        print(schedule)
    return 0
