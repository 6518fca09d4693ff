"""Arguments that several commands have: common ones, and the options table."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable
from typing import Any

from dpbb.cluster.client.which import VARIABLES
from dpbb.options import OPTIONS, ProgressStyle, Verbosity
from dpbb.options.rows import Group, OptionRow, read_toml
from dpbb.result.written import FORMS

SCHEDULERS = ", then ".join(
    [*(f"${name}" for name in VARIABLES), "Dask's setting of it"]
)
"""Where the address of a scheduler is looked for."""


def valued(metavar: str, text: str, **more: Any) -> dict[str, Any]:
    """Return an argument with a value, as ``add_argument`` takes it."""
    return {"metavar": metavar, "help": text, **more}


COMMON = {
    "instance": valued(
        "INSTANCE",
        "ta001 to ta120, VFR30_15_2 (with --data), or a file: Taillard's or VRF text, "
        ".csv, .json, .npy",
    ),
    "--index": valued("N", "which instance of a file, from 0", type=int),
    "--orientation": valued(
        "ROWS", "rows of a table: jobs_rows (default) or machines_rows"
    ),
    "--blocking": {
        "action": "store_true",
        "help": "no buffers: a job stays on its machine until the next one is free",
    },
    "--data": valued("FOLDER", "benchmark files; default: $DPBB_DATA"),
    "--front": valued(
        "JOBS", "jobs that stay before all others, in this order: 3,0,7 or names"
    ),
    "--back": valued(
        "JOBS", "jobs that stay after all others, in this order: 3,0,7 or names"
    ),
    "--output": valued(
        "FILE",
        "write the schedule (position, job, machine, start, end) as .csv or .xlsx, or "
        f"a Gantt chart of it: {', '.join(FORMS[2:])}",
    ),
    "--json": {"action": "store_true", "help": "one JSON object on stdout"},
    "--config": valued("FILE", "options in TOML: table [solve]"),
    # no option of a search, as no file may say what is executed
    "--on-end": valued(
        "COMMAND",
        "run this (no shell), or POST JSON to http://..., at the end, at a failure, "
        "and when there are no seats",
    ),
    "--scheduler": valued(
        "ADDRESS",
        "the Dask cluster, such as tcp://host:8786, or the path of a scheduler file; "
        f"default: {SCHEDULERS}",
    ),
    "run_id": valued("RUN", "name of the run, or what it begins with"),
    # for commands with the option progress
    "--log-json": {
        "dest": "progress",
        "action": "store_const",
        "const": str(ProgressStyle.JSON),
        "default": argparse.SUPPRESS,
        "help": "--progress json",
    },
}
"""Arguments of several commands by their names, as ``add_argument`` takes them."""


def add_common(
    parser: argparse._ActionsContainer, *names: str, title: str | None = None
) -> None:
    """Add common arguments, under a title if there is one."""
    group = parser if title is None else parser.add_argument_group(title)
    for name in names:
        group.add_argument(name, **COMMON[name])


def add_instance(parser: argparse.ArgumentParser, *, ends: bool = True) -> None:
    """Add the instance and how to read it; ``ends``: and the jobs at its ends."""
    names = ("instance", "--index", "--orientation", "--blocking", "--data")
    add_common(parser, *names, title="instance")
    if ends:
        add_common(parser, "--front", "--back", title="given jobs, of a flow shop")


def add_options(
    parser: argparse.ArgumentParser, of: str, without: Collection[str] = ()
) -> None:
    """Add the options table; what is not given stays out of the namespace.

    Parameters
    ----------
    of
        What the command takes besides options, for the first line of its help.
    without
        Options that the command refuses; its help has nothing of them.
    """
    parser.usage = f"%(prog)s [options] {of}"
    groups = {name: parser.add_argument_group(name) for name in Group}
    for row in OPTIONS.values():
        add_option(groups[row.group], row, hidden=row.name in without)
    add_short(groups[Group.SHOWN], Verbosity.QUIET)
    add_short(groups[Group.SHOWN], Verbosity.VERBOSE)
    add_common(groups[Group.SHOWN], "--log-json")


def add_short(parser: argparse._ActionsContainer, level: Verbosity) -> None:
    """Add ``-q, --quiet`` or ``-v, --verbose``, beside the option verbosity."""
    parser.add_argument(
        f"-{level[0]}",
        f"--{level}",
        dest="verbosity",
        action="store_const",
        const=str(level),
        default=argparse.SUPPRESS,
        help=f"--verbosity {level}",
    )


def add_option(
    parser: argparse._ActionsContainer, row: OptionRow, *, hidden: bool = False
) -> None:
    """Add the flag of one option; a text that its kind parses, unless it is given."""
    names = row.kind.allowed.removeprefix("one of ")
    text = row.help if names == row.kind.allowed else f"{row.help}: {names}"
    shape: dict[str, Any] = {"metavar": row.kind.metavar}
    if row.kind.metavar is None:
        shape = {"action": "store_true"}
    if row.kind.rows:
        shape["action"] = "append"
    text = argparse.SUPPRESS if hidden else text.replace("%", "%%")
    parser.add_argument(
        row.flag, dest=row.name, default=argparse.SUPPRESS, help=text, **shape
    )


def given_options(args: argparse.Namespace) -> dict[str, Any]:
    """Options of the TOML file, then of the flags; no defaults."""
    values = {} if args.config is None else read_toml(args.config, OPTIONS)
    flags = flags_given(args, OPTIONS.values())
    if "tuning" in values and "tuning" in flags:
        flags["tuning"] = values["tuning"] | flags["tuning"]
    return values | flags


def flags_given(args: argparse.Namespace, rows: Iterable[OptionRow]) -> dict[str, Any]:
    """Return the values of these options that have their flags."""
    values = {}
    for row in rows:
        given = getattr(args, row.name, None)
        if isinstance(given, str):
            given = row.kind.parse(given, row.flag)
        elif isinstance(given, list):  # each a part of a table
            parts = [row.kind.parse(one, row.flag) for one in given]
            given = {key: value for part in parts for key, value in part.items()}
        if given is not None:
            values[row.name] = given
    return values
