"""What commands share: arguments, options, instances, log, signals."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from dpbb.cli import EXIT_INTERRUPTED
from dpbb.cli.output import write_schedule
from dpbb.errors import OptionError, UnwrittenError
from dpbb.flowshop.best_known import benchmark_name
from dpbb.options import OPTIONS, ProgressStyle, SolveOptions, Verbosity
from dpbb.options.permutations import jobs_in
from dpbb.options.rows import Group, OptionRow, read_toml
from dpbb.problem import Problem, n_machines_of
from dpbb.progress.base import Progress
from dpbb.result import Result, Status
from dpbb.result.written import FORMS, check_form
from dpbb.text.files import check_writable


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
            help=f"jobs that stay {where} all others, in this order: 3,0,7 or names",
        )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add ``--output`` and ``--json``."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--output",
        metavar="FILE",
        help="write the schedule (position, job, machine, start, end) as .csv or "
        f".xlsx, or a Gantt chart of it: {', '.join(FORMS[2:])}",
    )
    group.add_argument("--json", action="store_true", help="one JSON object on stdout")


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add ``--config``."""
    parser.add_argument(
        "--config", metavar="FILE", help="options in TOML: table [solve]"
    )


def add_on_end(parser: argparse.ArgumentParser) -> None:
    """Add ``--on-end``; no option of a search, as no file may say what is executed."""
    parser.add_argument(
        "--on-end",
        metavar="COMMAND",
        help="run this (no shell), or POST JSON to http://..., at the end, at a "
        "failure, and when there are no seats",
    )


def add_log_json(parser: argparse._ActionsContainer) -> None:
    """Add ``--log-json``, for parsers with the option progress."""
    parser.add_argument(
        "--log-json",
        dest="progress",
        action="store_const",
        const=str(ProgressStyle.JSON),
        default=argparse.SUPPRESS,
        help="--progress json",
    )


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
    add_log_json(groups[Group.SHOWN])


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


EXIT_CODES = {
    Status.OPTIMAL: 0,
    Status.INFEASIBLE_CUTOFF: 0,
    Status.FEASIBLE: 3,
    Status.UNKNOWN: 4,
}

EXIT_CODES_TEXT = """\
exit codes: 0 optimal, or proved that nothing is below the given value; 1 error; 2
bad input; 3 a schedule, not proved optimal; 4 nothing known; 5 no scheduler answers,
or it was lost (dpbb resume goes on from a checkpoint); 130 interrupted twice.
Ctrl-C once (or SIGTERM) stops the search and still prints the best schedule."""

SAME_S = 2.0
"""A SIGTERM so soon after another is the same request."""


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


def check_files(args: argparse.Namespace, options: Mapping[str, Any]) -> None:
    """Raise OptionError for files to write that are read, or cannot be written.

    ``options``: those that are given.
    """
    if getattr(args, "output", None) is not None:
        check_form(args.output, "--output")
    known = [getattr(args, name, None) for name in ("instance", "source")]
    known.append(options.get("checkpoint"))
    for name, path in (
        ("--output", getattr(args, "output", None)),
        ("--certificate", options.get("certificate")),
        ("--optima-file", options.get("optima_file")),
    ):
        if path is not None:
            check_writable(path, name, *known)
            known.append(path)


def run_and_show(
    args: argparse.Namespace, options: SolveOptions, search: Callable[..., Result]
) -> int:
    """Search with progress on stderr, show and write the result; the exit code.

    Parameters
    ----------
    args
        With ``output`` and ``json``.
    search
        Called with ``progress`` and ``should_stop``; returns the result.
    """
    from dpbb.progress.notices import END, Noticed, facts_of_result, telling

    unwritten = None
    with (
        logging_to_stderr(options.verbosity),
        telling(args.on_end) as told,
        stopping() as asked,
    ):
        from dpbb.solving.arguments import shown_by

        progress = Noticed(shown_by(None, options), told)
        asked.alert = progress.alert
        try:
            result = search(progress=progress, should_stop=asked)
        except UnwrittenError as error:
            unwritten, result = error, error.result
        told.tell(END, facts_of_result(result))
    try:
        if args.output is not None:
            write_schedule(result, Path(args.output))
        if unwritten is not None:
            raise unwritten
    finally:  # what was found is not lost with a full disk
        print(result.to_json() if args.json else result.summary())
    return EXIT_CODES[result.status]


