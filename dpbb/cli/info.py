"""``dpbb info``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpbb.cli.arguments import add_instance
from dpbb.cli.shared import instance_of
from dpbb.problem import root_bound
from dpbb.text.json_text import json_text

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the instance and ``--json``."""
    add_instance(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(args: argparse.Namespace) -> int:
    """Show what is known of an instance."""
    from dpbb.flowshop import FlowShopProblem

    instance = instance_of(args)
    problem = FlowShopProblem(instance)
    known = instance.best_known
    facts = {
        "instance": instance.name,
        "n_jobs": instance.n_jobs,
        "n_machines": instance.n_machines,
        "digest": instance.digest,
        "least_time": int(instance.times.min()),
        "largest_time": int(instance.times.max()),
        "lb1_root": problem.root_bound,
        "lb1_children": root_bound(problem),
        "best_known_lower_bound": None if known is None else known.lower_bound,
        "best_known_makespan": None if known is None else known.upper_bound,
    }
    if args.json:
        print(json_text(facts))
        return 0
    print(f"instance       {instance.name}")
    print(f"size           {instance.n_jobs} jobs x {instance.n_machines} machines")
    print(f"times          {facts['least_time']} to {facts['largest_time']}")
    print(f"digest         {instance.digest}")
    print(f"bounds (LB1)   {facts['lb1_root']} at the root, ", end="")
    print(f"{facts['lb1_children']} over its children")
    print(f"best known     {'unknown' if known is None else known}")
    return 0
