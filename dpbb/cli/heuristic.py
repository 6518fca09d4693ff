"""``dpbb heuristic``."""

import argparse
import json
from itertools import groupby
from pathlib import Path
from typing import Any

from dpbb.cli.output import write_schedule
from dpbb.cli.shared import (
    add_ends,
    add_instance,
    add_log_json,
    add_option,
    add_output,
    add_short,
    check_files,
    flags_given,
    logging_to_stderr,
    problem_of,
    stopping,
)
from dpbb.options import OPTIONS, SolveOptions, Verbosity
from dpbb.problem import BestKnown, best_known_of
from dpbb.result import Result
from dpbb.text.json_text import json_text

SHARED = ("threads", "seed", "initial", "scheduler", "progress", "verbosity")
"""Options that mean what they mean in a solve."""

EPILOG = """\
The JSON object is a result as dpbb solve has it: dpbb evaluate and dpbb plot take the
file. Exit codes: 0 a schedule; 1 error; 2 bad input; 130 interrupted twice. Ctrl-C once
(or SIGTERM) ends the search and still prints the best schedule."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the instance, the method, its limits and the output."""
    add_instance(parser)
    add_ends(parser)
    group = parser.add_argument_group("search")
    group.add_argument(
        "--method",
        default="auto",
        metavar="NAME",
        help="auto: what does best on such instances, or a heuristic: see the help of "
        "dpbb solve --heuristics (default: auto)",
    )
    group.add_argument(
        "--time",
        metavar="X",
        help="seconds (default: 10, or as long as --iterations take), with what is "
        "compiled on the first use",
    )
    group.add_argument(
        "--iterations",
        type=int,
        metavar="N",
        help="steps of the method's own kind: with --threads 1 a seed repeats a search",
    )
    group.add_argument(
        "--device", default="cpu", metavar="KIND", help="cpu or gpu (default: cpu)"
    )
    group.add_argument(
        "--starts",
        type=int,
        metavar="N",
        help="with --scheduler: searches, each with a seed of its own (default: as "
        "many as the workers run side by side)",
    )
    for name in SHARED:
        add_option(group, OPTIONS[name])
    add_log_json(group)
    add_short(group, Verbosity.QUIET)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Search and show the schedule."""
    given = flags_given(args, [OPTIONS[name] for name in SHARED])
    options = SolveOptions.from_mapping(given)
    if args.time is not None:
        args.time = OPTIONS["heuristic_time_s"].kind.parse(args.time, "--time")
    problem = problem_of(args, options)
    check_files(args, given)
    with logging_to_stderr(options.verbosity), stopping() as asked:
        from dpbb.solving.arguments import shown_by
        from dpbb.solving.heuristic import heuristic

        progress = shown_by(None, options)
        asked.alert = progress.alert
        result = heuristic(
            problem,
            args.method,
            time_limit_s=args.time,
            device=args.device,
            threads=options.threads,
            seed=options.seed,
            iterations=args.iterations,
            initial=options.initial,
            scheduler=options.scheduler,
            starts=args.starts,
            progress=progress,
            should_stop=asked,
        )
    known = best_known_of(problem)
    try:
        if args.output is not None:
            write_schedule(result, Path(args.output))
    finally:  # what was found is not lost with a full disk
        print(_json(result, known) if args.json else _text(result, known))
    return 0


def _json(result: Result, known: BestKnown | None) -> str:
    values: dict[str, Any] = json.loads(result.to_json())
    values["best_known"] = None if known is None else known.upper_bound
    return json_text(values)


def _text(result: Result, known: BestKnown | None) -> str:
    """Return the schedule, how good it is, and which method found what."""
    value = result.makespan
    rows = [("instance", f"{result.instance} ({result.n_jobs} x {result.n_machines})")]
    if value is None:
        rows.append((result.objective, "none found"))
    else:
        rows.append((result.objective, str(value)))
        if known is not None:
            above = 100 * (value - known.upper_bound) / known.upper_bound
            rows.append(("best known", f"{known}: {above:.2f} % above"))
        how = f"gap {result.gap:.2%}" if result.gap else f"optimal ({result.proof})"
        rows.append(("lower bound", f"{result.lower_bound}: {how}"))
    rows.append(("time", f"{result.seconds:.2f} s"))
    rows.append(("permutation", " ".join(map(str, result.permutation or ()))))
    for source, steps in groupby(result.trajectory, lambda step: step.source):
        *before, last = steps
        more = f", step {len(before) + 1}" if before else ""
        rows.append(("", f"{last.seconds:>7.2f} s {last.value:>7}  {source}{more}"))
    return "\n".join(f"{name:<12} {text}" for name, text in rows)
