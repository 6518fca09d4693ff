"""Commands that explore nothing.

``dpbb info``, ``evaluate``, ``data``, ``engines``, ``template`` and ``help``.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpbb.cli import Parser, main
from dpbb.cli.arguments import add_common, add_instance, add_rows, add_table
from dpbb.cli.running import check_files, print_rows, problem_of
from dpbb.errors import InstanceError
from dpbb.flowshop.best_known import best_known_names
from dpbb.flowshop.formats import vrf_instance
from dpbb.flowshop.template import write_template
from dpbb.flowshop.vrf import PUBLISHED, data_folder, places_in
from dpbb.options.permutations import parse_permutation
from dpbb.problem import (
    Described,
    Scheduled,
    best_known_of,
    bound_of,
    cost_of,
    instance_name_of,
    n_machines_of,
    objective_of,
    part_of,
    root_bound,
)
from dpbb.progress.choice import width_of
from dpbb.result.schedule import Order, Schedule
from dpbb.text.json_text import json_text
from dpbb.text.labels import names_of
from dpbb.text.names import clean


def add_info(parser: argparse.ArgumentParser) -> None:
    """Add the instance and ``--json``."""
    add_instance(parser, ends=False)
    add_common(parser, "--json")


def run_info(args: argparse.Namespace) -> int:
    """Show what is known of an instance."""
    problem = problem_of(args, told=False)
    bound, objective = bound_of(problem), objective_of(problem)
    more = problem.facts() if isinstance(problem, Described) else {}
    known = best_known_of(problem)
    root, n_machines = root_bound(problem), n_machines_of(problem)
    shop = getattr(problem, "instance", None)
    read: dict[str, Any] = shop.facts() if isinstance(shop, Described) else {}
    if args.json:
        facts = {
            "instance": instance_name_of(problem),
            "n_jobs": problem.n_jobs,
            "n_machines": n_machines,
            "digest": problem.digest,
            **read,
            **more,
            f"{bound}_children": root,
            "best_known_lower_bound": None if known is None else known.lower_bound,
            f"best_known_{objective.replace(' ', '_')}": None
            if known is None
            else known.upper_bound,
        }
        if shop is not None and problem.name == "flowshop-makespan":  # all of it
            facts["times"] = shop.times.tolist()
        print(json_text(facts))
        return 0
    machines = f" x {n_machines} machines" if n_machines else ""
    rows = {
        "instance": instance_name_of(problem),
        "size": f"{problem.n_jobs} jobs{machines}",
        "digest": problem.digest,
        **{name.replace("_", " "): _short(value) for name, value in read.items()},
        **{name.replace("_", " "): value for name, value in more.items()},
        "root bound": f"{root} ({bound}, over its children)",
        "best known": known or "unknown",
    }
    print_rows(rows)
    return 0


def _short(values: Sequence[Any]) -> str:
    """Return the first and the last of many values as a line, to wrap at commas."""
    texts = [clean(str(value)).replace(" ", "\xa0") for value in values]
    return ", ".join([*texts[:12], "...", texts[-1]] if len(texts) > 14 else texts)


def add_evaluate(parser: argparse.ArgumentParser) -> None:
    """Add the instance, the order of its jobs and the output."""
    add_instance(parser, ends=False)
    rows = {
        "permutation PERMUTATION": "jobs from 0 in order of processing, separated by "
        "commas or spaces, or their names (panel,door,frame); or a file with them, "
        "also a saved JSON result",
        "--one-based": "the jobs count from 1",
    }
    add_rows(parser, rows)
    add_common(parser, "--output", "--json", title="output")


def run_evaluate(args: argparse.Namespace) -> int:
    """Show makespan and schedule of an order."""
    problem = problem_of(args)
    order = parse_permutation(args.permutation, one_based=args.one_based)
    check_files(args, {})
    order = part_of(problem, names_of(problem).numbers(order, "permutation"))
    cost, objective = cost_of(problem, np.array(order, np.intp)), objective_of(problem)
    schedule: Schedule | Order
    if isinstance(problem, Scheduled):
        schedule = problem.schedule(order)
    else:
        schedule = Order(order, names_of(problem))
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
            values |= schedule.to_json()
        print(json_text(values))
    else:
        names, told = names_of(problem), str(cost)
        named = "" if names else "   (jobs and machines count from 0)"
        if names.clock is not None and isinstance(schedule, Schedule):
            told = names.clock.cost(objective, cost, schedule.makespan)
        print(f"{objective} {told}{named}")
        text, width = str(schedule), width_of(sys.stdout)
        if width is not None and isinstance(schedule, Schedule):
            shown = schedule.table(width)
            text = shown + "\n(--output FILE has more columns)" * (shown != text)
        print(text)
    return 0


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add what to do, and the folder."""
    parser.epilog = f"""\
The benchmark of Vallada, Ruiz and Framinan (480 instances) is not part of this package;
its authors publish it at {PUBLISHED}. The archive as it is
downloaded, or unpacked, may lie in the folder or two levels below. All commands find it
with --data FOLDER, or where the environment variable DPBB_DATA names the folder."""
    text = "check: read all, compare with the benchmark"
    parser.add_argument("action", choices=("check",), help=text)
    add_rows(parser, {"folder FOLDER?": "default: $DPBB_DATA"})
    add_common(parser, "--json")