def problem_of(
    args: argparse.Namespace, options: SolveOptions | None = None
) -> Problem[Any]:
    """Read the instance that the arguments name, with the jobs that they give.

    ``options``: how much is told; default: everything.
    """
    from dpbb.flowshop.family import read_problem
    from dpbb.problem import with_ends

    options = options or SolveOptions()
    quiet = options.verbosity is Verbosity.QUIET
    with logging_to_stderr(Verbosity.QUIET if quiet else Verbosity.NORMAL):
        problem = read_problem(
            args.instance,
            index=args.index,
            orientation=args.orientation,
            data_dir=args.data,
        )
    tell_size(args.instance, problem, options)
    ends = {}
    for side in "front", "back":
        text = getattr(args, side, None)
        ends[side] = [] if text is None else jobs_in(text)
        if text is not None and not ends[side]:
            raise OptionError(f"--{side}: expected jobs, got {text!r}")
    return with_ends(problem, **ends)


def tell_size(source: str, problem: Problem[Any], options: SolveOptions) -> None:
    """Say what was taken for jobs and what for machines, if a file was read."""
    told = options.verbosity is not Verbosity.QUIET
    told &= options.progress is not ProgressStyle.JSON  # which stderr is then all of
    if told and benchmark_name(source) is None:
        size = f"{problem.n_jobs} jobs x {n_machines_of(problem)} machines"
        print(f"dpbb: {source}: {size}", file=sys.stderr)


class _StderrHandler(logging.Handler):
    """Writes to what stderr is at the time: a live view passes it on, above itself."""

    def emit(self, record: logging.LogRecord) -> None:
        """See ``logging.Handler.emit``."""
        try:
            print(self.format(record), file=sys.stderr)
        except Exception:  # noqa: BLE001 (as all handlers of logging do)
            self.handleError(record)


@contextmanager
def logging_to_stderr(verbosity: Verbosity) -> Iterator[None]:
    """Log messages on stderr; the command line alone installs a handler, once."""
    logger = logging.getLogger("dpbb")
    if any(isinstance(known, _StderrHandler) for known in logger.handlers):
        yield
        return
    handler = _StderrHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    levels = {Verbosity.QUIET: logging.ERROR, Verbosity.VERBOSE: logging.INFO}
    before = logger.level
    logger.setLevel(levels.get(verbosity, logging.WARNING))
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


class Asked:
    """Called, it says whether a signal has asked this process to stop."""

    def __init__(self, message: str) -> None:
        self.alert: Callable[[str], None] = Progress().alert
        self._message = message
        self._first: tuple[int, float] | None = None  # signal, and when

    def __call__(self) -> bool:
        """Whether there was a signal."""
        return self._first is not None

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Note the first signal; the second one ends this process.

        A SIGTERM soon after a SIGTERM is the same one: who asks a whole group of
        processes reaches this one twice, if its parent passes on what it gets.
        """
        now = time.monotonic()
        if self._first is None:
            self._first = number, now
            self.alert(self._message)
            return
        first, at = self._first
        if first == number == signal.SIGTERM and now - at < SAME_S:
            return
        if os.isatty(2):  # a live view may have left the cursor at the end of a line
            os.write(2, b"\r\n")
        # At once, whatever hangs: the worker process ends with its standard input.
        os._exit(EXIT_INTERRUPTED)


@contextmanager
def stopping(
    message: str = "dpbb: stopping; Ctrl-C again quits without a result",
) -> Iterator[Asked]:
    """Note Ctrl-C or SIGTERM in what is yielded; the second one ends this process."""
    asked = Asked(message)
    before = {
        number: signal.signal(number, asked.on_signal)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
