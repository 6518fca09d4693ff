"""``dpbb evaluate``."""

import argparse

import numpy as np

from dpbb.cli.shared import add_instance, add_output, check_files, problem_of
from dpbb.options.permutations import parse_permutation
from dpbb.problem import cost_of, instance_name_of, objective_of, part_of
from dpbb.result.schedule import Schedule, table_of
from dpbb.text.json_text import json_text
from dpbb.text.labels import names_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the instance, the order of its jobs and the output."""
    add_instance(parser)
    parser.add_argument(
        "permutation",
        metavar="PERMUTATION",
        help="jobs from 0 in order of processing, separated by commas or spaces, or "
        "their names (panel,door,frame); or a file with them, also a saved JSON result",
    )
    parser.add_argument(
        "--one-based", action="store_true", help="the jobs count from 1"
    )
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Show makespan and schedule of an order."""
    problem = problem_of(args)
    order = parse_permutation(args.permutation, one_based=args.one_based)
    check_files(args, {})
    order = part_of(problem, names_of(problem).numbers(order, "permutation"))
    cost, objective = cost_of(problem, np.array(order, np.intp)), objective_of(problem)
    schedule = table_of(problem, order)
    if args.output is not None:
        schedule.write(args.output, (problem, order))
    if args.json:
        values = {
            "instance": instance_name_of(problem),
            "digest": problem.digest,
            objective: cost,
            "permutation": order,
        }
        if isinstance(schedule, Schedule):
            values |= {"start": schedule.start.tolist(), "end": schedule.end.tolist()}
        print(json_text(values))
    else:
        named = " " if names_of(problem) else "   (jobs and machines count from 0)"
        print(f"{objective} {cost}{named}".rstrip())
        print(schedule)
    return 0