def run_data(args: argparse.Namespace) -> int:
    """Read every instance of a folder; 1 if one is not what its name says."""
    folder = data_folder(args.folder, "FOLDER")
    places, damaged = places_in(folder)
    known = best_known_names("VFR")
    right, wrong = [], {}
    for name, place in places.items():
        try:
            found = vrf_instance(name, place).best_known
        except InstanceError as error:
            wrong[name] = str(error)
            continue
        if name not in known or (found is not None and found.name == name):
            right.append(name)
        else:
            called = "of none" if found is None else f"of {found.name}"
            wrong[name] = f"{place}: expected the times of {name}, got those {called}"
    missing = sorted(known - set(places))
    failed = bool(wrong or damaged)
    if args.json:
        facts = {"right": right, "wrong": wrong, "missing": missing}
        print(json_text({**facts, "damaged": damaged}))
        return int(failed)
    ours = len(known & set(right))
    print(f"{ours} of {len(known)} VRF instances, with the benchmark's times")
    if len(right) > ours:
        print(
            f"{len(right) - ours} more of such names that the benchmark does not have"
        )
    for text in (*damaged, *wrong.values()):
        print(text)
    if missing:
        some = ", ".join(missing[:4]) + (", ..." if len(missing) > 4 else "")
        print(f"missing: {len(missing)} ({some}); published at {PUBLISHED}")
    return int(failed)


def add_engines(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    add_rows(parser, {"--json": "one JSON array on stdout"})


def run_engines(args: argparse.Namespace) -> int:
    """Show which engines can run here, with their devices."""
    from dpbb.engines.registry import available_engines, get_engine

    rows = []
    for name, reason in available_engines().items():
        devices = [] if reason is not None else get_engine(name).devices()
        rows.append({"engine": name, "reason": reason, "devices": devices})
        if not args.json:
            print(f"{name:<10} {reason or 'available'}")
            for device in devices:
                called = device.name or device.kind
                print(f"{'':<10} - {called}, {device.threads} thread(s)")
    if args.json:
        print(json_text(rows))
    return 0


def add_template(parser: argparse.ArgumentParser) -> None:
    """Add the file."""
    parser.epilog = """\
Sheet jobs: a row for each job, a column for each machine, and release, due and weight,
which may stay empty. Sheet setups: from each job to the next; empty if there are none.
Then: dpbb solve shop.xlsx, or with --objective weighted-tardiness"""
    add_rows(parser, {"file FILE": "workbook to write, such as shop.xlsx"})


def run_template(args: argparse.Namespace) -> int:
    """Write the workbook."""
    write_template(args.file)
    print(args.file)
    return 0


def add_help(parser: argparse.ArgumentParser) -> None:
    """Add the topic."""
    what = "tables: how they are read; or a command (default: all commands)"
    parser.add_argument("topic", nargs="?", help=what)


def run_help(args: argparse.Namespace) -> int:
    """Show how tables are read, or which commands there are."""
    if args.topic != "tables":
        return main([args.topic, "--help"] if args.topic else ["--help"])
    shown = Parser(
        usage="dpbb solve|heuristic|estimate|info|campaign [options] FILE.csv",
        add_help=False,
        epilog="""\
Lines of a title above the table are skipped. Columns release, due and weight are dates
and weights of the jobs. A sheet setups holds set-up times from each job (row) to the
next (column), in any order. dpbb info FILE shows what was understood. In Python:
dpbb.read_problem(FILE, table=dpbb.TableForm(sheet="Plan", scale=60))""",
    )
    add_table(shown, shown=True)
    print(shown.format_help(), end="")
    return 0
