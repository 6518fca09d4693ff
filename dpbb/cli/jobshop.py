"""``dpbb jobshop``."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from dpbb.cli.arguments import add_common, add_rows
from dpbb.cli.running import print_rows
from dpbb.errors import OptionError
from dpbb.jobshop import Criterion, Encoding, best_known, evaluate, load, schedule
from dpbb.options import DEVICES
from dpbb.result.written import FORMS, check_form
from dpbb.text.files import (
    check_readable,
    check_writable,
    expecting,
    read_file,
    whole_file,
)
from dpbb.text.json_text import json_text


def add_jobshop(parser: argparse.ArgumentParser) -> None:
    """Add the two commands."""
    parser.epilog = """\
INSTANCE is ta01 to ta80, ft06, la01 and so on (with --data), or a file: the standard
text form ("n m", then a line of machine-time pairs for every job), .csv or .json.

SOLUTIONS is a file: .npy (an array of all), .json (a list), or text with a line of job
numbers for every sequence; of machine orders with a line for every machine, and an
empty line behind every solution. Jobs count from 0."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    text = "size, bounds and best-known makespan of a job shop"
    info = commands.add_parser("info", help=text, description=text)
    text = "exact costs of solutions of a job shop"
    costs = commands.add_parser("evaluate", help=text, description=text)
    for command, work in ((info, _info), (costs, _evaluate)):
        add_rows(command, {"instance INSTANCE": "a name or a file"})
        if command is costs:
            add_rows(command, {"solutions SOLUTIONS": "a file"})
        add_common(command, "--data", "--json")
        command.set_defaults(work=work, parser=command)
    encodings = f"{Encoding.SEQUENCE}|{Encoding.MACHINE_ORDERS}"
    rows = {
        f"--encoding {encodings}={Encoding.SEQUENCE}": "what a solution is (default: "
        "sequence)",
        f"--criterion {'|'.join(Criterion)}={Criterion.MAKESPAN}": "what it costs "
        "(default: makespan)",
        f"--device {'|'.join(DEVICES)}=auto": "where to evaluate (default: auto)",
        "--threads N": "of the CPU",
        "--output FILE": "write the schedule of the best solution as .csv, .xlsx or "
        f".json, or a Gantt chart of it: {', '.join(FORMS[2:])}",
    }
    add_rows(costs, rows)


def run_jobshop(args: argparse.Namespace) -> int:
    """Run the command that was asked for."""
    return int(args.work(args))


def _info(args: argparse.Namespace) -> int:
    shop = load(args.instance, data_dir=args.data)
    known = best_known(shop.name)
    least, largest = int(shop.times.min()), int(shop.times.max())
    if args.json:
        facts = {
            "instance": shop.name,
            "n_jobs": shop.n_jobs,
            "n_machines": shop.n_machines,
            "n_operations": shop.n_operations,
            "digest": shop.digest,
            "least_time": least,
            "largest_time": largest,
            "lower_bound": shop.lower_bound,
            "best_known_lower_bound": None if known is None else known.lower_bound,
            "best_known_makespan": None if known is None else known.upper_bound,
        }
        print(json_text(facts))
        return 0
    each = " to ".join(map(str, sorted({shop.lengths.min(), shop.lengths.max()})))
    rows = {
        "instance": shop.name,
        "size": f"{shop.n_jobs} jobs x {shop.n_machines} machines",
        "operations": f"{shop.n_operations}, {each} of a job",
        "times": f"{least} to {largest}",
        "digest": shop.digest,
        "lower bound": f"{shop.lower_bound} (longest job or machine)",
        "best known": known or "unknown",
    }
    print_rows(rows)
    return 0


def _evaluate(args: argparse.Namespace) -> int:
    if args.output is not None:
        check_form(args.output, "--output", (*FORMS, ".json"))
        check_writable(args.output, "--output", args.instance, args.solutions)
    instance = load(args.instance, data_dir=args.data)
    encoding = Encoding(args.encoding)
    solutions = read_solutions(args.solutions, encoding)
    costs = evaluate(
        instance,
        solutions,
        encoding=encoding,
        criterion=args.criterion,
        device=args.device,
        threads=args.threads,
    )
    if not len(costs):
        raise OptionError(f"{args.solutions}: expected solutions, got none")
    feasible = np.flatnonzero(costs >= 0)
    best = int(feasible[costs[feasible].argmin()]) if feasible.size else None
    if args.output is not None:
        if best is None:
            raise OptionError("--output: expected a solution without a cycle, got none")
        found = schedule(instance, solutions[best], encoding)
        if args.output.lower().endswith(".json"):
            with whole_file(args.output):
                Path(args.output).write_text(found.to_json() + "\n", encoding="utf-8")
        else:
            found.write(args.output)
    if args.json:
        values = {
            "instance": instance.name,
            "digest": instance.digest,
            "criterion": args.criterion,
            "costs": costs.tolist(),
            "best": best,
        }
        print(json_text(values))
        return 0
    for number, cost in enumerate(costs.tolist()):
        print(f"{number:>8}  {'cyclic' if cost < 0 else cost}")
    if best is not None and len(costs) > 1:
        print(f"best: solution {best}, {args.criterion} {costs[best]}")
    return 0


def read_solutions(source: str, encoding: Encoding) -> Any:
    """Read solutions from a file; what they are is checked by who evaluates them.

    OptionError: the file cannot be read, or has something else than numbers.
    """
    path = Path(source)
    with expecting(f"SOLUTIONS: expected solutions in {source}"):
        if path.suffix.lower() == ".npy":
            with check_readable(path).open("rb") as file:
                return np.lib.format.read_array(file, allow_pickle=False)
        text = read_file(path).decode("utf-8-sig")
    if path.suffix.lower() == ".json":
        with expecting(f"{source}: expected JSON"):
            return json.loads(text)
    blocks: list[list[list[int]]] = [[]]  # empty lines part machine orders
    for number, line in enumerate(text.splitlines(), 1):
        try:
            row = [int(token) for token in line.replace(",", " ").split()]
        except ValueError:
            raise OptionError(
                f"{source}, line {number}: expected job numbers, got {line[:40]!r}"
            ) from None
        if row:
            blocks[-1].append(row)
        else:
            blocks.append([])
    if encoding is Encoding.SEQUENCE:
        return [row for block in blocks for row in block]
    return [block for block in blocks if block]
