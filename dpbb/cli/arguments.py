"""Groups of arguments that commands share; the options table gives a search's flags."""

import argparse
from typing import Any

from dpbb.options import OPTIONS, ProgressStyle, Verbosity
from dpbb.options.rows import OptionRow


def add_instance(parser: argparse.ArgumentParser) -> None:
    """Add the instance, and how to read it."""
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


def add_ends(parser: argparse.ArgumentParser) -> None:
    """Add the jobs that stay at the ends of the sequence."""
    group = parser.add_argument_group("given jobs, of a flow shop")
    for side, where in ("front", "before"), ("back", "after"):
        group.add_argument(
            f"--{side}",
            metavar="JOBS",
            help=f"jobs that stay {where} all others, in this order: numbers from 0 or "
            "names, separated by commas; only those between are sequenced",
        )


def add_output(parser: argparse.ArgumentParser, help_text: str) -> None:
    """Add ``--output`` and ``--json``."""
    group = parser.add_argument_group("output")
    group.add_argument("--output", metavar="FILE", help=help_text)
    group.add_argument("--json", action="store_true", help="one JSON object on stdout")


def add_progress(parser: argparse.ArgumentParser) -> None:
    """Add ``--config`` and ``--log-json``."""
    parser.add_argument("--config", metavar="FILE", help="TOML file, table [solve]")
    add_log_json(parser)


def add_on_end(parser: argparse.ArgumentParser) -> None:
    """Add ``--on-end``; no option of a search, as no file may say what is executed."""
    parser.add_argument(
        "--on-end",
        metavar="COMMAND",
        help="run this (no shell) at the end, at a failure, and when there are no "
        "seats (see $DPBB_EVENT; JSON on its standard input); or an address, "
        "http://..., that gets the JSON by POST",
    )


def add_log_json(parser: argparse._ActionsContainer) -> None:
    """Add ``--log-json``, for parsers with the option progress."""
    parser.add_argument(
        "--log-json",
        dest="progress",
        action="store_const",
        const=str(ProgressStyle.JSON),
        default=argparse.SUPPRESS,
        help="short for --progress json",
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options table; what is not given stays out of the namespace."""
    group = parser.add_argument_group(
        "options of the search",
        "the same in Python (solve(..., time_limit_s=60)) and TOML",
    )
    for row in OPTIONS.values():
        add_option(group, row)
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


def add_option(parser: argparse._ActionsContainer, row: OptionRow) -> None:
    """Add the flag of one option; a text that its kind parses, unless it is given."""
    shown = row.kind.metavar is None or row.kind.allowed.startswith("one of ")
    what = "" if shown else f"; {row.kind.allowed}"
    text = f"{row.help}{what} (default: {row.default_text})".replace("%", "%%")
    shape: dict[str, Any] = {"metavar": row.kind.metavar}
    if row.kind.metavar is None:
        shape = {"action": "store_true"}
    parser.add_argument(
        row.flag, dest=row.name, default=argparse.SUPPRESS, help=text, **shape
    )
