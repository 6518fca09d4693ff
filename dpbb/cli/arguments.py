"""Arguments that several commands have: common ones, and the options table."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any

from dpbb.cluster.client.connect import VARIABLES
from dpbb.flowshop.table_form import TableForm
from dpbb.options import OPTIONS
from dpbb.options.rows import Group, OptionRow, read_toml
from dpbb.result.written import FORMS

SCHEDULERS = ", then ".join(
    [*(f"${name}" for name in VARIABLES), "Dask's setting of it"]
)
"""Where the address of a scheduler is looked for."""


def add_rows(
    parser: argparse._ActionsContainer,
    rows: Mapping[str, str],
    *names: str,
    title: str | None = None,
) -> None:
    """Add arguments, each a row ``"--flag VALUE=default": help``.

    Without a value it is a switch. The values N, K and U are whole numbers, ``one|two``
    is a choice, ``VALUE?`` an argument that may be missing, ``VALUE+`` one or more.

    Parameters
    ----------
    names
        Of the rows to add, without their values; default: all.
    title
        Of their group in the help.
    """
    group = parser if title is None else parser.add_argument_group(title)
    for row, text in rows.items():
        name, _, value = row.partition(" ")
        if names and name not in names:
            continue
        value, _, default = value.partition("=")
        kind = int if value in ("N", "K", "U") else str
        how: dict[str, Any] = {"type": kind, "default": None}
        if not value:
            how = {"action": "store_true"}
        elif "|" in value:
            how["choices"] = value.split("|")
        else:
            how["metavar"] = value.rstrip("?*+")
        if default:
            how["default"] = kind(default)
        if value.endswith(("?", "*", "+")):
            how["nargs"] = value[-1]
        group.add_argument(name, help=text, **how)


COMMON = {
    "instance INSTANCE": "ta001, VFR30_15_2 (with --data) or a file: text, .csv, "
    ".xlsx, .json, .npy; see dpbb help tables",
    "--index N": "which instance of a file, from 0",
    "--objective NAME": "makespan, late-jobs ...: a wrong name lists all",
    "--blocking": "a job stays on its machine until the next is free",
    "--buffers PLACES": "places between machines, - for any number: 0,2,-",
    "--setups FILE": "set-up times between jobs: rows from, columns to",
    "--not-anticipatory": "a machine is set up only once the job is there",
    "--lags FILE": "least times between machines, a row for each job",
    "--unlimited NAMES": "machines that take any number of jobs at a time",
    "--data FOLDER": "benchmark files; default: $DPBB_DATA",
    "--front JOBS": "jobs that stay first, in this order: 3,0,7 or names",
    "--back JOBS": "jobs that stay last, in this order: 3,0,7 or names",
    "--output FILE": "write the schedule as .csv or .xlsx, or a Gantt chart of it: "
    f"{', '.join(FORMS[2:])}",
    "--json": "one JSON object on stdout",
    "--config FILE": "options in TOML: table [solve]",
    "--fresh": "begin anew: delete the checkpoints that are there",
    # no option of a search, as no file may say what is executed
    "--on-end COMMAND": "run this (no shell), or POST JSON to http://..., at the end, "
    "at a failure, and when there are no workers",
    "run_id RUN": "name of the run, or what it begins with",
    "--scheduler ADDRESS": "the Dask cluster, such as tcp://host:8786, or the path of "
    f"a scheduler file; default: {SCHEDULERS}",
}
"""Arguments of several commands, as ``add_rows`` takes them."""


TABLE = {
    "--orientation ROWS": "what the rows are: jobs_rows (default) or machines_rows",
    "--sheet NAME": "sheet of a workbook; those of set-ups are read besides",
    "--columns NAMES": "columns that are read, by their headings: A,B,C; machines in "
    "this order; the column that names the rows is found",
    "--skip-columns NAMES": "columns that are not read: A,B,C",
    "--decimal MARK": "mark of decimals: . or , (default: a comma where semicolons or "
    "tabs separate columns, else a point)",
    "--thousands MARK": "mark of thousands, such as , or . (default: none)",
    "--scale N=1": "multiply all times and set-ups: 60 makes minutes of hours, written "
    "1.4 or 1:24",
    "--blank HOW=refuse": "blank cells of times: zero or refuse (default)",
    "--origin DATE": "count dates of release and due columns from here: "
    "2026-05-04T06:00; schedules show dates then",
    "--unit UNIT": "what 1 is where there are dates: s, min, h or d",
}
"""How tables are read, as ``add_rows`` takes it: arguments of all who read instances,
shown by ``dpbb help tables`` alone."""


def add_table(parser: argparse._ActionsContainer, *, shown: bool = False) -> None:
    """Add how tables are read; ``shown``: with help."""
    add_rows(parser, TABLE if shown else dict.fromkeys(TABLE, argparse.SUPPRESS))


def table_of(args: argparse.Namespace) -> TableForm:
    """Return how tables are read; InstanceError: bad values."""
    values = {one.name: getattr(args, one.name) for one in fields(TableForm)}
    for name in "columns", "skip_columns":
        if (text := values[name]) is not None:
            values[name] = next(csv.reader([text], skipinitialspace=True), [])
    values["skip_columns"] = values["skip_columns"] or ()
    return TableForm(**values)


FLAGS = (
    *("--blocking", "--buffers", "--setups", "--not-anticipatory", "--lags"),
    "--unlimited",
)
"""What a flow shop has besides times and dates."""


def how_read(args: argparse.Namespace) -> dict[str, Any]:
    """Return how instances are read, for ``read_problem``; InstanceError: bad values.

    Of ``FLAGS`` those that are given.
    """
    names = (flag[2:].replace("-", "_") for flag in FLAGS)
    values = {name: getattr(args, name, None) for name in names}
    given = {k: one for k, one in values.items() if one not in (None, False)}
    if given.pop("not_anticipatory", False):
        given["anticipatory"] = False
    return {
        "index": getattr(args, "index", None),
        "orientation": args.orientation,
        "objective": args.objective,
        "data_dir": args.data,
        "table": table_of(args),
        **given,
    }


def add_common(
    parser: argparse._ActionsContainer, *names: str, title: str | None = None
) -> None:
    """Add common arguments, under a title if there is one."""
    add_rows(parser, COMMON, *names, title=title)


def add_instance(parser: argparse.ArgumentParser, *, ends: bool = True) -> None:
    """Add the instance and how to read it; ``ends``: and the jobs at its ends."""
    group = parser.add_argument_group("instance")
    add_common(group, "instance")
    add_read(group)
    if ends:
        add_common(parser, "--front", "--back", title="given jobs, of a flow shop")


def add_read(parser: argparse._ActionsContainer) -> None:
    """Add how an instance is read; see ``how_read``."""
    add_common(parser, "--index", "--objective", *FLAGS, "--data")
    add_table(parser)


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
    add_shown(groups[Group.SHOWN])


def add_short(
    parser: argparse._ActionsContainer, *flags: str, row: str, value: str
) -> None:
    """Add what is short for a value of an option, such as ``-q, --quiet``."""
    parser.add_argument(
        *flags,
        dest=row,
        action="store_const",
        const=value,
        default=argparse.SUPPRESS,
        help=f"{OPTIONS[row].flag} {value}",
    )


def add_shown(parser: argparse._ActionsContainer, *, verbose: bool = True) -> None:
    """Add what is short for options of how a run is shown."""
    add_short(parser, "-q", "--quiet", row="verbosity", value="quiet")
    if verbose:
        add_short(parser, "-v", "--verbose", row="verbosity", value="verbose")
    add_short(parser, "--log-json", row="progress", value="json")


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
            parts = [row.kind.read(one, row.flag) for one in given]
            given = {key: value for part in parts for key, value in part.items()}
        if given is not None:
            values[row.name] = given
    return values
