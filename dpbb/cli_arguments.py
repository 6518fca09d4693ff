"""Arguments of the command line; the flags of a solve come from the options table."""

from __future__ import annotations

import argparse
from typing import Any

import dpbb
from dpbb.bench import SUITES, load_suite
from dpbb.options import Verbosity, nearest, option_rows

EPILOG = """\
exit codes: 0 optimal, or proved that nothing is below the cutoff; 1 error; 2 bad
input; 3 a schedule, not proved optimal; 4 nothing known; 130 interrupted twice.
Ctrl-C once (or SIGTERM) stops the search and still prints the best schedule."""


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Return the arguments; exits with code 2 when they are none of dpbb's."""
    parser = argparse.ArgumentParser(
        prog="dpbb",
        description="Proves optimal schedules of permutation flow shops.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=dpbb.__version__)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, help_text: str, **more: Any) -> Any:  # noqa: ANN401
        form = argparse.RawDescriptionHelpFormatter
        sub = commands.add_parser(
            name,
            help=help_text,
            description=help_text,
            formatter_class=form,
            allow_abbrev=False,
            **more,
        )
        sub.set_defaults(command=name)
        return sub

    solve = add("solve", "find and prove an optimal schedule", epilog=EPILOG)
    _add_instance(solve)
    _add_output(solve, "write the schedule (CSV: position, job, machine, start, end)")
    solve.add_argument("--config", metavar="FILE", help="TOML file, table [solve]")
    solve.add_argument(
        "--log-json",
        action="store_true",
        help="progress as JSON, a snapshot a line, instead of rows",
    )
    _add_options(solve)

    info = add("info", "size, digest, root bounds and best-known makespan")
    _add_instance(info)
    info.add_argument("--json", action="store_true", help="one JSON object on stdout")

    evaluate = add("evaluate", "makespan and schedule of a given order")
    _add_instance(evaluate)
    evaluate.add_argument(
        "permutation",
        metavar="PERMUTATION",
        help="jobs from 0 in order of processing, separated by commas or spaces; or a "
        "file with them, also a saved JSON result",
    )
    evaluate.add_argument(
        "--one-based", action="store_true", help="the jobs count from 1"
    )
    _add_output(evaluate, "write the schedule (CSV)")

    engines = add("engines", "which engines can run here, and why not")
    engines.add_argument("--json", action="store_true", help="one JSON array on stdout")
    bench = add("bench", "benchmarks: counts checked, nodes a second")
    _add_suites(bench, arguments)

    args, unknown = parser.parse_known_args(arguments)
    for argument in unknown:
        flags = [row.flag for row in option_rows()]
        parser.error(
            f"{argument}: expected a known argument{nearest(argument, flags)}; see "
            f"dpbb {arguments[0]} --help"
        )
    return args


def _add_instance(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("instance")
    group.add_argument(
        "instance",
        metavar="INSTANCE",
        help="ta001 to ta120, VFR30_15_2 (with --data), or a file: Taillard's or VRF "
        "text, .csv, .json, .npy",
    )
    group.add_argument(
        "--index", type=int, metavar="N", help="which instance of a file, from 0"
    )
    group.add_argument(
        "--orientation",
        metavar="ROWS",
        help="rows of a table: jobs_rows (default) or machines_rows",
    )
    group.add_argument(
        "--data", metavar="FOLDER", help="benchmark files; default: $DPBB_DATA"
    )


def _add_output(parser: argparse.ArgumentParser, help_text: str) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--output", metavar="FILE", help=help_text)
    group.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options table; what is not given stays out of the namespace."""
    group = parser.add_argument_group(
        "options of the search",
        "the same in Python (solve(..., time_limit_s=60)) and TOML",
    )
    for row in option_rows():
        shown = row.kind.metavar is None or row.kind.allowed.startswith("one of ")
        what = "" if shown else f"; {row.kind.allowed}"
        text = f"{row.help}{what} (default: {row.default_text})".replace("%", "%%")
        shape: dict[str, Any] = {"metavar": row.kind.metavar}
        if row.kind.metavar is None:
            shape = {"action": "store_true"}
        group.add_argument(
            row.flag, dest=row.name, default=argparse.SUPPRESS, help=text, **shape
        )
    for flags, level in (
        (("-q", "--quiet"), Verbosity.QUIET),
        (("-v", "--verbose"), Verbosity.VERBOSE),
    ):
        group.add_argument(
            *flags,
            dest="verbosity",
            action="store_const",
            const=str(level),
            default=argparse.SUPPRESS,
            help=f"short for --verbosity {level}",
        )


def _add_suites(parser: argparse.ArgumentParser, arguments: list[str]) -> None:
    """Add the suites; only the one asked for is imported."""
    suites = parser.add_subparsers(title="suites", required=True, metavar="SUITE")
    for name, help_text in SUITES.items():
        sub = suites.add_parser(name, help=help_text, description=help_text)
        if arguments[:2] == ["bench", name]:
            suite = load_suite(name)
            suite.add_arguments(sub)
            sub.set_defaults(suite_run=suite.run)
