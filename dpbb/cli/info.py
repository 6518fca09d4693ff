"""``dpbb info``."""

import argparse

from dpbb.cli.output import print_rows
from dpbb.cli.shared import add_instance, problem_of
from dpbb.problem import (
    Described,
    best_known_of,
    bound_of,
    instance_name_of,
    n_machines_of,
    objective_of,
    root_bound,
)
from dpbb.text.json_text import json_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the instance and ``--json``."""
    add_instance(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(args: argparse.Namespace) -> int:
    """Show what is known of an instance."""
    problem = problem_of(args)
    bound, objective = bound_of(problem), objective_of(problem)
    more = problem.facts() if isinstance(problem, Described) else {}
    known = best_known_of(problem)
    best = "best_known_" + objective.replace(" ", "_")
    facts = {
        "instance": instance_name_of(problem),
        "n_jobs": problem.n_jobs,
        "n_machines": n_machines_of(problem),
        "digest": problem.digest,
        **more,
        f"{bound}_children": root_bound(problem),
        "best_known_lower_bound": None if known is None else known.lower_bound,
        best: None if known is None else known.upper_bound,
    }
    if args.json:
        print(json_text(facts))
        return 0
    machines = f" x {facts['n_machines']} machines" if facts["n_machines"] else ""
    rows = {
        "instance": facts["instance"],
        "size": f"{problem.n_jobs} jobs{machines}",
        "digest": problem.digest,
        **{name.replace("_", " "): value for name, value in more.items()},
        "root bound": f"{facts[f'{bound}_children']} ({bound}, over its children)",
        "best known": known or "unknown",
    }
    print_rows(rows)
    return 0
